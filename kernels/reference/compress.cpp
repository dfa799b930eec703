// SPDX-License-Identifier: Apache-2.0
// Compress: the slices of x along an axis, or its elements in row-major order, whose condition is
// true.
//
// ONNX: Compress (opsets 9, 11). What lies beyond the end of the condition is left out, and so are
// conditions beyond the end of x.
#include <algorithm>

#include "graph/ops/data_dependent.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"

namespace quern {
namespace {

Status compress_reference(const ReferenceCall& call) {
  const auto& op = call.as<Compress>();
  const TensorView& x = call.inputs[0];
  const Shape& shape = x.type.shape;
  const std::size_t axis = op.axis ? positive_axis(*op.axis, shape.rank()) : 0;
  const AxisSplit s = op.axis ? split_at(shape, axis) : AxisSplit{1, shape.elements(), 1};
  const std::int64_t n = std::min(s.axis, call.inputs[1].type.shape.elements());
  const auto* condition = call.inputs[1].as<std::uint8_t>();
  const std::size_t run = static_cast<std::size_t>(s.inner) * size_of(x.type.dtype);
  std::byte* dst = call.outputs[0].data;
  StopCheck check(call.stop);
  for (std::int64_t o = 0; n > 0 && run > 0 && o < s.outer && !check.spend(4); ++o)
    for_each_until(n, 2, check, [&](std::int64_t i) {
      if (!condition[i]) return;
      copy_bytes(x.data + static_cast<std::size_t>(o * s.axis + i) * run, run, dst, check);
      dst += run;
    });
  call.outputs[0].type.shape[axis] =
      std::count_if(condition, condition + n, [](std::uint8_t v) { return v != 0; });
  return {};
}

}  // namespace

const OpKernels& Compress::kernels() {
  static constexpr OpKernels table{.reference = {compress_reference}};
  return table;
}

}  // namespace quern
