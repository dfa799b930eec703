// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/data_dependent.h"

#include <algorithm>
#include <numeric>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

// ---- compress

Dim smaller(Dim a, Dim b) {
  if (!a.known() || !b.known()) return a.known() ? a : b;
  return std::min(a.value(), b.value());
}

// At most as many as if every condition were true.
Status infer_with_compress(InferContext& c, DataSize size) {
  QUERN_TRY(c.want_dtype(1, DType::boolean));
  QUERN_TRY(want_rank(c, 1, 1));
  const Dims* x = c.dims(0);
  const auto& op = c.op<Compress>();
  if (!x) {
    c.set(0, c.dtype(0), op.axis ? std::nullopt : std::optional(Dims(1)));
    return {};
  }
  Dims out = op.axis ? *x : Dims{product(*x)};
  std::size_t axis = 0;
  if (op.axis) {
    QUERN_ASSIGN(axis, c.axis(*op.axis, x->size()));
  }
  const Dim conditions = c.dims(1) ? c.dims(1)->front() : Dim();
  out[axis] = size == DataSize::at_most ? smaller(out[axis], conditions) : Dim();
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status infer_compress(InferContext& c) {
  return infer_with_compress(c, DataSize::unknown);
}

Status bound_compress(InferContext& c) {
  return infer_with_compress(c, DataSize::at_most);
}

// ---- non_max_suppression

Status check(const InferContext& c) {
  for (std::size_t i : {0, 1, 3, 4}) QUERN_TRY(c.want_dtype(i, DType::f32));
  QUERN_TRY(want_index_dtype(c, 2));
  for (std::size_t i : {0, 1}) QUERN_TRY(want_rank(c, i, 3));
  for (std::size_t i : {2, 3, 4}) QUERN_TRY(want_single(c, i));
  if (c.dims(0) && c.dims(0)->back().known() && !c.dims(0)->back().is(4))
    return c.error(cat(c.describe(0), " must hold 4 numbers a box"));
  if (!c.dims(0) || !c.dims(1)) return {};
  const Dims& boxes = *c.dims(0);
  const Dims& scores = *c.dims(1);
  if (!meet({boxes[0], boxes[1]}, {scores[0], scores[2]}))
    return c.error(cat(c.describe(0), " and ", c.describe(1), " differ in batch or boxes"));
  return {};
}

Status infer_non_max_suppression(InferContext& c) {
  QUERN_TRY(check(c));
  c.set(0, DType::i64, Dims{Dim(), 3});
  return {};
}

Status bound_non_max_suppression(InferContext& c) {
  QUERN_TRY(check(c));
  Dim n;
  if (const Dims* scores = c.dims(1)) {
    Dim per_class = (*scores)[2];
    const auto most = c.ints(2);
    if (!c.has(2)) per_class = 0;
    if (most && most->size() == 1 && per_class.known())
      per_class = std::clamp<std::int64_t>(most->front(), 0, per_class.value());
    n = (*scores)[0] * (*scores)[1] * per_class;
  }
  c.set(0, DType::i64, Dims{n, 3});
  return {};
}

// ---- non_zero

void set_output(InferContext& c, Dim n) {
  Dim rank;
  if (c.dims(0)) rank = static_cast<std::int64_t>(c.dims(0)->size());
  c.set(0, DType::i64, Dims{rank, n});
}

Status infer_non_zero(InferContext& c) {
  set_output(c, Dim());
  return {};
}

Status bound_non_zero(InferContext& c) {
  set_output(c, c.dims(0) ? product(*c.dims(0)) : Dim());
  return {};
}

// ---- time_warping

Status infer_with_path(InferContext& c, DataSize size) {
  QUERN_TRY(c.want_dtype(0, DType::f32));
  const Dims* x = c.dims(0);
  if (x && x->size() != 2 && (x->size() != 3 || (x->front().known() && !x->front().is(1))))
    return c.error(cat(c.describe(0), " must be [m,n] or [1,m,n]"));
  Dim length;
  if (x && size == DataSize::at_most) {
    const Dim rows = (*x)[x->size() - 2], columns = x->back();
    length = rows.is(0) || columns.is(0) ? Dim(0) : rows + columns;
  }
  c.set(0, DType::i32, Dims{2, length});
  return {};
}

Status infer_time_warping(InferContext& c) {
  return infer_with_path(c, DataSize::unknown);
}

Status bound_time_warping(InferContext& c) {
  return infer_with_path(c, DataSize::at_most);
}

// ---- top_k

Status infer_top_k(InferContext& c) {
  const bool ok = visit_dtype(c.dtype(0), []<class T>(TypeTag<T>) { return is_number_type<T>; });
  if (!ok) return c.error(cat(c.describe(0), " must be of numbers"));
  QUERN_TRY(want_single(c, 1));
  QUERN_ASSIGN(const ListOperand list, list_operand(c, 1));
  std::optional<Dims> dims;
  if (c.dims(0)) {
    dims = *c.dims(0);
    QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<TopK>().axis, dims->size()));
    Dim& d = (*dims)[axis];
    Dim k;
    if (list.values && list.values->size() == 1) {
      const std::int64_t v = list.values->front();
      if (v < 0 || (d.known() && v > d.value()))
        return c.error(
            cat("k is ", v, ", axis ", axis, " of ", c.describe(0), " does not have it"));
      k = v;
    }
    d = k;
  }
  if (c.output_count() > 1) c.set(1, DType::i64, dims);
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

// ---- unique

// Along an axis, or over all elements in row-major order.
Result<std::optional<std::size_t>> axis_of(const InferContext& c) {
  const auto& axis = c.op<Unique>().axis;
  if (!axis || !c.dims(0)) return std::optional<std::size_t>();
  QUERN_ASSIGN(const std::size_t a, c.axis(*axis, c.dims(0)->size()));
  return std::optional(a);
}

// At most as many different ones as there are.
Status infer_with_unique(InferContext& c, DataSize size) {
  QUERN_ASSIGN(const auto axis, axis_of(c));
  const Dims* x = c.dims(0);
  const bool flat = !c.op<Unique>().axis;
  const Dim all = !x ? Dim() : flat ? product(*x) : (*x)[*axis];
  const Dim different = size == DataSize::at_most ? all : Dim();
  std::optional<Dims> values;
  if (flat) {
    values = Dims{different};
  } else if (x) {
    values = *x;
    (*values)[*axis] = different;
  }
  c.set(0, c.dtype(0), std::move(values));
  for (std::size_t i = 1; i < c.output_count(); ++i)
    c.set(i, DType::i64, Dims{i == 2 ? all : different});
  return {};
}

Status infer_unique(InferContext& c) {
  return infer_with_unique(c, DataSize::unknown);
}

Status bound_unique(InferContext& c) {
  return infer_with_unique(c, DataSize::at_most);
}

}  // namespace

const OpDef& Compress::def() {
  static constexpr OpDef def{.name = "Compress",
                             .inputs = {2, 2},
                             .traits = OpTrait::data_dependent,
                             .infer = infer_compress,
                             .bound = bound_compress,
                             .attributes = &op_struct<Compress>};
  return def;
}

const OpDef& NonMaxSuppression::def() {
  static constexpr OpDef def{.name = "NonMaxSuppression",
                             .inputs = {2, 5},
                             .traits = OpTrait::data_dependent,
                             .infer = infer_non_max_suppression,
                             .bound = bound_non_max_suppression,
                             .attributes = &op_struct<NonMaxSuppression>};
  return def;
}

const OpDef& NonZero::def() {
  static constexpr OpDef def{.name = "NonZero",
                             .traits = OpTrait::data_dependent,
                             .infer = infer_non_zero,
                             .bound = bound_non_zero,
                             .attributes = &op_struct<NonZero>,
                             .onnx = {"NonZero", 9}};
  return def;
}

const OpDef& TimeWarping::def() {
  static constexpr OpDef def{.name = "TimeWarping",
                             .traits = OpTrait::data_dependent,
                             .infer = infer_time_warping,
                             .bound = bound_time_warping,
                             .attributes = &op_struct<TimeWarping>};
  return def;
}

const OpDef& TopK::def() {
  static constexpr OpDef def{.name = "TopK",
                             .inputs = {2, 2},
                             .outputs = {1, 2},
                             .plan_operands = 1u << 1,
                             .infer = infer_top_k,
                             .attributes = &op_struct<TopK>};
  return def;
}

const OpDef& Unique::def() {
  static constexpr OpDef def{.name = "Unique",
                             .outputs = {1, 4},
                             .traits = OpTrait::data_dependent,
                             .infer = infer_unique,
                             .bound = bound_unique,
                             .attributes = &op_struct<Unique>};
  return def;
}

}  // namespace quern
