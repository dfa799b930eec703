// SPDX-License-Identifier: Apache-2.0
// Slice: every step-th element from start up to, not including, end, along some axes.
//
// ONNX: Slice, opsets 1 to 13 (starts, ends and axes that were attributes import as inputs). Bounds
// count from the end when negative and are clamped: to [0, d] when going up, and when going down
// start to [0, d - 1] and end to [-1, d - 1]. (numpy differs in one point: going down from before
// the first element it gives nothing, here it gives the first one, as the specification has it.)
#include "kernels/contract/slice.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/ops/slice.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

Status slice_reference(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  const Shape& shape = call.outputs[0].type.shape;
  if (shape.elements() == 0) return {};
  const auto steps = slice_steps(x.type.shape, call.inputs);
  Shape strides = row_major_strides(x.type.shape);
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    offset += steps[d].start * strides[d];
    // With one element the step is unused, and may be too large to multiply.
    strides[d] = shape[d] == 1 ? 0 : steps[d].step * strides[d];
  }
  const std::size_t size = size_of(x.type.dtype);
  StopCheck check(call.stop);
  copy_strided(size, shape, strides, x.data + static_cast<std::size_t>(offset) * size,
               call.outputs[0].data, check);
  return {};
}

}  // namespace

std::array<SliceStep, Shape::max_rank> slice_steps(const Shape& x,
                                                   std::span<const TensorView> inputs) {
  std::array<SliceStep, Shape::max_rank> steps;
  const auto has = [&](std::size_t i) { return i < inputs.size() && inputs[i].present(); };
  const std::int64_t n = inputs[1].type.shape.elements();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::size_t axis =
        has(3) ? positive_axis(index_at(inputs[3], i), x.rank()) : static_cast<std::size_t>(i);
    const SliceRange cut = clamped(
        {index_at(inputs[1], i), index_at(inputs[2], i), has(4) ? index_at(inputs[4], i) : 1},
        x[axis]);
    steps[axis] = {cut.start, cut.step};
  }
  return steps;
}

const OpKernels& Slice::kernels() {
  static constexpr OpKernels table{
      .reference = {slice_reference}, .flops = chosen_elements, .gpu = gpu::select_slice};
  return table;
}

}  // namespace quern
