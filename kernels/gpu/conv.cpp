// SPDX-License-Identifier: Apache-2.0
// Conv over one or two dimensions, channels last: as a plain product where it is one, by channel
// where no two mix, else conv.comp.
#include <algorithm>
#include <array>
#include <cstring>

#include "graph/text_util.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/matmul.h"
#include "kernels/infer.h"

namespace quern::gpu {
namespace {

struct Geometry {
  std::int64_t images, channels, outputs, groups;
  // Height and width; a convolution over one dimension has a height of one.
  std::array<std::int64_t, 2> in, out, kernel, strides, pads, dilations;

  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_outputs() const { return outputs / groups; }
};

bool read_geometry(const KernelRequest& request, Geometry& g) {
  const auto& op = request.as<Conv>();
  const Shape& x = request.shape(0);
  const Shape& w = request.shape(1);
  const Shape& y = request.outputs[0].shape;
  const std::size_t spatial = x.rank() - 2;
  if (spatial < 1 || spatial > 2) return false;
  const ResolvedWindow window = resolve_window(op.window, x.dims().subspan(2), w.dims().subspan(2));
  g = {x[0], x[1], y[1], op.group, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}};
  for (std::size_t d = 0; d < spatial; ++d) {
    const std::size_t at = d + 2 - spatial;
    g.in[at] = x[d + 2];
    g.out[at] = y[d + 2];
    g.kernel[at] = window.kernel[d];
    g.strides[at] = window.strides[d];
    g.pads[at] = window.pads_begin[d];
    g.dilations[at] = window.dilations[d];
  }
  const auto small = [](const auto& pair) {
    return std::ranges::all_of(pair, [](std::int64_t v) { return v >= 0 && v < 65536; });
  };
  return small(g.in) && small(g.out) && small(g.kernel) && small(g.strides) && small(g.pads) &&
         small(g.dilations) && x.elements() < (std::int64_t{1} << 31) &&
         y.elements() < (std::int64_t{1} << 31);
}

std::int64_t taps_of(const Geometry& g) {
  return g.kernel[0] * (g.kernel[1] + 1);  // and the loop around them
}

bool is_product(const Geometry& g) {
  const std::array<std::int64_t, 2> ones = {1, 1}, none = {0, 0};
  return g.kernel == ones && g.strides == ones && g.pads == none && g.groups == 1;
}

bool is_depthwise(const Geometry& g) {
  return g.groups == g.channels && g.outputs == g.channels && g.channels % 4 == 0;
}

// [group][ky][kx][channel of the group][output of the group, padded to four]
GpuConstant pack(const ConstantSource& source, const Geometry& g, bool depthwise) {
  const std::int64_t taps = g.kernel[0] * g.kernel[1];
  const std::int64_t ci = g.group_channels();
  const std::int64_t co = g.group_outputs();
  const std::int64_t padded = depthwise ? 1 : (co + 3) / 4 * 4;
  GpuConstant c;
  c.key = cat(depthwise ? "gpu-dw|" : "gpu-conv|", g.groups, "|", source.key());
  c.bytes = static_cast<std::size_t>(g.groups * taps * ci * padded) * sizeof(float);
  c.fill = [&source, g, taps, ci, co, padded, depthwise](std::byte* to) -> Status {
    QUERN_ASSIGN(const Tensor t, source.get());
    const std::byte* from = t.data();
    for (std::int64_t group = 0; group < g.groups; ++group)
      for (std::int64_t o = 0; o < co; ++o)
        for (std::int64_t i = 0; i < ci; ++i)
          for (std::int64_t tap = 0; tap < taps; ++tap, from += 4) {
            const std::int64_t at =
                depthwise ? tap * g.groups + group : ((group * taps + tap) * ci + i) * padded + o;
            std::memcpy(to + at * 4, from, 4);
          }
    return {};
  };
  return c;
}

// Neighbours of a row that an invocation has: few at its end are left over, many share the weights.
std::uint32_t pixels_for(std::int64_t width, std::uint32_t most) {
  std::uint32_t best = 1;
  double best_cost = 1e30;
  for (std::uint32_t p = 1; p <= most; ++p) {
    const double tiles = ceil_div(static_cast<std::uint64_t>(width), p);
    const double cost = tiles * (p + 2.0);  // a load of weights costs as much as two pixels
    if (cost > best_cost) continue;
    best = p;
    best_cost = cost;
  }
  return best;
}

std::optional<Dispatch> general(const Geometry& g, const Steps& steps, const GpuTarget& target) {
  const std::uint32_t local = side_by_side(target);
  const std::uint32_t vectors = g.group_outputs() > 4 * local ? 2 : 1;
  const std::uint32_t pixels = pixels_for(g.out[1], target.software ? 14 : 8);
  const std::uint64_t tiles = ceil_div(static_cast<std::uint64_t>(g.out[1]), pixels);
  const std::array<std::uint64_t, 3> groups = {
      ceil_div(static_cast<std::uint64_t>(g.group_outputs()), std::uint64_t{4} * local * vectors),
      tiles * static_cast<std::uint64_t>(g.out[0]),
      static_cast<std::uint64_t>(g.images * g.groups)};
  const bool vectors_in = g.group_channels() % 4 == 0;
  const std::int64_t depth = vectors_in ? g.group_channels() / 4 : g.group_channels();
  if (!fits(groups, target) || !can_loop(taps_of(g) * (depth + 1), target)) return std::nullopt;
  Dispatch d;
  d.shader = "conv";
  d.constants = {local, pixels, vectors, vectors_in, g.group_outputs() % 4 == 0};
  d.push = {hw_word(g.in),      hw_word(g.out),  hw_word(g.kernel),
            hw_word(g.strides), hw_word(g.pads), hw_word(g.dilations)};
  for (std::int64_t v : {g.channels, g.group_channels(), g.outputs, g.group_outputs(), g.groups})
    d.push.push_back(word(v));
  d.push.push_back(static_cast<std::uint32_t>(tiles));
  d.buffers = {BufferUse::input(0), BufferUse::constant(0), BufferUse::output(0)};
  for (std::size_t i = 0; i < 3; ++i) d.groups[i] = static_cast<std::uint32_t>(groups[i]);
  steps.finish(d);
  return d;
}

std::optional<Dispatch> depthwise(const Geometry& g, const Steps& steps, const GpuTarget& target) {
  const std::uint32_t local = side_by_side(target);
  const std::uint32_t pixels = pixels_for(g.out[1], 8);
  const std::uint64_t tiles = ceil_div(static_cast<std::uint64_t>(g.out[1]), pixels);
  const auto vectors = static_cast<std::uint64_t>(g.channels / 4);
  const std::array<std::uint64_t, 3> groups = {ceil_div(vectors, local),
                                               tiles * static_cast<std::uint64_t>(g.out[0]),
                                               static_cast<std::uint64_t>(g.images)};
  if (!fits(groups, target) || !can_loop(taps_of(g), target)) return std::nullopt;
  Dispatch d;
  d.shader = "conv_depthwise";
  d.constants = {local, pixels};
  d.push = {hw_word(g.in),
            hw_word(g.out),
            hw_word(g.kernel),
            hw_word(g.strides),
            hw_word(g.pads),
            hw_word(g.dilations),
            static_cast<std::uint32_t>(vectors),
            static_cast<std::uint32_t>(tiles)};
  d.buffers = {BufferUse::input(0), BufferUse::constant(0), BufferUse::output(0)};
  for (std::size_t i = 0; i < 3; ++i) d.groups[i] = static_cast<std::uint32_t>(groups[i]);
  steps.finish(d);
  return d;
}

std::optional<Dispatch> product(const Geometry& g, const Steps& steps, const GpuTarget& target) {
  const Product p{.rows = g.images * g.out[0] * g.out[1],
                  .columns = g.outputs,
                  .depth = g.channels,
                  .a_row = g.channels,
                  .w_row = (g.outputs + 3) / 4 * 4};
  return product_dispatch(p, BufferUse::input(0), BufferUse::constant(0), BufferUse::output(0),
                          steps, target);
}

}  // namespace

Selection select_conv(const KernelRequest& request) {
  Geometry g{};
  const TensorType& out = request.outputs[0];
  if (request.dtype(0) != DType::f32 || !request.inputs[1].constant || out.shape.elements() == 0 ||
      request.shape(0).elements() == 0 || !read_geometry(request, g))
    return not_for_me();
  const bool by_channel = is_depthwise(g);
  KernelChoice choice;
  choice.input_layouts.resize(request.inputs.size());
  choice.input_layouts[0] = Layout::channels_last(request.shape(0));
  choice.output_layouts = {Layout::channels_last(out.shape)};
  choice.packed_inputs = {false, true};
  choice.gpu.constants.push_back(pack(*request.inputs[1].constant, g, by_channel));
  Steps steps({out.shape, choice.output_layouts[0], by_channel || g.group_outputs() % 4 == 0},
              true);
  if (request.has(2)) (void)steps.add_bias(2, g.outputs);
  choice.post_ops_taken = steps.add_post_ops(request);
  steps.ask_layouts(choice.input_layouts);
  auto d = by_channel      ? depthwise(g, steps, *request.gpu)
           : is_product(g) ? product(g, steps, *request.gpu)
                           : general(g, steps, *request.gpu);
  if (!d) return not_for_me();
  choice.implementation = cat(by_channel ? "depthwise" : is_product(g) ? "product" : "direct");
  choice.gpu.dispatches.push_back(std::move(*d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
