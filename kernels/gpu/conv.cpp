// SPDX-License-Identifier: Apache-2.0
// Conv over one to three dimensions, channels last: as a plain matrix product if it is one, channel
// by channel if it is depthwise, else with conv.comp and on GPUs product_tiled.comp or
// product_cooperative.comp.
#include "graph/ops/conv.h"

#include <algorithm>
#include <array>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/windows.h"
#include "kernels/contract/iterate.h"
#include "kernels/gpu/copy.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/matmul.h"
#include "kernels/gpu/tiles.h"
#include "kernels/gpu/window.h"

namespace quern::gpu {
namespace {

struct Filter : Geometry {
  std::int64_t images, channels, outputs, groups;
  bool may_round = false;  // operands may be rounded to f16
  bool may_split = false;  // sums may be split

  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_outputs() const { return outputs / groups; }
  std::int64_t padded_outputs() const { return round_up(group_outputs(), 4); }
  // True if each channel is convolved separately, four at a time.
  bool is_depthwise() const {
    return !deep && groups == channels && outputs == channels && channels % 4 == 0;
  }
  bool is_product() const { return is_point() && groups == 1; }
  std::int64_t weight_elements() const {
    return groups * taps() * group_channels() * (is_depthwise() ? 1 : padded_outputs());
  }
};

// The packed position of weights [group][output of the group][channel of the group][tap]:
// [group][tap][channel][output, padded to four], or [tap][group] if depthwise.
struct Packing {
  Shape dims, strides;
};
Packing packing_of(const Filter& g) {
  const std::int64_t ci = g.group_channels();
  const std::int64_t padded = g.padded_outputs();
  const Shape dims = {g.groups, g.group_outputs(), ci, g.taps()};
  if (g.is_depthwise()) return {dims, {1, 0, 0, g.groups}};
  return {dims, {g.taps() * ci * padded, 1, padded, ci * padded}};
}

GpuConstant pack(const ConstantSource& source, const Filter& g, DType type) {
  GpuConstant c;
  c.key = cat(g.is_depthwise() ? "gpu-dw|" : "gpu-conv|", type == DType::f16 ? "f16|" : "",
              g.groups, "|", source.key());
  c.bytes = static_cast<std::size_t>(g.weight_elements()) * size_of(type);
  c.fill = [&source, p = packing_of(g), type](std::byte* to) -> Status {
    QUERN_ASSIGN(const Tensor t, source.get());
    const std::byte* from = t.data();
    for_each_offset(p.dims, std::array{p.strides}, [&](const auto& at) {
      write_weight(type, to, at[0], from);
      from += 4;
    });
    return {};
  };
  return c;
}

// Packs weights that are not constant in every run, into scratch memory.
std::optional<Dispatch> pack_dispatch(const Filter& g, BufferUse to, const GpuTarget& target) {
  const Packing p = packing_of(g);
  auto d = copy_dispatch(DType::f32, p.dims, {row_major_strides(p.dims)}, {p.strides}, target);
  if (d) d->buffers = {BufferUse::input(1), to};
  return d;
}

// The number of neighbours in a row per invocation: few leave little over at the end of the row,
// many share the weights.
std::uint32_t pixels_for(std::int64_t width, std::uint32_t most) {
  std::uint32_t best = 1;
  double best_cost = 1e30;
  for (std::uint32_t p = 1; p <= most; ++p) {
    const double tiles = ceil_div_word(static_cast<std::uint64_t>(width), p);
    const double cost = tiles * (p + 2.0);  // a load of weights costs as much as two pixels
    if (cost > best_cost) continue;
    best = p;
    best_cost = cost;
  }
  return best;
}

// The neighbours in a row and the vectors of four channels per invocation.
struct ConvTile {
  std::uint32_t pixels, vectors;
};

std::vector<ConvTile> conv_tiles(const Filter& g, const GpuTarget& target) {
  const std::uint32_t vectors = g.group_outputs() > std::int64_t{4} * side_by_side(target) ? 2 : 1;
  const auto pixels = [&](std::uint32_t most) { return pixels_for(g.out[2], most); };
  std::vector<ConvTile> tiles = {{pixels(target.software ? 14 : 8), vectors}};
  for (const std::uint32_t most : {4, 6, 8, 11, 14}) tiles.push_back({pixels(most), vectors});
  for (const std::uint32_t most : {5, 8, 14}) tiles.push_back({pixels(most), 3 - vectors});
  return tiles;
}

// On conv.comp.
std::vector<Dispatch> in_registers(const Filter& g, const GpuTarget& target) {
  const std::uint32_t local = side_by_side(target);
  const bool vectors_in = g.group_channels() % 4 == 0;
  const std::int64_t depth = vectors_in ? g.group_channels() / 4 : g.group_channels();
  if (!can_loop(g.iterations() * (depth + 1), target)) return {};
  const auto build = [&](const ConvTile& t) -> std::optional<Dispatch> {
    const std::uint64_t tiles = ceil_div_word(static_cast<std::uint64_t>(g.out[2]), t.pixels);
    const auto outputs = static_cast<std::uint64_t>(g.group_outputs());
    const std::uint32_t line =
        across(local, ceil_div_word(outputs, std::uint64_t{4} * t.vectors), target);
    const std::array<std::uint64_t, 3> groups = {
        ceil_div_word(outputs, std::uint64_t{4} * line * t.vectors),
        ceil_div_word(tiles * static_cast<std::uint64_t>(g.out[0] * g.out[1]), local / line),
        static_cast<std::uint64_t>(g.images * g.groups)};
    if (!fits(groups, target)) return std::nullopt;
    Dispatch d;
    d.shader = g.deep ? "conv_3d" : "conv";
    d.constants = {local, t.pixels, t.vectors, vectors_in, g.group_outputs() % 4 == 0};
    set_across(d, line);
    push_window(d, g);
    for (std::int64_t v : {g.channels, g.group_channels(), g.outputs, g.group_outputs(), g.groups})
      d.push.push_back(word(v));
    d.push.push_back(static_cast<std::uint32_t>(tiles));
    for (std::size_t i = 0; i < 3; ++i) d.groups[i] = static_cast<std::uint32_t>(groups[i]);
    return d;
  };
  std::vector<Dispatch> candidates;
  append_candidates<ConvTile>(candidates, conv_tiles(g, target), build);
  return candidates;
}

// The convolution as a matrix product of the windows' elements and the weights of each group.
ProductSize size_of(const Filter& g, DType w_type) {
  ProductSize size{.of = g.deep ? ProductSize::Of::conv_3d : ProductSize::Of::conv};
  size.rows = g.images * g.out[0] * g.out[1] * g.out[2];
  size.columns = g.group_outputs();
  size.depth = g.taps() * g.group_channels();
  size.batch = g.groups;
  size.a_vectors = g.group_channels() % 4 == 0;
  size.w_vectors = true;
  size.y_vectors = g.group_outputs() % 4 == 0;
  size.may_round = g.may_round;
  size.w_type = w_type;
  size.may_split = g.may_split;
  return size;
}

Product product_of(const Filter& g) {
  return {.rows = g.images * g.out[0] * g.out[1] * g.out[2],
          .columns = g.outputs,
          .depth = g.channels,
          .a_row = g.channels,
          .w_row = g.padded_outputs(),
          .may_round = g.may_round,
          .may_split = g.may_split};
}

// True if cooperative matrices of f16 are best.
bool rounds(const Filter& g, const GpuTarget& target) {
  if (g.is_depthwise()) return false;
  return g.is_product() ? wants_halves(product_of(g), target)
                        : !matrix_tiles_of(size_of(g, DType::f32), target).candidates.empty();
}

// On product_cooperative.comp or product_tiled.comp.
Tiling in_tiles(const Filter& g, DType w_type, const GpuTarget& target) {
  const ProductSize size = size_of(g, w_type);
  Tiling tiling = matrix_tiles_of(size, target);
  if (tiling.candidates.empty()) tiling = tiles_of(size, target);
  for (Dispatch& d : tiling.candidates) {
    push_window(d, g);
    for (std::int64_t v : {g.channels, g.group_channels(), g.outputs, g.group_outputs(), size.rows})
      d.push.push_back(word(v));
    d.push.push_back(tiling.parts);
  }
  return tiling;
}

bool add_general(KernelChoice& choice, const Filter& g, BufferUse w, DType w_type,
                 const Steps& steps, const GpuTarget& target) {
  Tiling tiling = in_tiles(g, w_type, target);
  std::vector<Dispatch> candidates = std::move(tiling.candidates);
  // Split sums and rounded operands have no other candidates.
  if (tiling.parts == 1 && !rounds(g, target)) {
    const std::vector<Dispatch> others = in_registers(g, target);
    candidates.insert(candidates.end(), others.begin(), others.end());
  }
  for (Dispatch& d : candidates) {
    if (g.deep) push_depths(d, g);
    d.buffers = {BufferUse::input(0), w};
  }
  return add_candidates(choice, std::move(candidates), tiling.parts,
                        g.images * g.out[0] * g.out[1] * g.out[2] * g.outputs, steps, target);
}

// The pixels of a row per invocation of conv_depthwise.comp, the best choice first. Many share the
// loads of weights and of neighbours; on a GPU few fill more of it where maps are small.
std::array<std::uint32_t, 6> depthwise_pixels(const Filter& g, const GpuTarget& target) {
  constexpr std::int64_t full_unit = 512;  // invocations
  const std::int64_t vectors = g.images * g.out[1] * g.out[2] * g.channels / 4;
  if (target.software || vectors >= 8 * full_unit * target.units) return {8, 4, 6, 11, 14, 2};
  if (vectors >= 4 * full_unit * target.units) return {4, 8, 6, 11, 14, 2};
  return {2, 4, 8, 6, 11, 14};
}

std::optional<Dispatch> depthwise(const Filter& g, BufferUse w, const Steps& steps,
                                  const GpuTarget& target) {
  const std::uint32_t local = side_by_side(target);
  const auto vectors = static_cast<std::uint64_t>(g.channels / 4);
  if (!can_loop(g.iterations(), target)) return std::nullopt;
  const auto build = [&](std::uint32_t most) -> std::optional<Dispatch> {
    const std::uint32_t pixels = pixels_for(g.out[2], most);
    const std::uint64_t tiles = ceil_div_word(static_cast<std::uint64_t>(g.out[2]), pixels);
    const std::uint32_t line = across(local, vectors, target);
    const std::array<std::uint64_t, 3> groups = {
        ceil_div_word(vectors, line),
        ceil_div_word(tiles * static_cast<std::uint64_t>(g.out[1]), local / line),
        static_cast<std::uint64_t>(g.images)};
    if (!fits(groups, target)) return std::nullopt;
    Dispatch d;
    d.shader = "conv_depthwise";
    d.constants = {local, pixels};
    set_across(d, line);
    push_window(d, g);
    d.push.insert(d.push.end(),
                  {static_cast<std::uint32_t>(vectors), static_cast<std::uint32_t>(tiles)});
    d.buffers = {BufferUse::input(0), w, BufferUse::output(0)};
    for (std::size_t i = 0; i < 3; ++i) d.groups[i] = static_cast<std::uint32_t>(groups[i]);
    steps.finish(d);
    return d;
  };
  return with_candidates<std::uint32_t>(depthwise_pixels(g, target), build);
}

std::optional<Filter> filter_of(const KernelRequest& request) {
  const auto& op = request.as<Conv>();
  const Shape& x = request.shape(0);
  const Shape& w = request.shape(1);
  const Shape& y = request.outputs[0].shape;
  if (request.dtype(0) != DType::f32 || y.elements() == 0 || x.elements() == 0) return std::nullopt;
  const auto geometry =
      geometry_of(x, y, resolve_window(op.window, x.dims().subspan(2), w.dims().subspan(2)));
  if (!geometry) return std::nullopt;
  Filter g{*geometry, x[0], x[1], y[1], op.group, request.half_products};
  const auto packed = static_cast<std::uint64_t>(g.weight_elements()) * sizeof(float);
  g.may_split =
      has_room_to_split(y.elements(), request.inputs[1].constant ? 0 : packed, *request.gpu);
  return g;
}

}  // namespace

Selection select_conv(const KernelRequest& request) {
  const auto filter = filter_of(request);
  if (!filter) return unsupported();
  const Filter& g = *filter;
  const TensorType& out = request.outputs[0];
  KernelChoice choice;
  choice.input_layouts.resize(request.inputs.size());
  choice.input_layouts[0] = Layout::channels_last(request.shape(0));
  choice.output_layouts = {Layout::channels_last(out.shape)};
  BufferUse w = BufferUse::constant(0);
  const DType w_type =
      request.inputs[1].constant && rounds(g, *request.gpu) ? DType::f16 : DType::f32;
  if (request.inputs[1].constant) {
    choice.packed_inputs = {false, true};
    choice.on_gpu().constants.push_back(pack(*request.inputs[1].constant, g, w_type));
  } else {
    choice.scratch_bytes = static_cast<std::size_t>(g.weight_elements()) * sizeof(float);
    auto packing = pack_dispatch(
        g, BufferUse::scratch(0, choice.scratch_bytes, BufferAccess::write), *request.gpu);
    if (!packing) return unsupported();
    choice.on_gpu().dispatches.push_back(std::move(*packing));
    w = BufferUse::scratch(0, choice.scratch_bytes, BufferAccess::read);
  }
  Steps steps({out.shape, choice.output_layouts[0], g.is_depthwise() || g.group_outputs() % 4 == 0},
              StepSet::few);
  if (request.has(2)) (void)steps.add_bias(2, g.outputs);
  choice.post_ops_taken = steps.add_post_ops(request);
  steps.ask_layouts(choice.input_layouts);
  Product p = product_of(g);
  p.w_type = w_type;
  if (g.is_depthwise()) {
    auto d = depthwise(g, w, steps, *request.gpu);
    if (!d) return unsupported();
    choice.implementation = d->shader;
    choice.on_gpu().dispatches.push_back(std::move(*d));
  } else if (!(g.is_product() ? add_product(choice, p, BufferUse::input(0), w, steps, *request.gpu)
                              : add_general(choice, g, w, w_type, steps, *request.gpu))) {
    return unsupported();
  }
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
