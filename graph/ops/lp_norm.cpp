// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/lp_norm.h"

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

Status infer_lp_norm(InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  const auto& op = c.op<LpNorm>();
  if (op.p != 1 && op.p != 2) return c.error(cat("p is ", op.p, ", wants 1 or 2"));
  if (c.dims(0)) QUERN_TRY(c.axis(op.axis, c.dims(0)->size()).status());
  return infer_like_input(c);
}

Status infer_lrn(InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  const auto& op = c.op<Lrn>();
  if (op.size < 1) return c.error(cat("size is ", op.size, ", wants at least 1"));
  if (c.dims(0) && c.dims(0)->size() < 2)
    return c.error(cat(c.describe(0), " must have batch and channels"));
  return infer_like_input(c);
}

}  // namespace

const OpDef& LpNorm::def() {
  static constexpr OpDef def{.name = "LpNorm",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .traits = OpTrait::flushes_denormals,
                             .infer = infer_lp_norm,
                             .attributes = &op_struct<LpNorm>};
  return def;
}

const OpDef& Lrn::def() {
  static constexpr OpDef def{.name = "Lrn",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .traits = OpTrait::flushes_denormals,
                             .infer = infer_lrn,
                             .attributes = &op_struct<Lrn>};
  return def;
}

}  // namespace quern
