// SPDX-License-Identifier: Apache-2.0
#include "kernels/movement.h"

#include "graph/text_util.h"

namespace quern {

// ---- inference

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

// ---- references

Status index_error(std::int64_t index, std::int64_t size) {
  return {Code::invalid_argument,
          cat("index ", index, " is outside of a dimension of ", size, " elements")};
}

void copy_strided(std::size_t size, const Shape& shape, const Shape& strides, const std::byte* src,
                  std::byte* dst) {
  visit_element_size(size, [&](auto width) {
    constexpr std::size_t n = decltype(width)::value;
    for_each_offset(shape, std::array<Shape, 1>{strides}, [&](const auto& at) {
      std::memcpy(dst, src + at[0] * static_cast<std::int64_t>(n), n);
      dst += n;
    });
  });
}

void fill(std::size_t size, const std::byte* value, std::int64_t n, std::byte* dst) {
  visit_element_size(size, [&](auto width) {
    constexpr std::size_t bytes = decltype(width)::value;
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(dst + i * std::int64_t{bytes}, value, bytes);
  });
}

Status copy_reference(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  std::byte* dst = call.outputs[0].data;
  if (dst != x.data) std::memcpy(dst, x.data, x.type.bytes());
  return {};
}

}  // namespace quern
