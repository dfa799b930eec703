// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/shape_of.h"

#include <cstdint>

#include "graph/op_fields.h"

namespace quern {
namespace {

Status infer_shape_of(InferContext& c) {
  Dim n;
  if (const Dims* dims = c.dims(0))
    n = static_cast<std::int64_t>(part_of(c.op<ShapeOf>(), dims->size()).count);
  c.set(0, DType::i64, Dims{n});
  return {};
}

Status infer_size_of(InferContext& c) {
  c.set(0, DType::i64, Dims());
  return {};
}

}  // namespace

const OpDef& ShapeOf::def() {
  static constexpr OpDef def{
      .name = "ShapeOf", .infer = infer_shape_of, .attributes = &op_struct<ShapeOf>};
  return def;
}

const OpDef& SizeOf::def() {
  static constexpr OpDef def{
      .name = "SizeOf", .infer = infer_size_of, .attributes = &op_struct<SizeOf>};
  return def;
}

}  // namespace quern
