// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/where.h"

#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

Status infer_where(InferContext& c) {
  QUERN_TRY(c.want_dtype(0, DType::boolean));
  QUERN_TRY(c.want_same_dtype(1, 2));
  return infer_broadcast(c, c.dtype(1));
}

}  // namespace

const OpDef& Where::def() {
  static constexpr OpDef def{.name = "Where",
                             .inputs = {3, 3},
                             .outputs = {1, 1},
                             .traits = OpTrait::elementwise,
                             .infer = infer_where,
                             .attributes = &op_struct<Where>};
  return def;
}

}  // namespace quern
