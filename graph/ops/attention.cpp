// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/attention.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/einsum_equation.h"
#include "graph/ops/infer.h"
#include "graph/ops/products.h"
#include "graph/text.h"

namespace quern {
namespace {

Status check_types(const InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(c.want_same_dtype(0, 1));
  QUERN_TRY(c.want_same_dtype(0, 2));
  return c.has(3) && c.dtype(3) == DType::boolean ? Status() : want_floats(c, 3);
}

// Refuses two numbers that differ; `what` says which dimension they are.
Status want_equal(const InferContext& c, Dim a, Dim b, std::string_view what) {
  if (!a.known() || !b.known() || a == b) return {};
  return c.error(cat(what, " is ", a.value(), " in one operand and ", b.value(), " in another"));
}

// Input i is added to scores of these dimensions.
Status check_mask(const InferContext& c, std::size_t i, const Dims& scores) {
  if (!c.dims(i)) return {};
  const auto both = broadcast(scores, *c.dims(i));
  if (both && meet(*both, scores)) return {};
  return c.error(
      cat(c.describe(i), " does not broadcast to ", type_text(ValueType(DType::f32, scores))));
}

Status check_groups(const InferContext& c, Dim heads, Dim key_heads) {
  if (!heads.known() || !key_heads.known()) return {};
  if (key_heads.is(0) ? heads.is(0) : heads.value() % key_heads.value() == 0) return {};
  return c.error(cat(heads.value(), " heads are no multiple of ", key_heads.value(), " key heads"));
}

Status infer_attention(InferContext& c) {
  QUERN_TRY(check_types(c));
  const Dims* q = c.dims(0);
  const Dims* k = c.dims(1);
  const Dims* v = c.dims(2);
  if (!q || !k || !v) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  const std::size_t rank = q->size();
  if (rank < 3 || k->size() != rank || v->size() != rank)
    return c.error("query, key and value must have one rank, at least 3");
  const bool turned = c.op<Attention>().k_transposed;
  const Dim keys = (*k)[rank - (turned ? 1 : 2)];
  const Dim heads = (*q)[rank - 3];
  const Dim key_heads = (*k)[rank - 3];
  QUERN_TRY(want_equal(c, (*q)[rank - 1], (*k)[rank - (turned ? 2 : 1)], "width"));
  QUERN_TRY(want_equal(c, keys, (*v)[rank - 2], "number of keys"));
  QUERN_TRY(want_equal(c, key_heads, (*v)[rank - 3], "number of key heads"));
  QUERN_TRY(check_groups(c, heads, key_heads));
  const auto leading = [&](const Dims& d) { return Dims(d.begin(), d.end() - 3); };
  auto y = broadcast(leading(*q), leading(*k));
  if (y) y = broadcast(*y, leading(*v));
  if (!y) return c.error("query, key and value differ in the leading dimensions");
  y->insert(y->end(), {heads, (*q)[rank - 2], keys});
  QUERN_TRY(check_mask(c, 3, *y));
  y->back() = v->back();
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- caches

Status want_before(const InferContext& c, std::size_t i, Dim batch) {
  QUERN_TRY(c.want_dtype(i, DType::i64));
  QUERN_TRY(want_rank(c, i, 1));
  return c.dims(i) ? want_equal(c, (*c.dims(i))[0], batch, "number of sequences") : Status();
}

Status infer_cache_append(InferContext& c) {
  QUERN_TRY(c.want_same_dtype(0, 1));
  for (std::size_t i : {0, 1}) QUERN_TRY(want_rank(c, i, 4));
  QUERN_TRY(want_single(c, 3));
  QUERN_ASSIGN(const std::optional<std::int64_t> length, int_operand(c, 3));
  if (length && *length < 0) return c.error(cat("a cache of ", *length, " rows"));
  const Dims* past = c.dims(0);
  const Dims* rows = c.dims(1);
  QUERN_TRY(want_before(c, 2, past ? (*past)[0] : Dim()));
  if (!past && !rows) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  Dims y = past ? *past : *rows;
  for (std::size_t d : {0, 1, 3}) {
    if (!past || !rows) continue;
    QUERN_TRY(want_equal(c, (*past)[d], (*rows)[d],
                         d == 0   ? "number of sequences"
                         : d == 1 ? "number of heads"
                                  : "width"));
    if (!y[d].known()) y[d] = (*rows)[d];
  }
  y[2] = length ? Dim(*length) : Dim();
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

Status check_cached_types(const InferContext& c) {
  for (std::size_t i : {0, 1}) QUERN_TRY(want_floats(c, i));
  QUERN_TRY(c.want_same_dtype(1, 2));
  const bool is_16bit = c.dtype(1) == DType::f16 || c.dtype(1) == DType::bf16;
  if (!is_16bit || c.dtype(0) != DType::f32) QUERN_TRY(c.want_same_dtype(0, 1));
  for (std::size_t i : {4, 5})
    if (c.has(i)) QUERN_TRY(c.want_same_dtype(0, i));
  for (std::size_t i : {0, 1, 2}) QUERN_TRY(want_rank(c, i, 4));
  return {};
}

Status check_cached_attributes(const InferContext& c) {
  const auto& op = c.op<CachedAttention>();
  if (op.window < 0) return c.error(cat("a window of ", op.window, " keys"));
  if (!(op.softcap >= 0)) return c.error(cat("softcap = ", op.softcap, ", wants 0 or more"));
  return {};
}

Status infer_cached_attention(InferContext& c) {
  QUERN_TRY(check_cached_attributes(c));
  QUERN_TRY(check_cached_types(c));
  const Dims* q = c.dims(0);
  const Dims* k = c.dims(1);
  const Dims* v = c.dims(2);
  if (!q || !k || !v) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  QUERN_TRY(want_before(c, 3, (*q)[0]));
  for (const Dims* d : {k, v}) QUERN_TRY(want_equal(c, (*q)[0], (*d)[0], "number of sequences"));
  QUERN_TRY(want_equal(c, (*q)[3], (*k)[3], "width"));
  QUERN_TRY(want_equal(c, (*k)[2], (*v)[2], "number of keys"));
  QUERN_TRY(want_equal(c, (*k)[1], (*v)[1], "number of key heads"));
  QUERN_TRY(check_groups(c, (*q)[1], (*k)[1]));
  Dims y = {(*q)[0], (*q)[1], (*q)[2], (*k)[2]};
  QUERN_TRY(check_mask(c, 4, y));
  if (c.has(5)) QUERN_TRY(want_rank(c, 5, 1));
  if (c.dims(5)) QUERN_TRY(want_equal(c, (*c.dims(5))[0], y[1], "number of heads"));
  y[3] = (*v)[3];
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

}  // namespace

const OpDef& CacheAppend::def() {
  static constexpr OpDef def{.name = "CacheAppend",
                             .inputs = {4, 4},
                             .outputs = {1, 1},
                             .plan_operands = 1U << 3,
                             .infer = infer_cache_append,
                             .attributes = &op_struct<CacheAppend>};
  return def;
}

const OpDef& CachedAttention::def() {
  static constexpr OpDef def{.name = "CachedAttention",
                             .inputs = {4, 6},
                             .outputs = {1, 1},
                             .traits = OpTrait::flushes_denormals,
                             .infer = infer_cached_attention,
                             .attributes = &op_struct<CachedAttention>};
  return def;
}

const OpDef& Attention::def() {
  static constexpr OpDef def{.name = "Attention",
                             .inputs = {3, 4},
                             .outputs = {1, 1},
                             .traits = OpTrait::flushes_denormals,
                             .infer = infer_attention,
                             .attributes = &op_struct<Attention>};
  return def;
}

}  // namespace quern
