// SPDX-License-Identifier: Apache-2.0
#include "graph/op_def.h"

#include "engine/vocabulary/text_util.h"
#include "graph/text.h"

namespace quern {

std::optional<Ints> int_elements(const Tensor& t) {
  Ints out;
  if (t.dtype() == DType::i64) {
    for (std::size_t i = 0; i < t.span<std::int64_t>().size(); ++i) {
      std::int64_t v = 0;  // the bytes may be unaligned: they can lie in a mapped file
      __builtin_memcpy(&v, t.data() + i * sizeof v, sizeof v);
      out.push_back(v);
    }
  } else if (t.dtype() == DType::i32) {
    for (std::size_t i = 0; i < t.span<std::int32_t>().size(); ++i) {
      std::int32_t v = 0;
      __builtin_memcpy(&v, t.data() + i * sizeof v, sizeof v);
      out.push_back(v);
    }
  } else {
    return std::nullopt;
  }
  return out;
}

std::optional<Ints> InferContext::ints(std::size_t i) const {
  const Tensor* t = value(i);
  return t ? int_elements(*t) : std::nullopt;
}

Status InferContext::error(std::string_view message) const {
  return {Code::invalid_model,
          cat("node '", printable(node_name_), "' (", op_name_, "): ", message)};
}

Status InferContext::unsupported(std::string_view message) const {
  return {Code::unsupported, cat("node '", printable(node_name_), "' (", op_name_, "): ", message)};
}

std::string InferContext::describe(std::size_t i) const {
  return cat("input ", i, has(i) ? cat(" (", type_text(type(i)), ")") : std::string(" (absent)"));
}

Result<std::size_t> InferContext::axis(std::int64_t axis, std::size_t rank) const {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) return error(cat("axis ", axis, " is outside of rank ", rank));
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

Status InferContext::want_dtype(std::size_t i, DType wanted) const {
  if (!has(i) || dtype(i) == wanted) return {};
  return error(cat(describe(i), " must be ", name_of(wanted)));
}

Status InferContext::want_same_dtype(std::size_t i, std::size_t j) const {
  if (!has(i) || !has(j) || dtype(i) == dtype(j)) return {};
  return error(cat(describe(i), " and ", describe(j), " must have one element type"));
}

}  // namespace quern
