// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/matmul.h"

#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/products.h"

namespace quern {
namespace {

bool takes(DType t) {
  return is_number_float(t) || t == DType::i32 || t == DType::i64 || t == DType::u32 ||
         t == DType::u64;
}

Status infer_matmul(InferContext& c) {
  const auto& op = c.op<MatMul>();
  if (!takes(c.dtype(0)))
    return c.error(cat(c.describe(0), " must be of floats or of 32 or 64-bit integers"));
  QUERN_TRY(c.want_same_dtype(0, 1));
  QUERN_ASSIGN(auto dims, infer_product(c, 0, 1, transposed_in(op)));
  if (op.f32_result) QUERN_TRY(want_16bit_for_f32(c));
  c.set(0, op.f32_result ? DType::f32 : c.dtype(0), std::move(dims));
  return {};
}

}  // namespace

const OpDef& MatMul::def() {
  static constexpr OpDef def{.name = "MatMul",
                             .inputs = {2, 2},
                             .outputs = {1, 1},
                             .traits = OpTrait::post_ops | OpTrait::flushes_denormals,
                             .infer = infer_matmul,
                             .attributes = &op_struct<MatMul>};
  return def;
}

}  // namespace quern
