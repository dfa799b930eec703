// SPDX-License-Identifier: Apache-2.0
// The functions of broadcast.comp on integers of all types, which wrap.

#define REAL float
#include "integers.glsl"
#define COMPUTE int64_t

const uint BITWISE_NOT = 46, BITWISE_AND = 77, BITWISE_OR = 78, BITWISE_XOR = 79, SHIFT_LEFT = 85,
           SHIFT_RIGHT = 86;
const bool UNSIGNED = TYPE_A == U64;  // else the sign of an int64_t is that of the integer

bool is_less(COMPUTE p, COMPUTE q) {
  const COMPUTE flipped = UNSIGNED ? COMPUTE(1) << 63 : COMPUTE(0);
  return (p ^ flipped) < (q ^ flipped);
}
// An integer without its sign, for functions of bits.
uint64_t plain(COMPUTE v) {
  return uint64_t(v) & ~uint64_t(0) >> (64 - bits_of(TYPE_A));
}

// Types of float are those of casts.
COMPUTE from_words(uint type, uvec2 words) {
  return is_float(type) ? saturated(TYPE_Y, to_float(type, words.x)) : integer_of(type, words);
}
// One of at most 24 digits that rounds to less of them as m does: the last tells of those cut off.
float rounded_to_odd(uint64_t m) {
  const uvec2 words = words_of(COMPUTE(m));
  const int cut = words.y != 0 ? findMSB(words.y) + 9 : findMSB(words.x) - 23;
  if (cut <= 0) return float(words.x);
  const uint64_t kept = m >> cut;
  return float(uint(kept) | (kept << cut != m ? 1u : 0u)) * uintBitsToFloat(uint(cut + 127) << 23);
}
uvec2 to_words(uint type, COMPUTE v) {
  if (has_few_bits(type)) return words_of(low_bits(type, v));
  if (!is_float(type)) return words_of(v);
  if (type == F32) return uvec2(floatBitsToUint(UNSIGNED ? float(uint64_t(v)) : float(v)), 0);
  const bool negative = !UNSIGNED && v < 0l;
  const float size = rounded_to_odd(uint64_t(negative ? -v : v));
  return uvec2(of_float(type, negative ? -size : size), 0);
}

COMPUTE quotient(COMPUTE p, COMPUTE q) {
  if (q == 0l) return 0l;
  if (UNSIGNED) return COMPUTE(uint64_t(p) / uint64_t(q));
  return q == -1l ? -p : p / q;
}
COMPUTE remainder(COMPUTE p, COMPUTE q) {
  return q == 0l ? 0l : p - q * quotient(p, q);
}
// 1 / p^|q| of an exponent below zero, truncated.
COMPUTE power(COMPUTE p, COMPUTE q) {
  if (TYPE_B != U64 && q < 0l)
    return p == 1l ? 1l : UNSIGNED || p != -1l ? 0l : (q & 1l) == 0l ? 1l : -1l;
  COMPUTE result = 1l;
  for (uint64_t left = uint64_t(q); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= p;
    p *= p;
  }
  return result;
}

COMPUTE evaluate(COMPUTE p, COMPUTE q, COMPUTE r) {
  const bool negative = !UNSIGNED && p < 0l;
  switch (OP) {
    case ABS: return negative ? -p : p;
    case NEG: return -p;
    case SIGN: return negative ? -1l : p == 0l ? 0l : 1l;
    case RECIPROCAL: return p == 1l || (!UNSIGNED && p == -1l) ? p : 0l;
    case RELU: return negative ? 0l : p;
    case LOGICAL_NOT: return p == 0l ? 1l : 0l;
    case BITWISE_NOT: return ~p;
    case CLIP: {
      const COMPUTE low = of_words(uvec2(first[0], first[1]));
      const COMPUTE high = of_words(uvec2(second[0], second[1]));
      const COMPUTE v = is_less(p, low) ? low : p;
      return is_less(high, v) ? high : v;
    }
    case ADD: return p + q;
    case SUB: return p - q;
    case MUL: return p * q;
    case DIV: return quotient(p, q);
    case POW: return power(p, q);
    case MOD: {
      // The result has the divisor's sign.
      const COMPUTE m = remainder(p, q);
      return !UNSIGNED && m != 0l && (m ^ q) < 0l ? m + q : m;
    }
    case FMOD: return remainder(p, q);
    case MIN: return is_less(q, p) ? q : p;
    case MAX: return is_less(p, q) ? q : p;
    case PRELU: return negative ? p * q : p;
    case LOGICAL_AND: return p != 0l && q != 0l ? 1l : 0l;
    case LOGICAL_OR: return p != 0l || q != 0l ? 1l : 0l;
    case LOGICAL_XOR: return (p != 0l) != (q != 0l) ? 1l : 0l;
    case BITWISE_AND: return p & q;
    case BITWISE_OR: return p | q;
    case BITWISE_XOR: return p ^ q;
    case SHIFT_LEFT: return plain(q) < bits_of(TYPE_A) ? p << plain(q) : 0l;
    case SHIFT_RIGHT: return plain(q) < bits_of(TYPE_A) ? COMPUTE(plain(p) >> plain(q)) : 0l;
    case EQUAL: return p == q ? 1l : 0l;
    case LESS: return is_less(p, q) ? 1l : 0l;
    case LESS_EQUAL: return is_less(q, p) ? 0l : 1l;
    case GREATER: return is_less(q, p) ? 1l : 0l;
    case GREATER_EQUAL: return is_less(p, q) ? 0l : 1l;
    case WHERE: return p != 0l ? q : r;
    default: return p;
  }
}
