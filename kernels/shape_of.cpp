// SPDX-License-Identifier: Apache-2.0
// ShapeOf: the dimensions [start, end) of x as i64. SizeOf: their product as an i64 scalar. Neither
// looks at x's elements.
//
// ONNX: Shape (start and end since opset 15), Size, opsets 1 to 25.
#include <algorithm>

#include "kernels/kernel.h"
#include "kernels/movement.h"

namespace quern {
namespace {

// start and end count from the end when negative, and are clamped to the rank.
struct Part {
  std::size_t begin, count;
};
Part part_of(const ShapeOf& op, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  const auto clamped = [r](std::int64_t v) {
    return std::clamp<std::int64_t>(v < 0 ? v + r : v, 0, r);
  };
  const std::int64_t begin = clamped(op.start);
  const std::int64_t end = clamped(op.end.value_or(r));
  return {static_cast<std::size_t>(begin),
          static_cast<std::size_t>(std::max<std::int64_t>(end - begin, 0))};
}

Status infer_shape_of(InferContext& c) {
  Dim n;
  if (const Dims* dims = c.dims(0))
    n = static_cast<std::int64_t>(part_of(c.op<ShapeOf>(), dims->size()).count);
  c.set(0, DType::i64, Dims{n});
  return {};
}

Status shape_of_reference(const ReferenceCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const Part part = part_of(call.as<ShapeOf>(), shape.rank());
  std::copy_n(shape.begin() + part.begin, part.count, call.outputs[0].as<std::int64_t>());
  return {};
}

Status infer_size_of(InferContext& c) {
  c.set(0, DType::i64, Dims());
  return {};
}

Status size_of_reference(const ReferenceCall& call) {
  *call.outputs[0].as<std::int64_t>() = call.inputs[0].type.shape.elements();
  return {};
}

}  // namespace

const OpDef& ShapeOf::def() {
  static constexpr OpDef def{
      .name = "ShapeOf", .infer = infer_shape_of, .reference = shape_of_reference};
  return def;
}

const OpDef& SizeOf::def() {
  static constexpr OpDef def{
      .name = "SizeOf", .infer = infer_size_of, .reference = size_of_reference};
  return def;
}

}  // namespace quern
