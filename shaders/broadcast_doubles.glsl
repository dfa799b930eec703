// SPDX-License-Identifier: Apache-2.0
// The functions of broadcast.comp on f64, and its casts from and to all types.

#include "doubles.glsl"
#define REAL double
#include "integers.glsl"
#define COMPUTE double

COMPUTE from_words(uint type, uvec2 words) {
  if (type == F64) return packDouble2x32(words);
  if (is_float(type)) return double(to_float(type, words.x));
  const int64_t v = integer_of(type, words);
  return type == U64 ? double(uint64_t(v)) : double(v);
}
uvec2 to_words(uint type, COMPUTE v) {
  if (type == F64) return unpackDouble2x32(v);
  if (has_few_bits(type)) return words_of(low_bits(type, saturated(type, v)));
  if (!is_float(type)) return words_of(saturated(type, v));
  return uvec2(of_float(type, type == F32 ? float(v) : rounded_to_odd(v)), 0);
}
COMPUTE modulo(COMPUTE p, COMPUTE q) {
  // Like q in sign.
  const COMPUTE r = remainder(p, q);
  return r != 0.0lf && (r < 0.0lf) != (q < 0.0lf) ? r + q : r;
}
COMPUTE truth(bool v) {
  return v ? 1.0lf : 0.0lf;
}

COMPUTE evaluate(COMPUTE p, COMPUTE q, COMPUTE r) {
  const COMPUTE alpha = packDouble2x32(uvec2(first[0], first[1]));
  const COMPUTE beta = packDouble2x32(uvec2(second[0], second[1]));
  switch (OP) {
    case ABS: return abs(p);
    case NEG: return -p;
    case SIGN: return p > 0.0lf ? 1.0lf : p < 0.0lf ? -1.0lf : p;
    case CEIL: return ceil(p);
    case FLOOR: return floor(p);
    case ROUND: return roundEven(p);
    case SQRT: return sqrt(p);
    case RECIPROCAL: return 1.0lf / p;
    case EXP: return exponential(p);
    case LOG: return logarithm(p);
    case SIN: return sine(p, 0);
    case COS: return sine(p, 1);
    case RELU: return p < 0.0lf ? 0.0lf : p;
    case LEAKY_RELU: return p < 0.0lf ? alpha * p : p;
    case THRESHOLDED_RELU: return p > alpha ? p : 0.0lf;
    case CLIP: {
      const COMPUTE v = p < alpha ? alpha : p;
      return v > beta ? beta : v;
    }
    case AFFINE: return alpha * p + beta;
    case IS_NAN: return truth(is_nan(p));
    case IS_INF: return truth(is_inf(p) && (p < 0.0lf ? alpha : beta) != 0.0lf);
    case ADD: return p + q;
    case SUB: return p - q;
    case MUL: return p * q;
    case DIV: return p / q;
    case POW: return power(p, q);
    case MOD: return modulo(p, q);
    case FMOD: return remainder(p, q);
    case MIN: return is_nan(p) || p < q ? p : q;
    case MAX: return is_nan(p) || p > q ? p : q;
    case PRELU: return p < 0.0lf ? p * q : p;
    case LOGICAL_OR: return truth(p != 0.0lf || q != 0.0lf);
    case EQUAL: return truth(p == q);
    case LESS: return truth(p < q);
    case LESS_EQUAL: return truth(p <= q);
    case GREATER: return truth(p > q);
    case GREATER_EQUAL: return truth(p >= q);
    case WHERE: return p != 0.0lf ? q : r;
    default: return p;
  }
}
