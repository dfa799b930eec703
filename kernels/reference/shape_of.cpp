// SPDX-License-Identifier: Apache-2.0
// ShapeOf: the dimensions [start, end) of x as i64. SizeOf: their product as an i64 scalar. Neither
// looks at x's elements.
//
// ONNX: Shape (start and end since opset 15), Size, opsets 1 to 25.
#include "graph/ops/shape_of.h"

#include <algorithm>

#include "kernels/contract/kernel.h"

namespace quern {
namespace {

Status shape_of_reference(const ReferenceCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const ShapePart part = part_of(call.as<ShapeOf>(), shape.rank());
  std::copy_n(shape.begin() + part.begin, part.count, call.outputs[0].as<std::int64_t>());
  return {};
}

Status size_of_reference(const ReferenceCall& call) {
  *call.outputs[0].as<std::int64_t>() = call.inputs[0].type.shape.elements();
  return {};
}

}  // namespace

const OpKernels& ShapeOf::kernels() {
  static constexpr OpKernels table{.reference = {shape_of_reference}};
  return table;
}

const OpKernels& SizeOf::kernels() {
  static constexpr OpKernels table{.reference = {size_of_reference}};
  return table;
}

}  // namespace quern
