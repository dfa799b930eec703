// SPDX-License-Identifier: Apache-2.0
// Floats of a byte or less, as graph/numeric.h has them. Needs types.glsl.

struct SmallFormat {
  uint mantissa_bits;
  int bias;
  uint sign;           // the bit
  uint largest;        // bits of the largest finite number
  uint infinity;       // bits, or of NaN where there is no infinity
  uint nan;            // bits, or of the largest number where there is neither
  bool unsigned_zero;  // 0x80 is NaN
};

SmallFormat format_of(uint type) {
  switch (type) {
    case F8E4M3FN: return SmallFormat(3, 7, 0x80, 0x7e, 0x7f, 0x7f, false);
    case F8E4M3FNUZ: return SmallFormat(3, 8, 0x80, 0x7f, 0x80, 0x80, true);
    case F8E5M2: return SmallFormat(2, 15, 0x80, 0x7b, 0x7c, 0x7e, false);
    case F8E5M2FNUZ: return SmallFormat(2, 16, 0x80, 0x7f, 0x80, 0x80, true);
    default: return SmallFormat(1, 1, 0x08, 0x07, 0x07, 0x07, false);
  }
}

const uint QUIET_NAN = 0x7fc00000u;

float of_small_float(uint type, uint bits) {
  if (type == F8E8M0)  // a power of two; the least is no normal f32
    return uintBitsToFloat(bits == 255 ? QUIET_NAN : bits == 0 ? 0x400000u : bits << 23);
  const SmallFormat f = format_of(type);
  const uint size = bits & (f.sign - 1);
  const uint sign = (bits & f.sign) != 0 ? 0x80000000u : 0;
  if (f.unsigned_zero ? bits == f.nan : size > f.largest) {
    const bool infinite = size == f.infinity && f.infinity != f.nan;
    return uintBitsToFloat(infinite ? sign | 0x7f800000u : QUIET_NAN);
  }
  const uint hidden = 1u << f.mantissa_bits;
  const int exponent = int(size / hidden);
  const uint digits = exponent == 0 ? size : size % hidden + hidden;
  const int scale = max(exponent, 1) - f.bias - int(f.mantissa_bits);
  const float v = float(digits) * uintBitsToFloat(uint(scale + 127) << 23);
  return uintBitsToFloat(floatBitsToUint(v) | sign);
}

// The exponent of a number, which is rounded by its other digits.
uint to_power(uint bits, bool saturates, uint rounding) {
  const uint up = 0, nearest = 1;
  const bool is_large = bits > 0x7f000000u && bits < 0x80000000u;
  if (is_large || bits < 0x400000u || bits >= 0x80000000u)
    return !saturates ? 255 : is_large ? 254 : 0;
  const uint exponent = bits >> 23;
  const uint digits = exponent == 0 ? bits << 1 & 0x7fffffu : bits & 0x7fffffu;
  const bool goes_up =
      (rounding == up && digits != 0) || (rounding == nearest && digits >= 0x400000u);
  return exponent + (goes_up ? 1 : 0);
}

uint to_small_float(uint type, float v, bool saturates, uint rounding) {
  const uint bits = floatBitsToUint(v);
  if (type == F8E8M0) return is_nan(v) ? 255 : to_power(bits, saturates, rounding);
  const SmallFormat f = format_of(type);
  const uint sign = bits >> 31 != 0 ? f.sign : 0;
  if (is_nan(v)) return f.unsigned_zero || f.nan == f.largest ? f.nan : sign | f.nan;
  const uint beyond =
      saturates ? sign | f.largest : f.unsigned_zero ? f.infinity : sign | f.infinity;
  const int exponent = int(bits >> 23 & 0xffu) - 127;
  if (exponent == 128) return beyond;
  // Digits that are cut off round to even; below the least exponent more are.
  const int below = max(1 - f.bias - exponent, 0);
  const uint cut = min(23 - f.mantissa_bits + uint(below), 26u);
  const uint all = (bits & 0x7fffffu) | 0x800000u;
  const uint kept = all >> cut;
  const uint rest = all - (kept << cut), half_unit = 1u << (cut - 1);
  const uint digits =
      kept + (rest > half_unit || (rest == half_unit && (kept & 1) != 0) ? 1 : 0);
  // The first digit adds to the exponent, and so does one that rounding has carried.
  const uint found =
      below > 0 ? digits : (uint(exponent + f.bias - 1) << f.mantissa_bits) + digits;
  if (found > f.largest) return beyond;
  return found == 0 && f.unsigned_zero ? 0 : sign | found;
}
