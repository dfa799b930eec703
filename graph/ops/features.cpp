// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/features.h"

#include <optional>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

bool is_key_type(DType t) {
  return t == DType::string || t == DType::f32 || t == DType::f64 || is_number_integer(t);
}

Status infer_key_index(InferContext& c) {
  if (!is_key_type(c.dtype(0)))
    return c.error(cat(c.describe(0), " must be of strings, integers, f32 or f64"));
  QUERN_TRY(c.want_same_dtype(0, 1));
  QUERN_TRY(want_rank(c, 1, 1));
  c.set(0, DType::i64, c.dims(0) ? std::optional(*c.dims(0)) : std::nullopt);
  return {};
}

Status infer_squared_distance(InferContext& c) {
  if (c.dtype(0) != DType::f32 && c.dtype(0) != DType::f64)
    return c.error(cat(c.describe(0), " must be of f32 or f64"));
  QUERN_TRY(c.want_same_dtype(0, 1));
  for (std::size_t i = 0; i < 2; ++i) QUERN_TRY(want_rank(c, i, 2));
  const Dims* a = c.dims(0);
  const Dims* b = c.dims(1);
  if (a && b && a->back().known() && b->back().known() && !a->back().same(b->back()))
    return c.error(cat(c.describe(1), " must have as many columns as ", c.describe(0)));
  c.set(0, c.dtype(0), Dims{a ? a->front() : Dim(), b ? b->front() : Dim()});
  return {};
}

Status infer_pairwise_coupling(InferContext& c) {
  constexpr std::int64_t classes_max = 1 << 15;  // so that the pairs and their squares have numbers
  const std::int64_t k = c.op<PairwiseCoupling>().classes;
  if (k < 2 || k > classes_max) return c.error(cat("classes is ", k));
  QUERN_TRY(c.want_dtype(0, DType::f32));
  QUERN_TRY(want_rank(c, 0, 2));
  const Dims* x = c.dims(0);
  if (x && x->back().known() && !x->back().is(k * (k - 1) / 2))
    return c.error(cat(c.describe(0), " must have ", k * (k - 1) / 2,
                       " columns, one for each pair of ", k, " classes"));
  c.set(0, DType::f32, Dims{x ? x->front() : Dim(), k});
  return {};
}

}  // namespace

const OpDef& KeyIndex::def() {
  static constexpr OpDef def{.name = "KeyIndex",
                             .inputs = {2, 2},
                             .infer = infer_key_index,
                             .attributes = &op_struct<KeyIndex>};
  return def;
}

const OpDef& SquaredDistance::def() {
  static constexpr OpDef def{.name = "SquaredDistance",
                             .inputs = {2, 2},
                             .infer = infer_squared_distance,
                             .attributes = &op_struct<SquaredDistance>};
  return def;
}

const OpDef& PairwiseCoupling::def() {
  static constexpr OpDef def{.name = "PairwiseCoupling",
                             .infer = infer_pairwise_coupling,
                             .attributes = &op_struct<PairwiseCoupling>};
  return def;
}

}  // namespace quern
