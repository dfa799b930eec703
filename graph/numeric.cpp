// SPDX-License-Identifier: Apache-2.0
#include "graph/numeric.h"

#include <algorithm>
#include <bit>

#include "graph/ops/cast.h"

namespace quern {

float half_to_float(std::uint16_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = bits >> 10 & 31;
  const std::uint32_t mantissa = bits & 1023;
  if (exponent == 31)  // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {  // zero, subnormal: mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

std::uint16_t float_to_half(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00;   // NaN
  if (magnitude >= 0x477ff000u) return sign | 0x7c00;  // rounds to infinity
  if (magnitude < 0x38800000u) {                       // subnormal: the FPU rounds for us
    const float scaled = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(scaled) - 0x3f000000u);
  }
  const std::uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23);
  return sign | static_cast<std::uint16_t>(rounded >> 13);
}

float round_to_odd(double value) noexcept {
  // Towards zero, with the last bit set when something was cut off: the sticky bit settles ties.
  const auto f = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(f) || static_cast<double>(f) == value) return f;
  auto bits = std::bit_cast<std::uint32_t>(f);
  if (std::fabs(static_cast<double>(f)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

std::uint16_t double_to_half(double value) noexcept {
  return float_to_half(round_to_odd(value));
}
std::uint16_t double_to_bfloat16(double value) noexcept {
  return float_to_bfloat16(round_to_odd(value));
}

float bfloat16_to_float(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

namespace {

struct SmallFormat {
  int mantissa_bits;
  int bias;
  std::uint8_t sign;      // the bit
  std::uint8_t largest;   // bits of the largest finite number
  std::uint8_t infinity;  // bits, or of NaN where there is no infinity
  std::uint8_t nan;       // bits, or of the largest number where there is neither
  bool unsigned_zero;     // 0x80 is NaN
};

constexpr SmallFormat formats[] = {
    {3, 7, 0x80, 0x7e, 0x7f, 0x7f, false},  {3, 8, 0x80, 0x7f, 0x80, 0x80, true},
    {2, 15, 0x80, 0x7b, 0x7c, 0x7e, false}, {2, 16, 0x80, 0x7f, 0x80, 0x80, true},
    {1, 1, 0x08, 0x07, 0x07, 0x07, false},
};

float finite_float(const SmallFormat& f, std::uint8_t magnitude) {
  const int exponent = magnitude >> f.mantissa_bits;
  const int mantissa = magnitude & ((1 << f.mantissa_bits) - 1);
  const int scale = (exponent == 0 ? 1 : exponent) - f.bias - f.mantissa_bits;
  const int digits = exponent == 0 ? mantissa : mantissa | 1 << f.mantissa_bits;
  return std::ldexp(static_cast<float>(digits), scale);
}

}  // namespace

float small_float_to_float(SmallFloat format, std::uint8_t bits) noexcept {
  const SmallFormat& f = formats[static_cast<int>(format)];
  if (f.unsigned_zero && bits == f.nan) return std::numeric_limits<float>::quiet_NaN();
  const auto magnitude = static_cast<std::uint8_t>(bits & (f.sign - 1));
  const float sign = bits & f.sign ? -1.0f : 1.0f;
  if (!f.unsigned_zero && magnitude > f.largest)
    return magnitude == f.infinity && f.infinity != f.nan
               ? sign * std::numeric_limits<float>::infinity()
               : std::numeric_limits<float>::quiet_NaN();
  return sign * finite_float(f, magnitude);
}

std::uint8_t float_to_small_float(SmallFloat format, float value, Overflow overflow) noexcept {
  const SmallFormat& f = formats[static_cast<int>(format)];
  const std::uint8_t sign = std::signbit(value) ? f.sign : 0;
  const bool has_one_nan = f.unsigned_zero || f.nan == f.largest;
  if (std::isnan(value)) return has_one_nan ? f.nan : static_cast<std::uint8_t>(sign | f.nan);
  const float magnitude = std::fabs(value);
  const auto too_large =
      static_cast<std::uint8_t>(overflow == Overflow::to_largest ? sign | f.largest
                                : f.unsigned_zero                ? f.infinity
                                                                 : sign | f.infinity);
  if (std::isinf(value)) return too_large;
  // Scale so that one unit in the last place is 1, let the FPU round to even, scale back.
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude in [2^(e-1), 2^e)
  const int lowest = 1 - f.bias;     // exponent of the subnormals
  const int unit = std::max(exponent - 1, lowest) - f.mantissa_bits;
  const float digits = std::nearbyint(std::ldexp(magnitude, -unit));
  const float rounded = std::ldexp(digits, unit);
  if (rounded > finite_float(f, f.largest)) return too_large;
  if (rounded == 0) return f.unsigned_zero ? 0 : sign;
  std::frexp(rounded, &exponent);
  const int biased = std::max(exponent - 1 + f.bias, 0);
  const int unit_after = std::max(exponent - 1, lowest) - f.mantissa_bits;
  const int mantissa = static_cast<int>(std::ldexp(rounded, -unit_after));
  const int hidden = 1 << f.mantissa_bits;
  const int bits = mantissa >= hidden ? biased << f.mantissa_bits | (mantissa - hidden) : mantissa;
  return static_cast<std::uint8_t>(sign | bits);
}

float power_to_float(std::uint8_t bits) noexcept {
  return bits == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, bits - 127);
}

std::uint8_t double_to_power(double value, PowerRounding rounding, Overflow overflow) noexcept {
  constexpr std::uint8_t nan = 255;
  if (std::isnan(value)) return nan;
  const bool is_large = value > 0x1p127;
  if (is_large || value < 0x1p-127) {
    if (overflow == Overflow::to_infinity) return nan;
    return is_large ? 254 : 0;
  }
  int exponent = 0;
  const double digits = std::frexp(value, &exponent);  // in [0.5, 1)
  const bool goes_up = (rounding == PowerRounding::up && digits > 0.5) ||
                       (rounding == PowerRounding::nearest && digits >= 0.75);
  return static_cast<std::uint8_t>(exponent + 126 + (goes_up ? 1 : 0));
}

E8M0::E8M0(double v) : bits(double_to_power(v, PowerRounding::up, Overflow::to_largest)) {}

}  // namespace quern
