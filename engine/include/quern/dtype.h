// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace quern {

// Element types of a tensor. Types smaller than a byte are stored one element per byte,
// sign-extended if they are signed integers. A `string` element is a StringRef (tensor.h).
enum class DType : std::uint8_t {
  f32,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,  // one byte, 0 or 1
  string,
  i4,
  u4,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f4e2m1,
  f8e8m0,  // a power of two, 2^(byte - 127), or NaN
  i2,
  u2,
};
inline constexpr std::size_t dtype_count = 24;

// Bytes that one element takes in a buffer.
std::size_t size_of(DType dtype) noexcept;
// Bits that tell an element: 4 or 2 for the types smaller than a byte, else 8 * size_of().
std::size_t bits_of(DType dtype) noexcept;
// "f32", "i64", "bool", ...
std::string_view name_of(DType dtype) noexcept;
// The inverse of name_of(); nullopt for an unknown name.
std::optional<DType> dtype_from_name(std::string_view name) noexcept;

bool is_float(DType dtype) noexcept;     // f32 f64 f16 bf16 and the floats of 8 and 4 bits
bool is_integer(DType dtype) noexcept;   // signed and unsigned, without bool
bool is_unsigned(DType dtype) noexcept;  // u2 u4 u8 u16 u32 u64

}  // namespace quern
