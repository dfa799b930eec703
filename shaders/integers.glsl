// SPDX-License-Identifier: Apache-2.0
// Integers of 64 bits from words. Needs GL_EXT_shader_explicit_arithmetic_types_int64 and types.glsl.

int64_t of_words(uvec2 words) {
  return int64_t(uint64_t(words.x) | uint64_t(words.y) << 32);
}
uvec2 words_of(int64_t v) {
  return uvec2(uint(uint64_t(v)), uint(uint64_t(v) >> 32));
}
// An i32, not by a conversion: llvmpipe 22.3 takes the result of one for positive where it is
// compared with a constant.
int64_t widened(uint word) {
  return of_words(uvec2(word, uint(int(word) >> 31)));
}
// An integer of any type, from its bits. One of u64 has its bits, and a sign that means nothing.
int64_t integer_of(uint type, uvec2 words) {
  const uint bits = bits_of(type);
  if (!is_signed(type) || bits == 64) return of_words(words);
  return widened(uint(bitfieldExtract(int(words.x), 0, int(bits))));
}
// The last bits of a number, as the type has them.
int64_t low_bits(uint type, int64_t v) {
  const int64_t end = int64_t(1) << (type == I4 || type == U4 ? 4 : 2);
  const int64_t sign = is_signed(type) ? end >> 1 : int64_t(0);
  return ((v & (end - 1)) ^ sign) - sign;
}
#ifdef REAL
// A REAL to an integer: truncates and saturates, and a NaN is zero. To one of few bits it rounds,
// and all of its bits are kept (low_bits()).
int64_t saturated(uint to, REAL v) {
  if (is_nan(v)) return int64_t(0);
  const uint type = has_few_bits(to) ? I64 : to;
  if (has_few_bits(to)) v = roundEven(v);
  const uint digits = bits_of(type) - (is_signed(type) ? 1 : 0);
  const int64_t most = int64_t(~uint64_t(0) >> (64 - digits));
  const REAL end = REAL(2) * REAL(uint64_t(1) << (digits - 1));
  if (v >= end) return most;
  if (!is_signed(type)) return v <= REAL(0) ? int64_t(0) : int64_t(uint64_t(v));
  return v <= -end ? -most - int64_t(1) : int64_t(v);
}
#endif
