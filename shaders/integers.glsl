// SPDX-License-Identifier: Apache-2.0
// Integers of 64 bits from words. Needs GL_EXT_shader_explicit_arithmetic_types_int64.

int64_t of_words(uvec2 words) {
  return int64_t(uint64_t(words.x) | uint64_t(words.y) << 32);
}
// An i32, not by a conversion: llvmpipe 22.3 takes the result of one for positive where it is
// compared with a constant.
int64_t widened(uint word) {
  return of_words(uvec2(word, uint(int(word) >> 31)));
}
