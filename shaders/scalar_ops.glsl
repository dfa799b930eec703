// SPDX-License-Identifier: Apache-2.0
// Functions of one and two elements, four at a time. The codes are those of kernels/gpu/steps.cpp.

#include "quotient.glsl"

const uint ABS = 1, NEG = 2, SIGN = 3, CEIL = 4, FLOOR = 5, ROUND = 6, SQRT = 7, RECIPROCAL = 8,
           EXP = 9, LOG = 10, SIN = 11, COS = 12, TAN = 13, ASIN = 14, ACOS = 15, ATAN = 16,
           SINH = 17, COSH = 18, TANH = 19, ASINH = 20, ACOSH = 21, ATANH = 22, ERF = 23,
           SIGMOID = 24, RELU = 25, LEAKY_RELU = 26, ELU = 27, SELU = 28, CELU = 29,
           HARD_SIGMOID = 30, HARD_SWISH = 31, SOFTPLUS = 32, SOFTSIGN = 33, MISH = 34, GELU = 35,
           GELU_TANH = 36, SWISH = 37, THRESHOLDED_RELU = 38, SHRINK = 39, CLIP = 40, AFFINE = 41,
           SCALED_TANH = 42, IS_NAN = 43, IS_INF = 44, LOGICAL_NOT = 45;
const uint ADD = 64, SUB = 65, MUL = 66, DIV = 67, POW = 68, MOD = 69, FMOD = 70, MIN = 71, MAX = 72,
           PRELU = 73, LOGICAL_AND = 74, LOGICAL_OR = 75, LOGICAL_XOR = 76, EQUAL = 80, LESS = 81,
           LESS_EQUAL = 82, GREATER = 83, GREATER_EQUAL = 84, WHERE = 96, COPY = 97,
           QUANTIZE = 98, DEQUANTIZE = 99;
const uint SWAPPED = 128;  // the operand stands on the left

bvec4 is_inf(vec4 x) {
  return equal(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u));
}
vec4 safe_tanh(vec4 x) {
  const vec4 a = abs(x);
  const vec4 e = exp(-2.0 * a);
  // Small arguments would lose their digits in 1 - e.
  const vec4 s = x * x;
  const vec4 series =
      a * (1.0 + s * (-1.0 / 3.0 + s * (2.0 / 15.0 + s * (-17.0 / 315.0 + s * (62.0 / 2835.0)))));
  const vec4 r = mix((1.0 - e) / (1.0 + e), series, lessThan(a, vec4(0.3)));
  return mix(r, -r, lessThan(x, vec4(0.0)));
}
// A NaN stays; clamp() may make either bound of it.
vec4 clamped(vec4 x, float low, float high) {
  const vec4 r = mix(x, vec4(low), lessThan(x, vec4(low)));
  return mix(r, vec4(high), greaterThan(r, vec4(high)));
}
vec4 sigmoid(vec4 x) {
  return 1.0 / (1.0 + exp(-x));
}
// Abramowitz and Stegun 7.1.28 has 3e-7 for larger, the Maclaurin series 1e-8 for small arguments.
vec4 erf(vec4 x) {
  const vec4 a = abs(x);
  const vec4 t = 1.0 / (1.0 + 0.3275911 * a);
  const vec4 tail =
      1.0 -
      ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) *
          t * exp(-a * a);
  const vec4 s = x * x;
  const vec4 series =
      a * 1.1283791671 *
      (1.0 +
       s * (-1.0 / 3.0 +
            s * (1.0 / 10.0 +
                 s * (-1.0 / 42.0 +
                      s * (1.0 / 216.0 +
                           s * (-1.0 / 1320.0 + s * (1.0 / 9360.0 + s * (-1.0 / 75600.0))))))));
  const vec4 r = mix(tail, series, lessThan(a, vec4(1.0)));
  return mix(r, -r, lessThan(x, vec4(0.0)));
}
vec4 softplus(vec4 x) {
  return max(x, 0.0) + log(1.0 + exp(-abs(x)));
}
// log(1 + x) of a small x keeps its digits.
vec4 log1p(vec4 x) {
  const vec4 u = 1.0 + x;
  return mix(log(u) * x / (u - 1.0), x, equal(u, vec4(1.0)));
}
vec4 expm1(vec4 x) {
  const vec4 series =
      x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0 + x * (1.0 / 120.0)))));
  return mix(exp(x) - 1.0, series, lessThan(abs(x), vec4(0.1)));
}
// The inverse functions of Vulkan may be wrong by 4,096 ulps, and Mesa's asin is by as many. Polynomials
// of Cephes (Moshier, asinf.c and atanf.c): asin within 0.5 and atan within tan(pi / 8).
vec4 small_asin(vec4 x) {
  const vec4 s = x * x;
  const vec4 series =
      (((4.2163199048e-2 * s + 2.4181311049e-2) * s + 4.5470025998e-2) * s + 7.4953002686e-2) * s +
      1.6666752422e-1;
  return x + x * s * series;
}
const float HALF_PI = 1.5707963267948966;
// pi / 2 - asin(a) of an `a` above 0.5, which loses no digits near 1.
vec4 large_acos(vec4 a) {
  const vec4 r = 2.0 * small_asin(sqrt(max(0.5 - 0.5 * a, vec4(0.0))));
  return mix(r, vec4(uintBitsToFloat(0x7fc00000u)), greaterThan(a, vec4(1.0)));
}
vec4 arc_sine(vec4 x) {
  const vec4 a = abs(x);
  const vec4 r = mix(small_asin(a), HALF_PI - large_acos(a), greaterThan(a, vec4(0.5)));
  return mix(r, -r, lessThan(x, vec4(0.0)));
}
vec4 arc_cosine(vec4 x) {
  const vec4 a = abs(x);
  const vec4 large = large_acos(a);
  const vec4 outer = mix(large, 2.0 * HALF_PI - large, lessThan(x, vec4(0.0)));
  return mix(HALF_PI - small_asin(x), outer, greaterThan(a, vec4(0.5)));
}
vec4 arc_tangent(vec4 x) {
  const vec4 a = abs(x);
  const bvec4 far = greaterThan(a, vec4(2.414213562373095));
  const bvec4 middle = greaterThan(a, vec4(0.4142135623730951));
  const vec4 t = mix(mix(a, (a - 1.0) / (a + 1.0), middle), -1.0 / a, far);
  const vec4 s = t * t;
  const vec4 series =
      ((8.05374449538e-2 * s - 1.38776856032e-1) * s + 1.99777106478e-1) * s - 3.33329491539e-1;
  const vec4 base = mix(mix(vec4(0.0), vec4(0.5 * HALF_PI), middle), vec4(HALF_PI), far);
  const vec4 r = base + (t + t * s * series);
  return mix(r, -r, lessThan(x, vec4(0.0)));
}
const float LN_2 = 0.6931471805599453;
vec4 arc_hyperbolic_sine(vec4 x) {
  const vec4 a = abs(x);
  const vec4 near = log1p(a + a * a / (1.0 + sqrt(a * a + 1.0)));
  const vec4 r = mix(near, log(a) + LN_2, greaterThan(a, vec4(1e9)));
  return mix(r, -r, lessThan(x, vec4(0.0)));
}
// x^n by squaring, which keeps more digits than a logarithm does.
float whole_power(float x, int n) {
  float result = 1.0;
  float square = x;
  for (uint left = uint(abs(n)); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
    square *= square;
  }
  return n < 0 ? 1.0 / result : result;
}
// As std::pow has it of zeros, infinities and NaN.
float power(float x, float y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  const uint bits = floatBitsToUint(x);
  const uint size = bits & 0x7fffffffu;
  const bool negative = bits != size, infinite = size == 0x7f800000u;
  if (y == 1.0 || size > 0x7f800000u) return x;
  if ((floatBitsToUint(y) & 0x7fffffffu) > 0x7f800000u) return y;
  if (y == 0.5 && !(negative && infinite)) return sqrt(x);
  const bool integral = floor(y) == y;
  if (integral && abs(y) <= 64.0) return whole_power(x, int(y));
  if (negative && !integral && x != 0.0 && !infinite) return uintBitsToFloat(0x7fc00000u);
  float r = exp2(y * log2(abs(x)));
  if (x == 0.0) r = y > 0.0 ? 0.0 : uintBitsToFloat(0x7f800000u);
  if (abs(x) == 1.0) r = 1.0;
  return negative && integral && floor(0.5 * y) != 0.5 * y ? -r : r;
}
vec4 power(vec4 x, vec4 y) {
  return vec4(power(x.x, y.x), power(x.y, y.y), power(x.z, y.z), power(x.w, y.w));
}

vec4 unary(uint op, vec4 x, float alpha, float beta) {
  switch (op) {
    case ABS: return abs(x);
    case NEG: return -x;
    case SIGN: return mix(sign(x), x, is_nan(x));
    case CEIL: return ceil(x);
    case FLOOR: return floor(x);
    case ROUND: return roundEven(x);
    case SQRT: return sqrt(x);
    case RECIPROCAL: return rounded_quotient(vec4(1.0), x);
    case EXP: return exp(x);
    case LOG: return log(x);
    case SIN: return sin(x);
    case COS: return cos(x);
    case TAN: return tan(x);
    case ASIN: return arc_sine(x);
    case ACOS: return arc_cosine(x);
    case ATAN: return arc_tangent(x);
    case SINH: return 0.5 * (expm1(x) - expm1(-x));
    case COSH: return 0.5 * (exp(x) + exp(-x));
    case TANH: return safe_tanh(x);
    case ASINH: return arc_hyperbolic_sine(x);
    case ACOSH: {
      const vec4 r = mix(log(x + sqrt(x * x - 1.0)), log(x) + LN_2, greaterThan(x, vec4(1e9)));
      return mix(r, vec4(uintBitsToFloat(0x7fc00000u)), lessThan(x, vec4(1.0)));
    }
    case ATANH: return 0.5 * (log1p(x) - log1p(-x));
    case ERF: return erf(x);
    case SIGMOID: return sigmoid(x);
    case RELU: return mix(x, vec4(0.0), lessThan(x, vec4(0.0)));
    case LEAKY_RELU: return mix(x, x * alpha, lessThan(x, vec4(0.0)));
    case ELU: return mix(x, alpha * expm1(x), lessThan(x, vec4(0.0)));
    case SELU: return beta * mix(x, alpha * expm1(x), lessThanEqual(x, vec4(0.0)));
    case CELU: return mix(x, alpha * expm1(x / alpha), lessThan(x, vec4(0.0)));
    case HARD_SIGMOID: return clamped(alpha * x + beta, 0.0, 1.0);
    case HARD_SWISH: return x * clamped(x * (1.0 / 6.0) + 0.5, 0.0, 1.0);
    case SOFTPLUS: return softplus(x);
    case SOFTSIGN: return x / (1.0 + abs(x));
    case MISH: return x * safe_tanh(softplus(x));
    case GELU: return 0.5 * x * (1.0 + erf(x * 0.7071067811865476));
    case GELU_TANH:
      return 0.5 * x * (1.0 + safe_tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case SWISH: return x * sigmoid(alpha * x);
    case THRESHOLDED_RELU: return mix(vec4(0.0), x, greaterThan(x, vec4(alpha)));
    case SHRINK:  // where both hold, as for a negative alpha, the first
      return mix(mix(vec4(0.0), x - beta, greaterThan(x, vec4(alpha))), x + beta,
                 lessThan(x, vec4(-alpha)));
    case CLIP: return clamped(x, alpha, beta);
    case AFFINE: return alpha * x + beta;
    case SCALED_TANH: return alpha * safe_tanh(beta * x);
    case IS_NAN: return vec4(is_nan(x));
    case IS_INF: {
      const bvec4 negative = lessThan(x, vec4(0.0));
      return vec4(is_inf(x)) *
             mix(vec4(beta != 0.0 ? 1.0 : 0.0), vec4(alpha != 0.0 ? 1.0 : 0.0), negative);
    }
    case LOGICAL_NOT: return vec4(equal(x, vec4(0.0)));
    default: return x;
  }
}

// x - n y, n whole and the result between 0 and x: exact, by one division of mantissas bit by bit.
float remainder(float x, float y) {
  const uint sign = floatBitsToUint(x) & 0x80000000u;
  const uint a = floatBitsToUint(x) & 0x7fffffffu, b = floatBitsToUint(y) & 0x7fffffffu;
  if (a >= 0x7f800000u || b > 0x7f800000u || b == 0) return uintBitsToFloat(0x7fc00000u);
  if (a < b) return x;
  // Mantissas of 24 bits, also of denormals.
  int exponent = max(int(a >> 23), 1), least = max(int(b >> 23), 1);
  uint left = a < 0x800000u ? a : (a & 0x7fffffu) | 0x800000u;
  uint by = b < 0x800000u ? b : (b & 0x7fffffu) | 0x800000u;
  const int shift = 23 - findMSB(by);
  by <<= shift;
  least -= shift;
  for (; exponent > least; --exponent) {
    if (left >= by) left -= by;
    left <<= 1;
  }
  if (left >= by) left -= by;
  if (left == 0) return uintBitsToFloat(sign);
  const int up = 23 - findMSB(left);
  left <<= up;
  exponent -= up;
  if (exponent < 1) return uintBitsToFloat(sign | (left >> (1 - exponent)));
  return uintBitsToFloat(sign | (uint(exponent) << 23) | (left & 0x7fffffu));
}
vec4 remainder(vec4 x, vec4 y) {
  return vec4(remainder(x.x, y.x), remainder(x.y, y.y), remainder(x.z, y.z), remainder(x.w, y.w));
}
vec4 modulo(vec4 x, vec4 y) {
  const vec4 r = remainder(x, y);
  // Like y in sign.
  return mix(r, r + y, lessThan(r * y, vec4(0.0)));
}

vec4 binary(uint op, vec4 x, vec4 y) {
  switch (op) {
    case ADD: return x + y;
    case SUB: return x - y;
    case MUL: return x * y;
    case DIV: return rounded_quotient(x, y);
    case POW: return power(x, y);
    case MOD: return modulo(x, y);
    case FMOD: return remainder(x, y);
    case MIN: {
      const vec4 r = mix(y, x, lessThan(x, y));
      return mix(r, x, is_nan(x));
    }
    case MAX: {
      const vec4 r = mix(y, x, greaterThan(x, y));
      return mix(r, x, is_nan(x));
    }
    case PRELU: return mix(x, x * y, lessThan(x, vec4(0.0)));
    case LOGICAL_AND: return vec4(notEqual(x, vec4(0.0))) * vec4(notEqual(y, vec4(0.0)));
    case LOGICAL_OR: return max(vec4(notEqual(x, vec4(0.0))), vec4(notEqual(y, vec4(0.0))));
    case LOGICAL_XOR: return abs(vec4(notEqual(x, vec4(0.0))) - vec4(notEqual(y, vec4(0.0))));
    case EQUAL: return vec4(equal(x, y));
    case LESS: return vec4(lessThan(x, y));
    case LESS_EQUAL: return vec4(lessThanEqual(x, y));
    case GREATER: return vec4(greaterThan(x, y));
    case GREATER_EQUAL: return vec4(greaterThanEqual(x, y));
    default: return x;
  }
}
