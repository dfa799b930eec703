// SPDX-License-Identifier: Apache-2.0
// Transpose: dimension i of y is dimension perm[i] of x; without perm the order is reversed.
//
// ONNX: Transpose, opsets 1 to 25.
#include "graph/ops/transpose.h"

#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"

namespace quern {
namespace {

Status transpose_reference(const ReferenceCall& call) {
  const auto& op = call.as<Transpose>();
  const TensorView& x = call.inputs[0];
  const Shape& shape = call.outputs[0].type.shape;
  const Shape from = row_major_strides(x.type.shape);
  Shape strides = shape;
  for (std::size_t i = 0; i < shape.rank(); ++i) strides[i] = from[source_of(op, i, shape.rank())];
  StopCheck check(call.stop);
  copy_strided(size_of(x.type.dtype), shape, strides, x.data, call.outputs[0].data, check);
  return {};
}

}  // namespace

const OpKernels& Transpose::kernels() {
  static constexpr OpKernels table{.reference = {transpose_reference}};
  return table;
}

}  // namespace quern
