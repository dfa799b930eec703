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

Status check_mask(const InferContext& c, const Dims& scores) {
  if (!c.dims(3)) return {};
  const auto both = broadcast(scores, *c.dims(3));
  if (both && meet(*both, scores)) return {};
  return c.error(
      cat(c.describe(3), " does not broadcast to ", type_text(ValueType(DType::f32, scores))));
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
  if (heads.known() && key_heads.known() &&
      (key_heads.is(0) ? !heads.is(0) : heads.value() % key_heads.value() != 0))
    return c.error(
        cat(heads.value(), " heads are no multiple of ", key_heads.value(), " key heads"));
  const auto leading = [&](const Dims& d) { return Dims(d.begin(), d.end() - 3); };
  auto y = broadcast(leading(*q), leading(*k));
  if (y) y = broadcast(*y, leading(*v));
  if (!y) return c.error("query, key and value differ in the leading dimensions");
  y->insert(y->end(), {heads, (*q)[rank - 2], keys});
  QUERN_TRY(check_mask(c, *y));
  y->back() = v->back();
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

}  // namespace

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
