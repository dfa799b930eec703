// SPDX-License-Identifier: Apache-2.0
// Shape inference that several families share.
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

// Output 0 is input 0's type.
Status infer_like_input(InferContext& c);
// Output 0: `dtype`, of the shape that all inputs broadcast to.
Status infer_broadcast(InferContext& c, DType dtype);
// The axes in input `i`, made non-negative and checked to be distinct; nothing while unknown, or
// the input is absent (`has(i)` tells which).
Result<std::optional<std::vector<std::size_t>>> axes_operand(const InferContext& c, std::size_t i,
                                                             std::size_t rank);

// What is said of a size that depends on data: nothing, or the most that it can be (OpDef::bound).
enum class DataSize : std::uint8_t { unknown, at_most };

// Refuses an input that is known not to be of f32, f64, f16 or bf16.
Status want_floats(const InferContext& c, std::size_t i);
// The one integer in input `i` (i32 or i64, one element); nothing while unknown or absent.
Result<std::optional<std::int64_t>> int_operand(const InferContext& c, std::size_t i);

// ---- lists and single elements

// An operand that is a list of integers (a scalar counts as a list of one).
struct ListOperand {
  std::optional<Ints> values;          // nothing: absent, or not known yet
  std::optional<std::int64_t> length;  // may be known before the values are
};
// Checks that input i, if there, is i32 or i64 and of rank 0 or 1.
Result<ListOperand> list_operand(const InferContext& c, std::size_t i);
// The same for a list with an entry per dimension of a result: at most Shape::max_rank long.
Result<ListOperand> shape_operand(const InferContext& c, std::size_t i);
// Of structural ops: the others get nothing but tensors.
Status want_tensor(const InferContext& c, std::size_t i);
Status want_index_dtype(const InferContext& c, std::size_t i);
// Refuses input i when it is known not to have exactly one element.
Status want_single(const InferContext& c, std::size_t i);
Status want_rank(const InferContext& c, std::size_t i, std::size_t rank);
// Refuses a result of more dimensions than a Shape has.
Status check_result_rank(const InferContext& c, std::size_t rank);
// "[4,-1]"
std::string list_text(const Ints& values);
// What holds of both: dimensions that differ are unknown, and so is the rank if the ranks differ.
std::optional<Dims> generalise(const std::optional<Dims>& a, const std::optional<Dims>& b);

// Element i of a constant; its bytes may be unaligned.
template <class T>
T element_of(const Tensor& t, std::size_t i = 0) {
  T v;
  std::memcpy(&v, t.data() + i * sizeof v, sizeof v);
  return v;
}
// Element i as i64, whatever number it is.
std::int64_t number_at(DType dtype, const std::byte* data, std::int64_t i);

// ---- quantised operands

constexpr bool is_8bit(DType t) {
  return t == DType::i8 || t == DType::u8;
}
inline Status want_8bit(const InferContext& c, std::size_t i) {
  if (!c.has(i) || is_8bit(c.dtype(i))) return {};
  return c.error(cat(c.describe(i), " must be of i8 or u8"));
}
// Not known to have any other number of elements than one.
inline bool may_be_one_element(const Dims& d) {
  return std::all_of(d.begin(), d.end(), [](Dim n) { return !n.known() || n.is(1); });
}
// One element (a scalar or a list of one), or with `length` also a list of that many.
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
