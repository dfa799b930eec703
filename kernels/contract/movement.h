// SPDX-License-Identifier: Apache-2.0
// Helpers for operators that move elements: indices read from data, and strided copies.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "graph/numeric.h"
#include "graph/reference.h"
#include "kernels/contract/iterate.h"

namespace quern {

enum class PadMode : std::uint8_t;

// Element i of an i32 or i64 tensor.
inline std::int64_t index_at(const TensorView& t, std::int64_t i) {
  return t.type.dtype == DType::i32 ? t.as<std::int32_t>()[i] : t.as<std::int64_t>()[i];
}
// `index`, counted from the end if negative; -1 if it is outside [-size, size).
inline std::int64_t wrapped_index(std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) return -1;
  return index < 0 ? index + size : index;
}
Status index_error(std::int64_t index, std::int64_t size);

// The type for reading bool as a number: as u8, a byte that is neither 0 nor 1 does no harm.
inline DType stored_as(DType dtype) {
  return dtype == DType::boolean ? DType::u8 : dtype;
}
// a < b for the elements of any type, with NaN as the greatest and equal to itself: a strict weak
// ordering. Strings by their bytes.
template <class T>
bool ordered_less(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, StringRef>) {
    return a.view() < b.view();
  } else if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else if constexpr (std::is_convertible_v<T, float> && !std::is_same_v<T, double>) {
    const float x = a, y = b;
    return x < y || (std::isnan(y) && !std::isnan(x));
  } else {
    return a < b || (std::isnan(b) && !std::isnan(a));
  }
}

// Calls f(std::integral_constant<std::size_t, size>) for the size of an element, so that copying
// one is a single move: elements of any type are copied as bytes.
template <class F>
void visit_element_size(std::size_t size, F&& f) {
  switch (size) {
    case 1: return f(std::integral_constant<std::size_t, 1>{});
    case 2: return f(std::integral_constant<std::size_t, 2>{});
    case 4: return f(std::integral_constant<std::size_t, 4>{});
    case 8: return f(std::integral_constant<std::size_t, 8>{});
    default: return f(std::integral_constant<std::size_t, sizeof(StringRef)>{});
  }
}

// ---- until `check` ends them

// Writes `shape` dense to dst; the element at an index comes from src + index . strides (which may
// be zero or negative), in elements of `size` bytes.
void copy_strided(std::size_t size, const Shape& shape, const Shape& strides, const std::byte* src,
                  std::byte* dst, StopCheck& check);
// Writes the element of `size` bytes at `value` n times to dst.
void fill(std::size_t size, const std::byte* value, std::int64_t n, std::byte* dst,
          StopCheck& check);
// Copies as std::memcpy, zeroes as std::memset.
void copy_bytes(const std::byte* src, std::size_t n, std::byte* dst, StopCheck& check);
void zero_bytes(std::size_t n, std::byte* dst, StopCheck& check);

// The index of the element that a Pad by edge, reflection or wrapping has at position `at` relative
// to the first of the n that it keeps, at least 1; -1 if that is the padding value.
std::int64_t pad_source(PadMode mode, std::int64_t at, std::int64_t n);

// The reference of views: output 0 gets the bytes of input 0.
Status copy_reference(const ReferenceCall& call);

}  // namespace quern
