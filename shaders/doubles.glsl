// SPDX-License-Identifier: Apache-2.0
// What GLSL lacks for f64. Needs GL_EXT_shader_explicit_arithmetic_types_int64.

bool is_nan(double x) {
  const uvec2 w = unpackDouble2x32(x);
  const uint high = w.y & 0x7fffffffu;
  return high > 0x7ff00000u || (high == 0x7ff00000u && w.x != 0);
}
bool is_inf(double x) {
  const uvec2 w = unpackDouble2x32(x);
  return (w.y & 0x7fffffffu) == 0x7ff00000u && w.x == 0;
}
double of_bits(uint high) {
  return packDouble2x32(uvec2(0, high));
}
// 2^k for a normal power.
double power_of_two(int k) {
  return of_bits(uint(k + 1023) << 20);
}
const double LN_2_HIGH = 0.693147180369123816490lf;  // its last 21 bits are zero
const double LN_2_LOW = 1.90821492927058770002e-10lf;

// e^r = 2^k e^r with a small r, by its series.
double exponential(double x) {
  if (is_nan(x)) return x;
  const double a = clamp(x, -746.0lf, 710.0lf);
  const int k = int(roundEven(a * 1.44269504088896340736lf));
  const double r = (a - double(k) * LN_2_HIGH) - double(k) * LN_2_LOW;
  double p = 1.0lf;
  for (int n = 14; n > 0; --n) p = 1.0lf + r * p / double(n);
  const int half_k = k / 2;
  return p * power_of_two(half_k) * power_of_two(k - half_k);
}
// k ln 2 + log(m), m around 1: 2 artanh((m - 1) / (m + 1)), by its series.
double logarithm(double x) {
  if (is_nan(x) || x < 0.0lf) return of_bits(0x7ff80000u);
  if (x == 0.0lf) return of_bits(0xfff00000u);
  if (is_inf(x)) return x;
  const bool is_small = x < 2.2250738585072014e-308lf;
  uvec2 w = unpackDouble2x32(is_small ? x * 18014398509481984.0lf : x);
  int k = int(w.y >> 20) - (is_small ? 1023 + 54 : 1023);
  w.y = (w.y & 0xfffffu) | 0x3ff00000u;
  double m = packDouble2x32(w);
  if (m > 1.4142135623730951lf) {
    m *= 0.5lf;
    ++k;
  }
  const double f = m - 1.0lf;
  const double q = f / (m + 1.0lf);
  const double s = q * q;
  double p = 0.0lf;
  for (int n = 25; n > 1; n -= 2) p = s * (p + 1.0lf / double(n));
  return double(k) * LN_2_HIGH + (2.0lf * (q * p + q) + double(k) * LN_2_LOW);
}
// The sine of x and so many right angles: of an angle below half of one, by its series.
double sine(double x, int right_angles) {
  const double k = roundEven(x * 0.63661977236758134308lf);
  const double r = ((x - k * 1.57079632673412561417lf) - k * 6.07710050630396597660e-11lf) -
                   k * 2.02226624879595063154e-21lf;
  const int quarter = int(k) + right_angles;
  const bool is_cosine = (quarter & 1) != 0;
  const double s = r * r;
  double p = 1.0lf;
  for (int n = 18; n > 0; n -= 2) p = 1.0lf - p * s / double(n * (is_cosine ? n - 1 : n + 1));
  const double v = is_cosine ? p : p * r;
  return (quarter & 2) != 0 ? -v : v;
}
// x - n y, n whole and the result between 0 and x: exact, by a division of mantissas of which each
// round gives eleven bits.
double remainder(double x, double y) {
  const uint64_t sign_bit = uint64_t(1) << 63, one = uint64_t(1) << 52;
  const uvec2 xw = unpackDouble2x32(x), yw = unpackDouble2x32(y);
  const uint64_t sign = (uint64_t(xw.y) << 32) & sign_bit;
  const uint64_t a = (uint64_t(xw.y & 0x7fffffffu) << 32) | uint64_t(xw.x);
  const uint64_t b = (uint64_t(yw.y & 0x7fffffffu) << 32) | uint64_t(yw.x);
  if (is_nan(x) || is_inf(x) || is_nan(y) || b == 0) return of_bits(0x7ff80000u);
  if (a < b || is_inf(y)) return x;
  // Mantissas of 53 bits, or less of denormal numbers.
  int exponent = max(int(xw.y >> 20 & 0x7ffu), 1);
  const int least = max(int(yw.y >> 20 & 0x7ffu), 1);
  const uint64_t by = b < one ? b : (b & (one - 1)) | one;
  uint64_t left = (a < one ? a : (a & (one - 1)) | one) % by;
  while (exponent > least && left != 0) {
    const int shift = min(exponent - least, 11);
    left = (left << shift) % by;
    exponent -= shift;
  }
  // What is left has the exponent of y, or less where its mantissa is shorter.
  exponent = least;
  while (left != 0 && left < one && exponent > 1) {
    left <<= 1;
    --exponent;
  }
  const uint64_t bits = left < one ? left : (left & (one - 1)) | (uint64_t(exponent) << 52);
  const uint64_t all = sign | bits;
  return packDouble2x32(uvec2(uint(all), uint(all >> 32)));
}
// x^n by squaring, which keeps more digits than a logarithm does.
double whole_power(double x, int n) {
  double result = 1.0lf;
  double square = x;
  for (uint left = uint(abs(n)); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
    square *= square;
  }
  return n < 0 ? 1.0lf / result : result;
}
// As std::pow has it of zeros, infinities and NaN.
double power(double x, double y) {
  if (y == 0.0lf || x == 1.0lf) return 1.0lf;
  if (y == 1.0lf || is_nan(x)) return x;
  if (is_nan(y)) return y;
  const bool negative = (unpackDouble2x32(x).y & 0x80000000u) != 0;
  if (y == 0.5lf && !(negative && is_inf(x))) return sqrt(x);
  const bool integral = floor(y) == y;
  if (integral && abs(y) <= 64.0lf) return whole_power(x, int(y));
  if (negative && !integral && x != 0.0lf && !is_inf(x)) return of_bits(0x7ff80000u);
  double r = exponential(y * logarithm(abs(x)));
  if (abs(x) == 1.0lf) r = 1.0lf;
  return negative && integral && floor(0.5lf * y) != 0.5lf * y ? -r : r;
}
// As the reference has it: a float that rounds to a narrower one as v does.
float rounded_to_odd(double v) {
  const float f = float(v);
  if (is_nan(v) || is_inf(double(f)) || double(f) == v) return f;
  const uint bits = floatBitsToUint(f);
  return uintBitsToFloat((abs(double(f)) > abs(v) ? bits - 1 : bits) | 1u);
}
