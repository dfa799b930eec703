// SPDX-License-Identifier: Apache-2.0
// Shape inference helpers shared by several families.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/op_def.h"

namespace quern {

// Output 0 has the type of input 0.
Status infer_like_input(InferContext& c);
// Output 0 has element type `dtype` and the shape that all inputs broadcast to.
Status infer_broadcast(InferContext& c, DType dtype);
// The axes in input `i`, made non-negative and checked to be distinct; nullopt if they are unknown
// or the input is absent (`has(i)` tells which).
Result<std::optional<std::vector<std::size_t>>> axes_operand(const InferContext& c, std::size_t i,
                                                             std::size_t rank);

// The inferred value of a size that depends on data: unknown, or its upper bound (OpDef::bound).
enum class DataSize : std::uint8_t { unknown, at_most };

// Rejects an input that is known not to be f32, f64, f16 or bf16.
Status want_floats(const InferContext& c, std::size_t i);
// The single integer in input `i` (i32 or i64, one element); nullopt if unknown or absent.
Result<std::optional<std::int64_t>> int_operand(const InferContext& c, std::size_t i);

// ---- lists and single elements

// An operand that is a list of integers (a scalar counts as a list of one).
struct ListOperand {
  std::optional<Ints> values;          // nullopt: absent, or not known yet
  std::optional<std::int64_t> length;  // may be known before the values are
};
// Checks that input i, if there, is i32 or i64 and of rank 0 or 1.
Result<ListOperand> list_operand(const InferContext& c, std::size_t i);
// The same for a list with an entry per dimension of a result: at most Shape::max_rank long.
Result<ListOperand> shape_operand(const InferContext& c, std::size_t i);
// For structural ops; the other ops only ever get tensors.
Status want_tensor(const InferContext& c, std::size_t i);
Status want_index_dtype(const InferContext& c, std::size_t i);
// Rejects input i if it is known not to have exactly one element.
Status want_single(const InferContext& c, std::size_t i);
Status want_rank(const InferContext& c, std::size_t i, std::size_t rank);
// Rejects a result with more dimensions than a Shape can have.
Status check_result_rank(const InferContext& c, std::size_t rank);
// "[4,-1]"
std::string list_text(const Ints& values);
// The most precise dimensions that hold for both: dimensions that differ become unknown, and so
// does the rank if the ranks differ.
std::optional<Dims> generalise(const std::optional<Dims>& a, const std::optional<Dims>& b);

// Element i of a constant; its bytes may be unaligned.
template <class T>
T element_of(const Tensor& t, std::size_t i = 0) {
  T v;
  std::memcpy(&v, t.data() + i * sizeof v, sizeof v);
  return v;
}
// Element i converted to i64, for any number type.
std::int64_t number_at(DType dtype, const std::byte* data, std::int64_t i);

// ---- quantised operands

constexpr bool is_8bit(DType t) {
  return t == DType::i8 || t == DType::u8;
}
inline Status want_8bit(const InferContext& c, std::size_t i) {
  if (!c.has(i) || is_8bit(c.dtype(i))) return {};
  return c.error(cat(c.describe(i), " must be of i8 or u8"));
}
// False if the number of elements is known to differ from one.
inline bool may_be_one_element(const Dims& d) {
  return std::all_of(d.begin(), d.end(), [](Dim n) { return !n.known() || n.is(1); });
}
// Accepts one element (a scalar or a list of one) and, if `length` is given, a list of that length.
inline Status want_parameter(const InferContext& c, std::size_t i, const Dim* length = nullptr) {
  const Dims* d = c.dims(i);
  if (!d || (d->size() <= 1 && may_be_one_element(*d))) return {};
  if (length && d->size() == 1 && meet(*d, {*length})) return {};
  return c.error(cat(c.describe(i), " must be a scalar",
                     length && length->known() ? cat(" or a list of ", length->value())
                     : length                  ? std::string(" or a list")
                                               : std::string()));
}

}  // namespace quern
