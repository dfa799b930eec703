// SPDX-License-Identifier: Apache-2.0
// Convolutions and products of 8-bit integers with constant weights: sums of 32 bits, and for
// QLinear* a second dispatch that converts them to bytes.
#include <algorithm>
#include <array>
#include <cstring>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/operands.h"
#include "graph/ops/quantised_products.h"
#include "graph/ops/windows.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/contract/iterate.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/quantize.h"
#include "kernels/gpu/window.h"

namespace quern::gpu {
namespace {

// A matrix product is a 1x1 convolution over one row of an image.
struct Integers {
  Int8Operands operands;
  Geometry window;
  std::int64_t images, channels, outputs, groups;
  Shape weight_strides;  // of the constant, over [group][output][channel][tap]

  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_outputs() const { return outputs / groups; }
  bool by_channel() const { return groups == channels && outputs == channels && channels % 4 == 0; }
  std::int64_t rows() const { return images * window.out[1] * window.out[2]; }
  bool gives_bytes() const { return operands.y_scale != Int8Operands::none; }
};

bool is_single(const KernelRequest& r, std::size_t i) {
  return !r.has(i) || r.shape(i).elements() == 1;
}
bool is_list(const KernelRequest& r, std::size_t i, std::int64_t length) {
  return is_single(r, i) || r.shape(i).elements() == length;
}
bool is_known(const KernelRequest& r, std::size_t i) {
  return !r.has(i) || r.inputs[i].constant;
}

bool suits(const KernelRequest& r, const Int8Operands& o, std::int64_t outputs) {
  for (std::size_t i : {o.x_zero, o.x_scale, o.y_scale, o.y_zero})
    if (!is_single(r, i)) return false;
  for (std::size_t i : {o.w_zero, o.w_scale, o.bias})
    if (!is_list(r, i, outputs)) return false;
  for (std::size_t i : {o.w, o.w_zero, o.x_scale, o.w_scale, o.y_scale, o.y_zero})
    if (!is_known(r, i)) return false;
  return r.outputs[0].shape.elements() > 0 && r.shape(0).elements() > 0;
}

std::string key_of(const KernelRequest& r, std::size_t i) {
  return r.has(i) ? r.inputs[i].constant->key() : std::string();
}
// One element per output channel, of a constant that may have a single one for all.
template <class T>
Result<std::vector<T>> list_of(const KernelRequest& r, std::size_t i, std::int64_t length,
                               T missing) {
  std::vector<T> list(static_cast<std::size_t>(length), missing);
  if (!r.has(i)) return list;
  QUERN_ASSIGN(const Tensor t, r.inputs[i].constant->get());
  const bool one = t.view().type.shape.elements() == 1;
  for (std::int64_t k = 0; k < length; ++k)
    list[static_cast<std::size_t>(k)] = element_as<T>(t.view(), one ? 0 : k);
  return list;
}

// Packs weights less their zero points as words: [group][tap][channel][output, padded to four], or
// [tap][channel].
Result<GpuConstant> pack(const KernelRequest& r, const Integers& c) {
  QUERN_ASSIGN(const auto zeros, list_of<std::int32_t>(r, c.operands.w_zero, c.outputs, 0));
  const std::int64_t taps = c.window.taps();
  const std::int64_t padded = round_up(c.group_outputs(), 4);
  const Shape dims = {c.groups, c.group_outputs(), c.group_channels(), taps};
  const Shape to = c.by_channel() ? Shape{1, 0, 0, c.groups}
                                  : Shape{taps * c.group_channels() * padded, 1, padded,
                                          c.group_channels() * padded};
  const Shape column = {c.group_outputs(), 1, 0, 0};
  const std::int64_t words =
      c.by_channel() ? taps * c.groups : c.groups * taps * c.group_channels() * padded;
  const ConstantSource& source = *r.inputs[c.operands.w].constant;
  GpuConstant made;
  made.key = cat("gpu-int|", c.by_channel(), "|", dims.text(), "|", c.weight_strides.text(), "|",
                 key_of(r, c.operands.w_zero), "|", source.key());
  made.bytes = static_cast<std::size_t>(words) * 4;
  made.fill = [&source, zeros, dims, from = c.weight_strides, to, column](std::byte* at) -> Status {
    QUERN_ASSIGN(const Tensor t, source.get());
    for_each_offset(dims, std::array{from, to, column}, [&](const auto& offsets) {
      const auto v = element_as<std::int32_t>(t.view(), offsets[0]) -
                     zeros[static_cast<std::size_t>(offsets[2])];
      std::memcpy(at + offsets[1] * 4, &v, 4);
    });
    return {};
  };
  return made;
}

// True if weights less their zero points fit into bytes and channels are a multiple of four: then a
// word of x is multiplied with a word of weights.
Result<bool> takes_dots(const KernelRequest& r, const Integers& c) {
  if (!r.gpu->integer_dot || c.by_channel() || c.group_channels() % 4 != 0) return false;
  QUERN_ASSIGN(const auto zeros, list_of<std::int32_t>(r, c.operands.w_zero, c.outputs, 0));
  const auto same = [&](std::int32_t zero) { return std::ranges::count(zeros, zero) == c.outputs; };
  return r.dtype(c.operands.w) == DType::i8 ? same(0) : same(128);
}

// Packs weights less their zero points as bytes, four channels per word, after their sums over the
// channels: [group][tap][1 + channel / 4][output, padded to four].
GpuConstant pack_for_dots(const KernelRequest& r, const Integers& c) {
  const std::int64_t padded = round_up(c.group_outputs(), 4);
  const std::int64_t rows = 1 + c.group_channels() / 4;
  const Shape dims = {c.groups, c.group_outputs(), c.group_channels(), c.window.taps()};
  const std::int32_t zero = r.dtype(c.operands.w) == DType::i8 ? 0 : 128;
  const ConstantSource& source = *r.inputs[c.operands.w].constant;
  GpuConstant made;
  made.key = cat("gpu-int-dot|", dims.text(), "|", c.weight_strides.text(), "|", source.key());
  made.bytes = static_cast<std::size_t>(c.groups * c.window.taps() * rows * padded) * 4;
  made.fill = [&source, dims, zero, rows, padded,
               from = c.weight_strides](std::byte* to) -> Status {
    QUERN_ASSIGN(const Tensor t, source.get());
    // Offsets of an element: its column of words, the channel, and the tap's first row.
    const Shape column = {dims[3] * rows * padded, 1, 0, rows * padded};
    const Shape channel = {0, 0, 1, 0};
    for_each_offset(dims, std::array{from, column, channel}, [&](const auto& at) {
      const std::int32_t v = element_as<std::int32_t>(t.view(), at[0]) - zero;
      std::byte* const sum_at = to + at[1] * 4;
      std::int32_t sum = 0;
      std::memcpy(&sum, sum_at, 4);
      sum += v;
      std::memcpy(sum_at, &sum, 4);
      sum_at[(1 + at[2] / 4) * padded * 4 + at[2] % 4] = static_cast<std::byte>(v);
    });
    return {};
  };
  return made;
}

// The multipliers of the sums, by output channel.
Result<GpuConstant> multipliers(const KernelRequest& r, const Integers& c) {
  const Int8Operands& o = c.operands;
  QUERN_ASSIGN(auto scales, list_of<float>(r, o.w_scale, c.outputs, 1));
  QUERN_ASSIGN(const auto x_scale, list_of<float>(r, o.x_scale, 1, 1));
  QUERN_ASSIGN(const auto y_scale, list_of<float>(r, o.y_scale, 1, 1));
  for (float& s : scales) s = x_scale[0] * s / y_scale[0];
  GpuConstant made;
  made.key = cat("gpu-multipliers|", c.outputs, "|", key_of(r, o.x_scale), "|",
                 key_of(r, o.w_scale), "|", key_of(r, o.y_scale));
  made.bytes = scales.size() * sizeof(float);
  made.fill = [scales](std::byte* to) -> Status {
    std::memcpy(to, scales.data(), scales.size() * sizeof(float));
    return {};
  };
  return made;
}

std::optional<Dispatch> sums(const KernelRequest& r, const Integers& c, std::string_view shader,
                             BufferUse to) {
  const GpuTarget& target = *r.gpu;
  const Geometry& g = c.window;
  const bool by_channel = c.by_channel();
  const std::int64_t columns = by_channel ? c.outputs : c.group_outputs();
  const std::int64_t depth = by_channel ? 1 : c.group_channels();
  const std::uint32_t local = side_by_side(target);
  const auto pixels = static_cast<std::uint32_t>(std::min<std::int64_t>(g.out[2], 8));
  const std::uint64_t tiles = ceil_div_word(static_cast<std::uint64_t>(g.out[2]), pixels);
  const std::int64_t groups = by_channel ? 1 : c.groups;
  const std::uint32_t vectors = ceil_div_word(static_cast<std::uint64_t>(columns), 4);
  const std::uint32_t line = across(local, vectors, target);
  const std::array<std::uint64_t, 3> grid = {
      ceil_div_word(vectors, line),
      ceil_div_word(tiles * static_cast<std::uint64_t>(g.out[1]), local / line),
      static_cast<std::uint64_t>(c.images * groups)};
  if (!fits(grid, target) || !can_loop(g.iterations() * (depth + 1), target)) return std::nullopt;
  Dispatch d;
  d.shader = shader;
  const bool has_zero = r.has(c.operands.x_zero);
  d.constants = {local,
                 pixels,
                 by_channel,
                 c.group_channels() % 4 == 0,
                 columns % 4 == 0,
                 r.dtype(0) == DType::i8,
                 has_zero};
  set_across(d, line);
  push_window(d, g);
  for (std::int64_t v : {c.channels, by_channel ? c.channels : c.group_channels(), c.outputs,
                         columns, groups, static_cast<std::int64_t>(tiles)})
    d.push.push_back(word(v));
  const auto zero = static_cast<std::uint32_t>(c.operands.x_zero);
  d.buffers = {BufferUse::input(0), BufferUse::constant(0),
               has_zero ? BufferUse::input(zero) : BufferUse::input(0), to};
  for (std::size_t i = 0; i < 3; ++i) d.groups[i] = static_cast<std::uint32_t>(grid[i]);
  return d;
}

// The caller fills in the layouts of x and y.
Selection select_sums(const KernelRequest& r, const Integers& c) {
  const Int8Operands& o = c.operands;
  KernelChoice choice;
  QUERN_ASSIGN(const bool dots, takes_dots(r, c));
  choice.implementation = c.by_channel() ? "int8 depthwise" : dots ? "int8 dot" : "int8";
  choice.input_layouts.resize(r.inputs.size());
  choice.output_layouts.resize(1);
  choice.packed_inputs.assign(r.inputs.size(), false);
  for (std::size_t i : {o.w, o.w_zero, o.x_scale, o.w_scale, o.y_scale, o.y_zero})
    if (r.has(i)) choice.packed_inputs[i] = true;
  if (dots) {
    choice.on_gpu().constants.push_back(pack_for_dots(r, c));
  } else {
    QUERN_ASSIGN(GpuConstant weights, pack(r, c));
    choice.on_gpu().constants.push_back(std::move(weights));
  }
  const std::int64_t elements = r.outputs[0].shape.elements();
  const auto bytes = static_cast<std::uint64_t>(elements) * 4;
  auto d = sums(
      r, c, dots ? "conv_integer_dot" : "conv_integer",
      c.gives_bytes() ? BufferUse::scratch(0, bytes, BufferAccess::write) : BufferUse::output(0));
  if (!d) return unsupported();
  choice.on_gpu().dispatches.push_back(std::move(*d));
  if (!c.gives_bytes()) return std::optional<KernelChoice>(std::move(choice));

  choice.scratch_bytes = bytes;
  QUERN_ASSIGN(GpuConstant scales, multipliers(r, c));
  choice.on_gpu().constants.push_back(std::move(scales));
  QUERN_ASSIGN(const auto y_zero, list_of<std::int32_t>(r, o.y_zero, 1, 0));
  const auto bias = static_cast<std::uint32_t>(o.bias);
  choice.on_gpu().dispatches.push_back(quantize_dispatch(
      {.mode = QuantizeMode::requantize,
       .small = r.outputs[0].dtype,
       .elements = elements,
       .count = c.outputs,
       .has_zero = r.has(o.bias),
       .y_zero = y_zero[0]},
      {BufferUse::scratch(0, bytes, BufferAccess::read), BufferUse::constant(1),
       r.has(o.bias) ? BufferUse::input(bias) : BufferUse::constant(1), BufferUse::output(0)},
      *r.gpu));
  return std::optional<KernelChoice>(std::move(choice));
}

Selection select_conv_of(const KernelRequest& r, const Int8Operands& o, const Window& window,
                         std::int64_t groups) {
  const Shape& x = r.shape(0);
  const Shape& w = r.shape(o.w);
  const Shape& y = r.outputs[0].shape;
  if (!suits(r, o, y[1])) return unsupported();
  const auto g =
      geometry_of(x, y, resolve_window(window, x.dims().subspan(2), w.dims().subspan(2)));
  if (!g || g->deep) return unsupported();
  Integers c{.operands = o,
             .window = *g,
             .images = x[0],
             .channels = x[1],
             .outputs = y[1],
             .groups = groups,
             .weight_strides = {w.elements() / groups, w.elements(1), w.elements(2), 1}};
  QUERN_ASSIGN(auto choice, select_sums(r, c));
  if (!choice) return unsupported();
  choice->input_layouts[0] = Layout::channels_last(x);
  choice->output_layouts[0] = Layout::channels_last(y);
  return choice;
}

// One right-hand matrix for all rows.
Selection select_product_of(const KernelRequest& r, const Int8Operands& o) {
  const Shape& a = r.shape(0);
  const Shape& b = r.shape(o.w);
  if (a.empty() || b.rank() < 2 || b.elements(0, b.rank() - 2) != 1 || b.elements() == 0 ||
      !suits(r, o, b.back()))
    return unsupported();
  const std::int64_t rows = a.elements() / a.back();
  // A row of an image has at most 65,535 elements.
  std::int64_t height = 1;
  while (rows / height > 65535 && rows % (2 * height) == 0) height *= 2;
  const Shape picture = {1, a.back(), height, rows / height};
  const Shape result = {1, b.back(), height, rows / height};
  const std::array<std::int64_t, 2> point = {1, 1};
  const auto g = geometry_of(picture, result, explicit_window(point, {}, {}, {}));
  if (!g) return unsupported();
  return select_sums(r, {.operands = o,
                         .window = *g,
                         .images = 1,
                         .channels = a.back(),
                         .outputs = b.back(),
                         .groups = 1,
                         .weight_strides = {0, 1, b.back(), 1}});
}

}  // namespace

Selection select_conv_integer(const KernelRequest& r) {
  const auto& op = r.as<ConvInteger>();
  return select_conv_of(r, conv_integer_operands, op.window, op.group);
}

Selection select_qlinear_conv(const KernelRequest& r) {
  const auto& op = r.as<QLinearConv>();
  return select_conv_of(r, qlinear_conv_operands, op.window, op.group);
}

Selection select_matmul_integer(const KernelRequest& r) {
  return select_product_of(r, {.w = 1, .x_zero = 2, .w_zero = 3});
}

Selection select_qlinear_matmul(const KernelRequest& r) {
  return select_product_of(
      r, {.w = 3, .x_zero = 2, .w_zero = 5, .x_scale = 1, .w_scale = 4, .y_scale = 6, .y_zero = 7});
}

}  // namespace quern::gpu
