// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/einsum_equation.h"
#include "graph/ops/infer.h"
#include "graph/ops/products.h"
#include "graph/text.h"

namespace quern {
namespace {

// ---- attention

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

// ---- det, inverse

// Refuses an operand that is known to hold anything but square matrices of floats.
Status want_square_matrices(const InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  const Dims* x = c.dims(0);
  if (!x) return {};
  const std::size_t rank = x->size();
  const bool square = rank >= 2 && (!(*x)[rank - 1].known() || !(*x)[rank - 2].known() ||
                                    (*x)[rank - 1] == (*x)[rank - 2]);
  return square ? Status() : c.error(cat(c.describe(0), " must hold square matrices"));
}

Status infer_det(InferContext& c) {
  QUERN_TRY(want_square_matrices(c));
  const Dims* x = c.dims(0);
  c.set(0, c.dtype(0), x ? std::optional(Dims(x->begin(), x->end() - 2)) : std::nullopt);
  return {};
}

Status infer_inverse(InferContext& c) {
  QUERN_TRY(want_square_matrices(c));
  return infer_like_input(c);
}

// ---- einsum

// Records the dimensions of operand i; false if it has an ellipsis of unknown length.
Result<bool> note_operand(const InferContext& c, std::size_t i, const einsum::Term& term,
                          einsum::Occurrences& seen, std::vector<Dims>& sizes) {
  if (!c.dims(i)) {
    for (std::size_t k = 0; k < term.count; ++k) {
      ++seen[term.labels[k]];
      sizes[term.labels[k]] = *broadcast(sizes[term.labels[k]], {Dim()});
    }
    return !term.ellipsis;
  }
  const Dims& x = *c.dims(i);
  if (x.size() > Shape::max_rank || !term.fits(x.size()))
    return c.error(cat(c.describe(i), " does not have the rank of its subscripts"));
  for (std::size_t d = 0; d < x.size(); ++d) {
    const std::size_t id = term.id(d, x.size());
    ++seen[id];
    const auto size = broadcast(sizes[id], {x[d]});
    if (!size)
      return c.error(cat(c.describe(i), " has ", x[d].value(), " in dimension ", d,
                         ", another operand has ", sizes[id][0].value()));
    sizes[id] = *size;
  }
  return true;
}

Status infer_einsum(InferContext& c) {
  const std::string& text = c.op<Einsum>().equation;
  const einsum::Equation equation(text);
  if (!is_number(c.dtype(0))) return c.error(cat(c.describe(0), " must be of numbers"));
  for (std::size_t i = 1; i < c.input_count(); ++i) {
    if (!c.has(i)) return c.error(cat("input ", i, " is left out, but every term has an operand"));
    QUERN_TRY(c.want_same_dtype(0, i));
  }
  if (equation.size() != c.input_count())
    return c.error(cat("equation '", printable(text), "' has ", equation.size(),
                       " operands, the node has ", c.input_count()));
  einsum::Occurrences seen{};
  std::vector<Dims> sizes(einsum::id_count, Dims{1});
  bool ellipsis_known = true;
  bool any_ellipsis = false;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const auto term = einsum::parse_term(equation.operand(i));
    if (!term) return c.error(cat("equation '", printable(text), "' has a malformed operand ", i));
    any_ellipsis |= term->ellipsis.has_value();
    QUERN_ASSIGN(const bool known, note_operand(c, i, *term, seen, sizes));
    ellipsis_known &= known;
  }
  const auto order = einsum::make_order(equation, seen);
  if (!order) return c.error(cat("equation '", printable(text), "' has a malformed output"));
  if (order->outer > Shape::max_rank)
    return c.unsupported(
        cat("equation '", printable(text), "' gives ", order->outer, " dimensions"));
  const bool dots_in_output =
      equation.has_output ? equation.output.find('.') != std::string_view::npos : any_ellipsis;
  if (dots_in_output && !ellipsis_known) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  Dims y;
  for (std::size_t i = 0; i < order->outer; ++i) y.push_back(sizes[order->ids[i]][0]);
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- matmul

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
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

}  // namespace

const OpDef& Attention::def() {
  static constexpr OpDef def{.name = "Attention",
                             .inputs = {3, 4},
                             .outputs = {1, 1},
                             .infer = infer_attention,
                             .attributes = &op_struct<Attention>};
  return def;
}

const OpDef& Det::def() {
  static constexpr OpDef def{.name = "Det",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .infer = infer_det,
                             .attributes = &op_struct<Det>,
                             .onnx = {"Det", 11}};
  return def;
}

const OpDef& Einsum::def() {
  static constexpr OpDef def{.name = "Einsum",
                             .inputs = {1, any_number},
                             .outputs = {1, 1},
                             .infer = infer_einsum,
                             .attributes = &op_struct<Einsum>};
  return def;
}

const OpDef& Inverse::def() {
  static constexpr OpDef def{.name = "Inverse",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .infer = infer_inverse,
                             .attributes = &op_struct<Inverse>,
                             .onnx = {"Inverse", 1, "com.microsoft"}};
  return def;
}

const OpDef& MatMul::def() {
  static constexpr OpDef def{.name = "MatMul",
                             .inputs = {2, 2},
                             .outputs = {1, 1},
                             .traits = OpTrait::post_ops,
                             .infer = infer_matmul,
                             .attributes = &op_struct<MatMul>};
  return def;
}

}  // namespace quern
