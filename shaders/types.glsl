// SPDX-License-Identifier: Apache-2.0
// Elements of the types that shaders compute with, in words. The codes are those of
// kernels/gpu/types.h. Elements of less than a word share one, the first in its lowest bits.

const uint F32 = 1, I32 = 2, BYTE = 3, I64 = 4, F16 = 5, U32 = 6, U64 = 7, I8 = 8, I16 = 9, U16 = 10,
           BF16 = 11, F64 = 12,  // BYTE: u8 or bool
           I4 = 13, U4 = 14, I2 = 15, U2 = 16,  // one a byte, with its sign extended
           F8E4M3FN = 17, F8E4M3FNUZ = 18, F8E5M2 = 19, F8E5M2FNUZ = 20, F4E2M1 = 21, F8E8M0 = 22;

// In memory.
uint bits_of(uint type) {
  if (type >= I4) return 8;
  switch (type) {
    case BYTE:
    case I8: return 8;
    case F16:
    case BF16:
    case I16:
    case U16: return 16;
    case I64:
    case U64:
    case F64: return 64;
    default: return 32;
  }
}
bool is_signed(uint type) {
  return type == I32 || type == I64 || type == I8 || type == I16 || type == I4 || type == I2;
}
bool has_few_bits(uint type) {
  return type >= I4 && type <= U2;
}
bool is_float(uint type) {
  return type == F32 || type == F16 || type == BF16;
}
// Element i, of at most 32 bits, of the word that it lies in.
uint of_word(uint word, uint bits, uint i) {
  return bitfieldExtract(word, int(i % (32 / bits) * bits), int(bits));
}

bool is_nan(float x) {
  return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}
float to_float(uint type, uint bits) {
  if (type == F16) return unpackHalf2x16(bits).x;
  return uintBitsToFloat(type == BF16 ? bits << 16 : bits);
}
// Rounds to nearest, halves to even; a NaN stays one.
uint of_float(uint type, float v) {
  const uint bits = floatBitsToUint(v);
  if (type == F16) return packHalf2x16(vec2(v, 0.0));
  if (type != BF16) return bits;
  if (is_nan(v)) return bits >> 16 | 0x40u;
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}
