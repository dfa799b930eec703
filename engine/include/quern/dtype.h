// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace quern {

// Element types of a tensor. Types smaller than a byte are stored one element per byte,
// sign-extended. A `string` element is a StringRef (tensor.h).
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
};
inline constexpr std::size_t dtype_count = 20;

// Bytes that one element takes in a buffer.
std::size_t size_of(DType dtype) noexcept;
// "f32", "i64", "bool", ...
std::string_view name_of(DType dtype) noexcept;
// The inverse of name_of(); nullopt for an unknown name.
std::optional<DType> dtype_from_name(std::string_view name) noexcept;

bool is_float(DType dtype) noexcept;     // f32 f64 f16 bf16 and the 8-bit floats
bool is_integer(DType dtype) noexcept;   // signed and unsigned, without bool
bool is_unsigned(DType dtype) noexcept;  // u4 u8 u16 u32 u64

}  // namespace quern
