// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements: Pad, Gather, UnpackBits, Tile, Slice, DepthSpace.
#include <array>
#include <cstring>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/block_quantized.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/gather.h"
#include "graph/ops/pad.h"
#include "graph/ops/rearrange.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/slice.h"
#include "kernels/gpu/copy.h"
#include "kernels/gpu/gather.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"

namespace quern::gpu {
namespace {

// One dispatch from input 0 to output 0; the other inputs are known when planning.
Selection moved(const KernelRequest& request, std::string_view implementation, const Layout& in,
                const Layout& out, Dispatch d) {
  KernelChoice choice;
  choice.implementation = implementation;
  choice.input_layouts = {in};
  choice.output_layouts = {out};
  choice.packed_inputs.assign(request.inputs.size(), true);
  choice.packed_inputs[0] = false;
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

// The bits of the padding value; nullopt if it is not constant.
Result<std::optional<std::uint32_t>> pad_value(const KernelRequest& request) {
  std::uint32_t bits = 0;
  if (!request.has(2)) return std::optional(bits);
  if (!request.inputs[2].constant) return std::optional<std::uint32_t>();
  QUERN_ASSIGN(const Tensor t, request.inputs[2].constant->get());
  if (t.bytes() >= sizeof bits) std::memcpy(&bits, t.data(), sizeof bits);
  return std::optional(bits);
}

std::uint32_t mode_code(PadMode mode) {
  switch (mode) {
    case PadMode::constant: return 0;
    case PadMode::reflect: return 1;
    case PadMode::edge: return 2;
    case PadMode::wrap: return 3;
  }
  return 0;
}

// A dispatch of pad.comp from x to y of at most six dimensions; the caller fills in mode and value.
// Negative pads cut first; what is left is extended.
Dispatch padding(const Shape& y, const Shape& x, const Pads& pads, const Layout& out,
                 const Layout& in, const GpuTarget& target) {
  std::vector<std::int64_t> dims, sizes, begins, strides;
  std::int64_t first = 0;
  const auto order = memory_order(y, out.strides);
  for (std::size_t n = order.size(); n-- > 0;) {
    const std::size_t d = order[n];
    const std::int64_t begin = pads.begin[d];
    if (y[d] == 1 && x[d] == 1 && begin == 0) continue;
    const std::int64_t cut = std::max<std::int64_t>(-begin, 0);
    dims.push_back(y[d]);
    sizes.push_back(x[d] - cut + std::min<std::int64_t>(pads.end[d], 0));
    begins.push_back(begin + cut);
    strides.push_back(in.strides[d]);
    first += cut * in.strides[d];
  }
  Dispatch d;
  d.shader = "pad";
  const std::uint32_t local = lanes(target);
  d.constants = {local};
  d.push = {word(y.elements()), 0, word(first)};
  append(d.push, dims, 1);
  append(d.push, sizes, 1);
  append(d.push, begins, 0);
  append(d.push, strides, 0);
  d.groups = linear_groups(static_cast<std::uint64_t>(y.elements()), local, target);
  return d;
}

// Tile as a wrapping pad that begins at 0.
Selection wrapped(const KernelRequest& request) {
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  if (size_of(request.dtype(0)) != 4 || y.rank() > Loop::max_rank ||
      y.elements() >= (std::int64_t{1} << 31))
    return unsupported();
  const Layout in = Layout::row_major(x);
  const Layout out = Layout::row_major(y);
  const Shape none = Shape::filled(y.rank(), 0);
  Dispatch d = padding(y, x, {none, none}, out, in, *request.gpu);
  d.constants = {d.constants[0], mode_code(PadMode::wrap), false};
  d.buffers = {BufferUse::input(0), BufferUse::output(0), BufferUse::input(0)};
  return moved(request, "wrap", in, out, std::move(d));
}

}  // namespace

// Copies elements; the CPU brings those into form that not all bits are allowed of.
Selection select_bit_cast(const KernelRequest& request) {
  const TensorType& y = request.outputs[0];
  if (y.shape.elements() == 0 || y.dtype == DType::boolean || bits_of(y.dtype) < 8)
    return unsupported();
  const Layout layout = is_dense(request.inputs[0].desc) && !request.inputs[0].desc.layout.block
                            ? request.inputs[0].desc.layout
                            : Layout::row_major(y.shape);
  auto d = copy_dispatch(y.dtype, y.shape, {layout.strides}, {layout.strides}, *request.gpu);
  if (!d) return unsupported();
  d->buffers = {BufferUse::input(0), BufferUse::output(0)};
  return moved(request, d->shader, layout, layout, std::move(*d));
}

Selection select_pad(const KernelRequest& request) {
  const auto& op = request.as<Pad>();
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  const auto pads = constant_pads(request);
  QUERN_ASSIGN(const std::optional<std::uint32_t> value, pad_value(request));
  if (!pads || size_of(request.dtype(0)) != 4 || x.rank() > Loop::max_rank || x.elements() == 0 ||
      y.elements() == 0 || y.elements() >= (std::int64_t{1} << 31))
    return unsupported();
  const bool last = is_channels_last(request.inputs[0].desc);
  const Layout in = last ? Layout::channels_last(x) : Layout::row_major(x);
  const Layout out = last ? Layout::channels_last(y) : Layout::row_major(y);
  Dispatch d = padding(y, x, *pads, out, in, *request.gpu);
  d.constants = {d.constants[0], mode_code(op.mode), !value};
  d.push[1] = value.value_or(0);
  d.buffers = {BufferUse::input(0), BufferUse::output(0), BufferUse::input(value ? 0 : 2)};
  auto choice = moved(request, "pad", in, out, std::move(d));
  if (!value) (*choice)->packed_inputs[2] = false;
  return choice;
}

Dispatch gather_rows(GatherRows rows, std::size_t element_size, std::array<BufferUse, 3> buffers,
                     const GpuTarget& target) {
  // Rows move in vectors.
  while (!rows.by_element && element_size < 16 && rows.inner % 2 == 0) {
    rows.inner /= 2;
    element_size *= 2;
  }
  const std::int64_t work = rows.outer * rows.count * rows.inner;
  Dispatch d;
  d.shader = element_size == 4 ? "gather_32" : element_size == 8 ? "gather_64" : "gather_128";
  const std::uint32_t local = lanes(target);
  d.constants = {local, rows.by_element, rows.index_words};
  for (std::int64_t v : {work, rows.inner, rows.count, rows.size, rows.inner})
    d.push.push_back(word(v));
  d.buffers.assign(buffers.begin(), buffers.end());
  d.groups = linear_groups(static_cast<std::uint64_t>(work), local, target);
  return d;
}

namespace {

// Elements of one byte or two, a word of them in each invocation. The buffers are those of a
// Gather.
Dispatch gather_narrow(const GatherRows& rows, std::size_t element_size, const GpuTarget& target) {
  const auto in_word = static_cast<std::int64_t>(4 / element_size);
  const std::int64_t elements = rows.outer * rows.count * rows.inner;
  const std::int64_t words = ceil_div(elements, in_word);
  Dispatch d;
  d.shader = "gather_narrow";
  const std::uint32_t local = lanes(target);
  d.constants = {local, rows.by_element, rows.index_words, static_cast<std::uint32_t>(in_word)};
  d.push = {word(words), word(elements), word(rows.inner), word(rows.count), word(rows.size)};
  d.buffers = {BufferUse::input(0), BufferUse::input(1), BufferUse::output(0)};
  d.groups = linear_groups(static_cast<std::uint64_t>(words), local, target);
  return d;
}

Selection gather_elements(const KernelRequest& request, std::size_t axis) {
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  Shape from = row_major_strides(x);
  const std::int64_t along = from[axis];
  from[axis] = 0;
  const Shape to = row_major_strides(y);
  const auto loop = make_loop(y, std::array{from, to}, memory_order(y, to));
  if (!loop) return unsupported();
  Dispatch d;
  d.shader = "gather_elements";
  const std::uint32_t local = lanes(*request.gpu);
  d.constants = {local, static_cast<std::uint32_t>(size_of(request.dtype(0)) / 4),
                 request.dtype(1) == DType::i64 ? 2U : 1U};
  d.push = {word(y.elements()), word(x[axis]), word(along)};
  append(d.push, loop->dims, 1);
  append(d.push, loop->strides[0], 0);
  d.buffers = {BufferUse::input(0), BufferUse::input(1), BufferUse::output(0)};
  d.groups = linear_groups(d.push[0], local, *request.gpu);
  KernelChoice choice;
  choice.implementation = d.shader;
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace

Selection select_gather(const KernelRequest& request) {
  const auto& op = request.as<Gather>();
  if (op.kind == GatherKind::nd) return select_gather_nd(request);
  const Shape& x = request.shape(0);
  const Shape& indices = request.shape(1);
  const Shape& y = request.outputs[0].shape;
  const DType type = request.dtype(0);
  std::size_t size = size_of(type);
  if (type == DType::string || x.elements() == 0 || y.elements() == 0 ||
      y.elements() >= (std::int64_t{1} << 31) || x.elements() >= (std::int64_t{1} << 31))
    return unsupported();
  const bool by_element = op.kind == GatherKind::elements;
  const std::size_t axis = positive_axis(op.axis, x.rank());
  if (by_element)
    for (std::size_t d = 0; d < x.rank(); ++d)
      if (d != axis && x[d] != indices[d])
        return size < 4 ? unsupported() : gather_elements(request, axis);
  GatherRows rows{.outer = x.elements(0, axis),
                  .count = by_element ? indices[axis] : indices.elements(),
                  .size = x[axis],
                  .inner = x.elements(axis + 1),
                  .by_element = by_element,
                  .index_words = request.dtype(1) == DType::i64 ? 2U : 1U};
  const std::int64_t row_bytes = rows.inner * static_cast<std::int64_t>(size);
  if (size < 4 && !by_element && row_bytes % 4 == 0) {
    rows.inner = row_bytes / 4;
    size = 4;
  }
  KernelChoice choice;
  choice.on_gpu().dispatches.push_back(
      size < 4 ? gather_narrow(rows, size, *request.gpu)
               : gather_rows(rows, size,
                             {BufferUse::input(0), BufferUse::input(1), BufferUse::output(0)},
                             *request.gpu));
  choice.implementation = choice.on_gpu().dispatches[0].shader;
  return std::optional<KernelChoice>(std::move(choice));
}

Selection select_unpack_bits(const KernelRequest& request) {
  const std::int64_t elements = request.outputs[0].shape.elements();
  if (elements == 0 || elements >= std::int64_t{1} << 31) return unsupported();
  Dispatch d;
  d.shader = "unpack_bits";
  const std::uint32_t local = lanes(*request.gpu);
  d.constants = {local, static_cast<std::uint32_t>(request.as<UnpackBits>().bits)};
  d.push = {word(ceil_div(elements, std::int64_t{4}))};
  d.buffers = {BufferUse::input(0), BufferUse::output(0)};
  d.groups = linear_groups(d.push[0], local, *request.gpu);
  return moved(request, "unpack_bits", Layout::row_major(request.shape(0)),
               Layout::row_major(request.outputs[0].shape), std::move(d));
}

Selection select_tile(const KernelRequest& request) {
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  if (x.elements() == 0 || y.elements() == 0 || request.dtype(0) == DType::string)
    return unsupported();
  // A repeated dimension becomes two: the repeats, with stride 0 in x, and its own.
  const Shape x_strides = row_major_strides(x);
  const Shape y_strides = row_major_strides(y);
  Shape dims;
  Side from, to;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    const std::int64_t repeats = y[d] / x[d];
    if (repeats > 1) {
      if (dims.rank() == Shape::max_rank) return wrapped(request);
      dims.push_back(repeats);
      from.strides.push_back(0);
      to.strides.push_back(x[d] * y_strides[d]);
    }
    if (dims.rank() == Shape::max_rank) return wrapped(request);
    dims.push_back(x[d]);
    from.strides.push_back(x_strides[d]);
    to.strides.push_back(y_strides[d]);
  }
  auto d = copy_dispatch(request.dtype(0), dims, from, to, *request.gpu);
  if (!d) return wrapped(request);
  d->buffers = {BufferUse::input(0), BufferUse::output(0)};
  return moved(request, "copy", Layout::row_major(x), Layout::row_major(y), std::move(*d));
}

// Slices that cannot be a view: with negative steps.
Selection select_slice(const KernelRequest& request) {
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  if (x.elements() == 0 || y.elements() == 0) return unsupported();
  std::vector<Tensor> held(request.inputs.size());
  std::vector<TensorView> operands(request.inputs.size());
  for (std::size_t i = 1; i < request.inputs.size(); ++i) {
    if (!request.has(i)) continue;
    if (!request.inputs[i].constant) return unsupported();
    QUERN_ASSIGN(held[i], request.inputs[i].constant->get());
    operands[i] = held[i].view();
  }
  const auto steps = slice_steps(x, operands);
  Side from{row_major_strides(x)};
  for (std::size_t d = 0; d < y.rank(); ++d) {
    from.offset += steps[d].start * from.strides[d];
    // With one element the step is unused, and may be too large to multiply.
    from.strides[d] = y[d] == 1 ? 0 : steps[d].step * from.strides[d];
  }
  auto d = copy_dispatch(request.dtype(0), y, from, {row_major_strides(y)}, *request.gpu);
  if (!d) return unsupported();
  d->buffers = {BufferUse::input(0), BufferUse::output(0)};
  return moved(request, "copy", Layout::row_major(x), Layout::row_major(y), std::move(*d));
}

Selection select_depth_space(const KernelRequest& request) {
  const auto& op = request.as<DepthSpace>();
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  if (x.elements() == 0) return unsupported();
  const Layout in =
      is_channels_last(request.inputs[0].desc) ? Layout::channels_last(x) : Layout::row_major(x);
  const Layout out = Layout::row_major(y);
  const bool to_space = op.kind != DepthSpaceKind::space_to_depth;
  // The small side's channels are [block, block, c] (or [c, block, block]); the large side's height
  // and width are [h, block] and [w, block].
  const Shape& deep = to_space ? x : y;
  const Shape& wide = to_space ? y : x;
  const Shape& deep_strides = to_space ? in.strides : out.strides;
  const Shape& wide_strides = to_space ? out.strides : in.strides;
  const std::int64_t b = op.block;
  const std::int64_t c = wide[1];
  const bool channels_first = op.kind == DepthSpaceKind::depth_to_space_crd;
  const std::int64_t of_c = channels_first ? b * b : 1;
  const std::int64_t of_rows = channels_first ? b : b * c;
  const std::int64_t of_columns = channels_first ? 1 : c;
  const Shape dims = {deep[0], c, deep[2], b, deep[3], b};
  const Side deep_side{{deep_strides[0], of_c * deep_strides[1], deep_strides[2],
                        of_rows * deep_strides[1], deep_strides[3], of_columns * deep_strides[1]}};
  const Side wide_side{{wide_strides[0], wide_strides[1], b * wide_strides[2], wide_strides[2],
                        b * wide_strides[3], wide_strides[3]}};
  auto d = copy_dispatch(request.dtype(0), dims, to_space ? deep_side : wide_side,
                         to_space ? wide_side : deep_side, *request.gpu);
  if (!d) return unsupported();
  d->buffers = {BufferUse::input(0), BufferUse::output(0)};
  return moved(request, "copy", in, out, std::move(*d));
}

}  // namespace quern::gpu
