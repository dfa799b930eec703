// SPDX-License-Identifier: Apache-2.0
// Bytes in words, without storage of eight bits.

#include "quotient.glsl"

int byte_of(uint word, uint i, bool is_signed) {
  const int shift = int(8 * (i & 3));
  return is_signed ? bitfieldExtract(int(word), shift, 8) : int(bitfieldExtract(word, shift, 8));
}
