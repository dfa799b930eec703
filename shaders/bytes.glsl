// SPDX-License-Identifier: Apache-2.0
// Bytes in words, without storage of eight bits.

int byte_of(uint word, uint i, bool is_signed) {
  const int shift = int(8 * (i & 3));
  return is_signed ? bitfieldExtract(int(word), shift, 8) : int(bitfieldExtract(word, shift, 8));
}
// a / b, which a device may give a last digit too much or too little of, rounded as on the CPU.
float rounded_quotient(float a, float b) {
  const float q = a / b;
  const float better = q + fma(-q, b, a) / b;
  // Of infinities and of what is too small for a correction, the first.
  return abs(better - q) <= abs(q) * 1e-5 ? better : q;
}
