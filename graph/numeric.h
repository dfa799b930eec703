// SPDX-License-Identifier: Apache-2.0
// C++ types for the elements of a tensor, conversions between them, and dispatch from a DType.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <quern/dtype.h>
#include <quern/tensor.h>

#include "graph/built.h"

namespace quern {

// IEEE 754 binary16 from and to binary32, round to nearest even; NaN stays NaN.
float half_to_float(std::uint16_t bits) noexcept;
std::uint16_t float_to_half(float value) noexcept;
std::uint16_t double_to_half(double value) noexcept;  // rounds once
float bfloat16_to_float(std::uint16_t bits) noexcept;
std::uint16_t float_to_bfloat16(float value) noexcept;
std::uint16_t double_to_bfloat16(double value) noexcept;  // rounds once
// A float that rounds to any narrower format as `value` itself would.
float round_to_odd(double value) noexcept;

// The floats of ONNX with a sign that fit into a byte: exponent and mantissa bits, FN: no infinity,
// UZ: no negative zero. The last has 4 bits and neither infinity nor NaN, which becomes 6.
enum class SmallFloat : std::uint8_t { e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, e2m1 };
float small_float_to_float(SmallFloat format, std::uint8_t bits) noexcept;
// The result for a number out of range: the largest one, or infinity (NaN if the format has none).
// e2m1 always gives its largest.
enum class Overflow : std::uint8_t { to_largest, to_infinity };
std::uint8_t float_to_small_float(SmallFloat format, float value,
                                  Overflow overflow = Overflow::to_largest) noexcept;

// FLOAT8E8M0, 2^(bits - 127): no sign, no zero, and 255 is NaN. A number out of the range gives the
// nearer end of it, or NaN (Overflow::to_infinity).
enum class PowerRounding : std::uint8_t;  // graph/ops/cast.h
float power_to_float(std::uint8_t bits) noexcept;
std::uint8_t double_to_power(double value, PowerRounding rounding, Overflow overflow) noexcept;

// Storage types that compute as float.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float v) : bits(float_to_half(v)) {}
  explicit Half(double v) : bits(double_to_half(v)) {}
  operator float() const { return half_to_float(bits); }  // NOLINT: widening loses nothing
};
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float v) : bits(float_to_bfloat16(v)) {}
  explicit BFloat16(double v) : bits(double_to_bfloat16(v)) {}
  operator float() const { return bfloat16_to_float(bits); }  // NOLINT
};
template <SmallFloat Format>
struct SmallFloatOf {
  static constexpr SmallFloat format = Format;
  std::uint8_t bits = 0;
  SmallFloatOf() = default;
  explicit SmallFloatOf(float v) : bits(float_to_small_float(Format, v)) {}
  explicit SmallFloatOf(double v) : SmallFloatOf(round_to_odd(v)) {}
  operator float() const { return small_float_to_float(Format, bits); }  // NOLINT
};
// Rounds up where it is made from a number, as ONNX's Cast does by default.
struct E8M0 {
  std::uint8_t bits = 0;
  E8M0() = default;
  explicit E8M0(double v);
  operator float() const { return power_to_float(bits); }  // NOLINT
};
// Integers of 4 and 2 bits, one a byte, sign-extended.
template <class Byte, int Width>
struct FewBits {
  static constexpr int lowest = std::is_signed_v<Byte> ? -(1 << (Width - 1)) : 0;
  static constexpr int highest = lowest + (1 << Width) - 1;
  Byte v = 0;
  FewBits() = default;
  template <class T>
  requires std::is_arithmetic_v<T>
  explicit FewBits(T x) : v(static_cast<Byte>(x)) {}
  operator Byte() const { return v; }  // NOLINT
};
using Int4 = FewBits<std::int8_t, 4>;
using UInt4 = FewBits<std::uint8_t, 4>;
using Int2 = FewBits<std::int8_t, 2>;
using UInt2 = FewBits<std::uint8_t, 2>;
template <class T>
inline constexpr bool is_few_bits = false;
template <class Byte, int Width>
inline constexpr bool is_few_bits<FewBits<Byte, Width>> = true;

template <class T>
struct TypeTag {
  using type = T;
};

// f(TypeTag<T>{}); where the build has no loops over elements of this type, and so no tensors of
// it, one that it has.
template <DType dtype, class T, class F>
decltype(auto) visit_as(const F& f) {
  if constexpr (is_built(dtype))
    return f(TypeTag<T>{});
  else
    return f(TypeTag<float>{});
}

// Calls f(TypeTag<T>{}) for the element type of `dtype`.
template <class F>
decltype(auto) visit_dtype(DType dtype, const F& f) {
  switch (dtype) {
    case DType::f32: return visit_as<DType::f32, float>(f);
    case DType::f64: return visit_as<DType::f64, double>(f);
    case DType::f16: return visit_as<DType::f16, Half>(f);
    case DType::bf16: return visit_as<DType::bf16, BFloat16>(f);
    case DType::i8: return visit_as<DType::i8, std::int8_t>(f);
    case DType::i16: return visit_as<DType::i16, std::int16_t>(f);
    case DType::i32: return visit_as<DType::i32, std::int32_t>(f);
    case DType::i64: return visit_as<DType::i64, std::int64_t>(f);
    case DType::u8: return visit_as<DType::u8, std::uint8_t>(f);
    case DType::u16: return visit_as<DType::u16, std::uint16_t>(f);
    case DType::u32: return visit_as<DType::u32, std::uint32_t>(f);
    case DType::u64: return visit_as<DType::u64, std::uint64_t>(f);
    case DType::boolean: return visit_as<DType::boolean, bool>(f);
    case DType::string: return visit_as<DType::string, StringRef>(f);
    case DType::i4: return visit_as<DType::i4, Int4>(f);
    case DType::u4: return visit_as<DType::u4, UInt4>(f);
    case DType::f8e4m3fn: return visit_as<DType::f8e4m3fn, SmallFloatOf<SmallFloat::e4m3fn>>(f);
    case DType::f8e4m3fnuz:
      return visit_as<DType::f8e4m3fnuz, SmallFloatOf<SmallFloat::e4m3fnuz>>(f);
    case DType::f8e5m2: return visit_as<DType::f8e5m2, SmallFloatOf<SmallFloat::e5m2>>(f);
    case DType::f8e5m2fnuz:
      return visit_as<DType::f8e5m2fnuz, SmallFloatOf<SmallFloat::e5m2fnuz>>(f);
    case DType::f4e2m1: return visit_as<DType::f4e2m1, SmallFloatOf<SmallFloat::e2m1>>(f);
    case DType::f8e8m0: return visit_as<DType::f8e8m0, E8M0>(f);
    case DType::i2: return visit_as<DType::i2, Int2>(f);
    case DType::u2: return visit_as<DType::u2, UInt2>(f);
  }
  return f(TypeTag<float>{});
}

template <class T>
inline constexpr bool is_float_type =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool is_integer_type = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool is_number_type = is_float_type<T> || is_integer_type<T>;

// The element types that arithmetic is defined on: not the floats of 8 bits and fewer, not the
// integers of 4 and 2.
constexpr bool is_number(DType t) {
  return t <= DType::u64;
}
constexpr bool is_number_float(DType t) {
  return t <= DType::bf16;
}
constexpr bool is_number_integer(DType t) {
  return is_number(t) && !is_number_float(t);
}

// visit_dtype for number types only: f is not called for the others, which inference must refuse.
template <class F>
void visit_float(DType dtype, const F& f) {
  switch (dtype) {
    case DType::f32: visit_as<DType::f32, float>(f); break;
    case DType::f64: visit_as<DType::f64, double>(f); break;
    case DType::f16: visit_as<DType::f16, Half>(f); break;
    case DType::bf16: visit_as<DType::bf16, BFloat16>(f); break;
    default: break;
  }
}
template <class F>
void visit_number(DType dtype, const F& f) {
  switch (dtype) {
    case DType::i8: visit_as<DType::i8, std::int8_t>(f); break;
    case DType::i16: visit_as<DType::i16, std::int16_t>(f); break;
    case DType::i32: visit_as<DType::i32, std::int32_t>(f); break;
    case DType::i64: visit_as<DType::i64, std::int64_t>(f); break;
    case DType::u8: visit_as<DType::u8, std::uint8_t>(f); break;
    case DType::u16: visit_as<DType::u16, std::uint16_t>(f); break;
    case DType::u32: visit_as<DType::u32, std::uint32_t>(f); break;
    case DType::u64: visit_as<DType::u64, std::uint64_t>(f); break;
    default: visit_float(dtype, f); break;
  }
}

// The type in which elements of T are computed: float for the 16-bit floats.
template <class T>
using ComputeType =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

// The type in which references accumulate sums and products of T: double for floats, integers
// modulo 2^64 (so that the low bits, which are the result, are right). Convert with static_cast.
template <class T>
using Sum = std::conditional_t<is_float_type<T>, double, std::uint64_t>;

// Converts numbers without undefined behaviour: float to integer truncates and saturates, NaN gives
// 0; integer to integer wraps.
template <class To, class From>
To convert(From v) {
  if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if (std::isnan(v)) return 0;
    // The bounds as From: the upper one rounds up to a power of two, so compare with >=.
    if (v >= static_cast<From>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    if (v <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    return static_cast<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

}  // namespace quern
