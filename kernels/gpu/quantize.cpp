// SPDX-License-Identifier: Apache-2.0
// Quantize, Dequantize and DynamicQuantize: bytes move as words, so that the device needs no 8-bit
// storage.
#include "kernels/gpu/quantize.h"

#include <algorithm>

#include "engine/vocabulary/multiples.h"
#include "graph/numeric.h"
#include "graph/ops/infer.h"
#include "graph/ops/quantize.h"
#include "kernels/contract/iterate.h"
#include "kernels/gpu/broadcast.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/rows.h"
#include "kernels/gpu/steps.h"

namespace quern::gpu {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 31;

// Sets the index of the scale for each element of `shape` in `layout`; false if it is not periodic.
bool place_scale(const KernelRequest& request, const Layout& layout, std::int64_t axis,
                 std::int64_t block_size, QuantizeWork& work) {
  const Shape& x = request.shape(0);
  if (request.has(2) && request.shape(2).elements() != request.shape(1).elements()) return false;
  if (request.shape(1).elements() == 1) return true;
  if (block_size > 0 || x.empty()) return false;
  const std::size_t d = positive_axis(axis, x.rank());
  if (request.shape(1).elements() != x[d]) return false;
  work.stride = layout.strides[d];
  work.count = x[d];
  return true;
}

// One dispatch over all elements in the layout that they have.
Selection elementwise(const KernelRequest& request, QuantizeWork work, std::int64_t axis,
                      std::int64_t block_size) {
  const TensorDesc& x = request.inputs[0].desc;
  work.elements = x.shape.elements();
  work.has_zero = request.has(2);
  const Layout layout = is_dense(x) && !x.layout.block ? x.layout : Layout::row_major(x.shape);
  if (work.elements == 0 || work.elements >= most_elements || request.dtype(1) != DType::f32 ||
      !place_scale(request, layout, axis, block_size, work))
    return unsupported();
  KernelChoice choice;
  choice.implementation = "quantize";
  choice.input_layouts.resize(request.inputs.size());
  choice.input_layouts[0] = layout;
  choice.output_layouts = {layout};
  choice.on_gpu().dispatches.push_back(
      quantize_dispatch(work,
                        {BufferUse::input(0), BufferUse::input(1),
                         BufferUse::input(work.has_zero ? 2 : 1), BufferUse::output(0)},
                        *request.gpu));
  return std::optional<KernelChoice>(std::move(choice));
}

// The strides of a scale over x, one of whose dimensions is cut into blocks; nullopt if they do not
// divide it.
std::optional<Loop> blocks_of(const KernelRequest& request, std::int64_t given_axis,
                              std::int64_t block_size) {
  const Shape& x = request.shape(0);
  const Shape& scale = request.shape(1);
  Shape sizes;
  Shape strides;
  if (scale.elements() == 1) {
    sizes = x;
    strides = Shape::filled(x.rank(), 0);
  } else {
    const std::size_t axis = positive_axis(given_axis, x.rank());
    const Shape own = row_major_strides(scale);
    for (std::size_t d = 0; d < x.rank(); ++d) {
      const bool is_cut = d == axis && block_size > 0;
      if (is_cut && (x[d] % block_size != 0 || sizes.rank() + 2 > Shape::max_rank))
        return std::nullopt;
      sizes.push_back(is_cut ? x[d] / block_size : x[d]);
      strides.push_back(block_size > 0 ? own[d] : d == axis ? 1 : 0);
      if (!is_cut) continue;
      sizes.push_back(block_size);
      strides.push_back(0);
    }
  }
  const Shape dense = row_major_strides(sizes);
  return make_loop(sizes, std::array{dense, strides, strides, dense}, memory_order(sizes, dense));
}

// Of what is beyond floats of a byte.
enum class Saturation : std::uint8_t { none, full };

// Of elements that quantize.comp lacks, and in blocks.
Selection in_blocks(const KernelRequest& request, std::uint32_t code, Saturation saturation,
                    std::int64_t axis, std::int64_t block_size) {
  const TensorType& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  if (n == 0 || n >= most_elements || request.shape(0).empty() ||
      (request.has(2) && request.shape(2).elements() != request.shape(1).elements()))
    return unsupported();
  const auto loop = blocks_of(request, axis, block_size);
  if (!loop) return unsupported();
  Broadcast work{"broadcast",
                 code,
                 request.has(2) ? 3U : 2U,
                 {request.dtype(0), request.dtype(1), DType::f32, y.dtype},
                 {word(saturation == Saturation::full ? 1.0F : 0.0F), word(0.0F)}};
  if (request.has(2)) work.types[2] = request.dtype(2);
  KernelChoice choice;
  choice.implementation = "blocks";
  choice.on_gpu().dispatches.push_back(broadcast_dispatch(work, *loop, *request.gpu));
  return std::optional<KernelChoice>(std::move(choice));
}

// Floats hold their elements, and differences of them, exactly.
bool is_small(DType t) {
  return size_of(t) == 1 || t == DType::i16 || t == DType::u16;
}

}  // namespace

Dispatch quantize_dispatch(const QuantizeWork& work, std::array<BufferUse, 4> buffers,
                           const GpuTarget& target) {
  Dispatch d;
  d.shader = "quantize";
  const std::uint32_t local = lanes(target);
  d.constants = {local, static_cast<std::uint32_t>(work.mode),
                 work.mode == QuantizeMode::dequantize && work.small == DType::i32,
                 work.small == DType::i8, work.has_zero};
  d.push = {word(work.elements), word(work.stride), word(work.count),
            static_cast<std::uint32_t>(work.y_zero)};
  d.buffers.assign(buffers.begin(), buffers.end());
  d.groups =
      linear_groups(ceil_div_word(static_cast<std::uint64_t>(work.elements), 4), local, target);
  return d;
}

Selection select_quantize(const KernelRequest& request) {
  const auto& op = request.as<Quantize>();
  const DType to = request.outputs[0].dtype;
  if (request.dtype(0) != DType::f32 || request.dtype(1) != DType::f32) return unsupported();
  if (is_8bit(to)) {
    auto choice = elementwise(request, {QuantizeMode::quantize, to, 0}, op.axis, op.block_size);
    if (!choice || *choice) return choice;
  }
  if (!is_small(to)) return unsupported();
  return in_blocks(request, quantize_code, op.saturate ? Saturation::full : Saturation::none,
                   op.axis, op.block_size);
}

Selection select_dequantize(const KernelRequest& request) {
  const auto& op = request.as<Dequantize>();
  const DType from = request.dtype(0);
  if (request.dtype(1) == DType::f32 && (is_8bit(from) || from == DType::i32)) {
    auto choice = elementwise(request, {QuantizeMode::dequantize, from, 0}, op.axis, op.block_size);
    if (!choice || *choice) return choice;
  }
  // A product with a scale of 16 bits rounds once where its factors are small.
  const bool is_exact =
      request.dtype(1) == DType::f32 ||
      (is_number_float(request.dtype(1)) && request.dtype(1) != DType::f64 && size_of(from) == 1);
  if (!is_small(from) || !is_exact) return unsupported();
  return in_blocks(request, dequantize_code, Saturation::full, op.axis, op.block_size);
}

// Computes the range in two passes, then the elements.
Selection select_dynamic_quantize(const KernelRequest& request) {
  const TensorDesc& x = request.inputs[0].desc;
  const GpuTarget& target = *request.gpu;
  const std::int64_t n = x.shape.elements();
  if (n == 0 || n >= most_elements) return unsupported();
  const Layout layout = is_dense(x) && !x.layout.block ? x.layout : Layout::row_major(x.shape);
  // Parts long enough to keep a workgroup busy, and few enough for one workgroup to combine them.
  const std::int64_t part = std::max<std::int64_t>(4096, ceil_div(n, 1024));
  const std::int64_t parts = ceil_div(n, part);
  if (!can_loop(2 * part, target)) return unsupported();
  constexpr std::uint64_t small = 256;
  const std::uint64_t pairs = round_up(static_cast<std::uint64_t>(parts) * 8, small);
  // A result that is not wanted goes to scratch memory.
  const auto result = [&](std::uint32_t i, BufferAccess access) {
    BufferUse use = request.wants(i) ? BufferUse::output(i)
                                     : BufferUse::scratch(pairs + (i - 1) * small, small, access);
    use.written = access == BufferAccess::write;
    return use;
  };
  enum class Pass : std::uint8_t { of_parts, of_their_ranges };
  const auto range = [&](Pass pass, BufferUse from, BufferUse to, BufferUse zero) {
    const bool last = pass == Pass::of_their_ranges;
    const std::int64_t elements = last ? 2 * parts : n;
    Dispatch d = row_dispatch("dynamic_range", {last ? 1 : parts, last ? 2 * parts : part}, target);
    d.constants.push_back(last);
    d.push = {word(elements), word(last ? elements : part)};
    d.buffers = {from, to, zero};
    return d;
  };
  KernelChoice choice;
  choice.implementation = "range";
  choice.input_layouts = {layout};
  choice.output_layouts = {layout};
  choice.output_layouts.resize(request.outputs.size());
  choice.scratch_bytes = pairs + 2 * small;
  auto& work = choice.on_gpu().dispatches;
  const BufferUse all_pairs = BufferUse::scratch(0, pairs, BufferAccess::write);
  work.push_back(range(Pass::of_parts, BufferUse::input(0), all_pairs, all_pairs));
  work.push_back(range(Pass::of_their_ranges, BufferUse::scratch(0, pairs, BufferAccess::read),
                       result(1, BufferAccess::write), result(2, BufferAccess::write)));
  if (!request.wants(0)) return std::optional<KernelChoice>(std::move(choice));
  work.push_back(quantize_dispatch(
      {.mode = QuantizeMode::quantize, .small = DType::u8, .elements = n, .has_zero = true},
      {BufferUse::input(0), result(1, BufferAccess::read), result(2, BufferAccess::read),
       BufferUse::output(0)},
      target));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
