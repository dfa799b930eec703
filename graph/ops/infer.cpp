// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/infer.h"

#include <algorithm>
#include <cstring>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/text.h"

namespace quern {

Status infer_like_input(InferContext& c) {
  c.set(0, c.type(0));
  return {};
}

Status infer_broadcast(InferContext& c, DType dtype) {
  std::optional<Dims> dims = Dims();
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has(i)) continue;
    if (!c.dims(i)) {
      c.set(0, dtype, std::nullopt);
      return {};
    }
    const auto wider = broadcast(*dims, *c.dims(i));
    if (!wider)
      return c.error(
          cat(c.describe(i), " does not broadcast with ", type_text(ValueType(dtype, dims))));
    dims = wider;
  }
  c.set(0, dtype, std::move(dims));
  return {};
}

Result<std::optional<std::vector<std::size_t>>> axes_operand(const InferContext& c, std::size_t i,
                                                             std::size_t rank) {
  using Axes = std::optional<std::vector<std::size_t>>;
  const auto values = c.ints(i);
  if (!values) return Axes();
  std::vector<std::size_t> axes;
  for (std::int64_t v : *values) {
    QUERN_ASSIGN(const std::size_t axis, c.axis(v, rank));
    if (std::find(axes.begin(), axes.end(), axis) != axes.end())
      return c.error(cat("axis ", v, " is given twice"));
    axes.push_back(axis);
  }
  return Axes(std::move(axes));
}

Status want_floats(const InferContext& c, std::size_t i) {
  if (!c.has(i) || is_number_float(c.dtype(i))) return {};
  return c.error(cat(c.describe(i), " must be of f32, f64, f16 or bf16"));
}

Result<std::optional<std::int64_t>> int_operand(const InferContext& c, std::size_t i) {
  if (!c.has(i)) return std::optional<std::int64_t>();
  const Dims* dims = c.dims(i);
  const Dim elements = dims ? product(*dims) : Dim();
  if ((c.dtype(i) != DType::i64 && c.dtype(i) != DType::i32) ||
      (elements.known() && !elements.is(1)))
    return c.error(cat(c.describe(i), " must be one integer of i64 or i32"));
  const auto values = c.ints(i);
  return values && !values->empty() ? std::optional(values->front()) : std::nullopt;
}

// ---- lists and single elements ------------------------------------------------------------------

Status want_index_dtype(const InferContext& c, std::size_t i) {
  if (!c.has(i) || c.dtype(i) == DType::i64 || c.dtype(i) == DType::i32) return {};
  return c.error(cat(c.describe(i), " must be i64 or i32"));
}

Status want_tensor(const InferContext& c, std::size_t i) {
  if (!c.has(i) || c.type(i).is_tensor()) return {};
  return c.error(cat(c.describe(i), " must be a tensor"));
}

Status want_single(const InferContext& c, std::size_t i) {
  QUERN_TRY(want_tensor(c, i));
  if (!c.dims(i)) return {};
  const Dim n = product(*c.dims(i));
  if (!n.known() || n.is(1)) return {};
  return c.error(cat(c.describe(i), " must have one element"));
}

Status want_rank(const InferContext& c, std::size_t i, std::size_t rank) {
  if (!c.dims(i) || c.dims(i)->size() == rank) return {};
  return c.error(cat(c.describe(i), " must have rank ", rank));
}

Status check_result_rank(const InferContext& c, std::size_t rank) {
  if (rank <= Shape::max_rank) return {};
  return c.unsupported(
      cat("the result has rank ", rank, ", ranks above ", Shape::max_rank, " are not supported"));
}

Result<ListOperand> list_operand(const InferContext& c, std::size_t i) {
  ListOperand list;
  if (!c.has(i)) return list;
  QUERN_TRY(want_tensor(c, i));
  QUERN_TRY(want_index_dtype(c, i));
  if (const Dims* dims = c.dims(i)) {
    if (dims->size() > 1) return c.error(cat(c.describe(i), " must be a list"));
    const Dim n = product(*dims);
    if (n.known()) list.length = n.value();
  }
  list.values = c.ints(i);
  if (list.values) list.length = static_cast<std::int64_t>(list.values->size());
  return list;
}

Result<ListOperand> shape_operand(const InferContext& c, std::size_t i) {
  QUERN_ASSIGN(ListOperand list, list_operand(c, i));
  if (list.length) QUERN_TRY(check_result_rank(c, static_cast<std::size_t>(*list.length)));
  return list;
}

std::string list_text(const Ints& values) {
  std::string s = "[";
  for (std::size_t i = 0; i < values.size(); ++i) s += cat(i ? "," : "", values[i]);
  return s + "]";
}

std::optional<Dims> generalise(const std::optional<Dims>& a, const std::optional<Dims>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Dims out = *a;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!out[i].same((*b)[i])) out[i] = Dim();
  return out;
}

std::int64_t number_at(DType dtype, const std::byte* data, std::int64_t i) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> std::int64_t {
    if constexpr (is_number_type<T>) {
      T v;
      std::memcpy(&v, data + static_cast<std::size_t>(i) * sizeof v, sizeof v);
      return convert<std::int64_t>(static_cast<ComputeType<T>>(v));
    }
    return 0;
  });
}

}  // namespace quern
