// SPDX-License-Identifier: Apache-2.0
// One function of up to three operands that broadcast in any way, of any type that types.glsl has;
// four elements of the dense result an invocation. COMPUTE is float, int64_t (INTEGERS) or double
// (DOUBLES).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#include "common.glsl"
#include "scalar_ops.glsl"
#include "types.glsl"

layout(constant_id = 1) const uint OP = 0;
layout(constant_id = 2) const uint TYPE_A = 0;
layout(constant_id = 3) const uint TYPE_B = 0;  // 0: there is none
layout(constant_id = 4) const uint TYPE_C = 0;
layout(constant_id = 5) const uint TYPE_Y = 0;

layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) readonly buffer B { uint b[]; };
layout(std430, binding = 2) readonly buffer C { uint c[]; };
layout(std430, binding = 3) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint elements;
  uint dims[6];  // innermost first
  uint a_strides[6];
  uint b_strides[6];
  uint c_strides[6];
#if defined(INTEGERS) || defined(DOUBLES)
  uint first[2];  // alpha and beta, as words of 64 bits: a float holds only some of them
  uint second[2];
#else
  float alpha;
  float beta;
#endif
};

#ifdef INTEGERS
#include "broadcast_integers.glsl"
#elif defined(DOUBLES)
#include "broadcast_doubles.glsl"
#else
#include "small_floats.glsl"
#define COMPUTE float
COMPUTE from_words(uint type, uvec2 words) {
  if (type >= F8E4M3FN) return of_small_float(type, words.x);
  if (is_float(type)) return to_float(type, words.x);
  if (type == U64) return float(words.y) * 4294967296.0 + float(words.x);
  if (!is_signed(type)) return float(words.x);
  const int low = bitfieldExtract(int(words.x), 0, int(min(bits_of(type), 32u)));
  // A long may fit into a word.
  if (type != I64 || int(words.y) == low >> 31) return float(low);
  return float(int(words.y)) * 4294967296.0 + float(words.x);
}
// A whole number of at most 16 bits; of a NaN zero.
uint saturated(uint type, COMPUTE v) {
  if (is_nan(v)) return 0;
  const uint bits = type == I4 || type == U4 ? 4 : has_few_bits(type) ? 2 : bits_of(type);
  const float least = is_signed(type) ? -float(1u << (bits - 1)) : 0.0;
  return uint(int(clamp(v, least, least + float((1u << bits) - 1))));
}
uvec2 to_words(uint type, COMPUTE v) {
  if (OP == QUANTIZE && type < F8E4M3FN) return uvec2(saturated(type, v), 0);
  if (type == BYTE) return uvec2(v != 0.0 ? 1 : 0, 0);
  // Of a cast alpha says that it saturates, and beta is its PowerRounding.
  if (type >= F8E4M3FN) return uvec2(to_small_float(type, v, alpha != 0.0, uint(beta)), 0);
  return uvec2(of_float(type, v), 0);
}
COMPUTE evaluate(COMPUTE p, COMPUTE q, COMPUTE r) {
  if (OP == WHERE) return p != 0.0 ? q : r;
  // Of a scale q and a zero point r.
  if (OP == DEQUANTIZE) return (p - r) * q;
  if (OP == QUANTIZE) {
    const COMPUTE quotient = rounded_quotient(p, q);
    return (TYPE_Y < F8E4M3FN ? roundEven(quotient) : quotient) + r;
  }
  return OP < ADD ? unary(OP, vec4(p), alpha, beta).x : binary(OP, vec4(p), vec4(q)).x;
}
#endif

#define READ(name, words)                                                            \
  COMPUTE name(uint type, uint i) {                                                  \
    const uint bits = bits_of(type);                                                 \
    if (bits == 64) return from_words(type, uvec2(words[2 * i], words[2 * i + 1]));  \
    return from_words(type, uvec2(of_word(words[i / (32 / bits)], bits, i), 0));     \
  }
READ(read_a, a)
READ(read_b, b)
READ(read_c, c)

COMPUTE element(uint i) {
  uint at_a = 0, at_b = 0, at_c = 0;
  [[unroll]] for (uint d = 0; d < 6; ++d) {
    const uint at = i % dims[d];
    i /= dims[d];
    at_a += at * a_strides[d];
    if (TYPE_B != 0) at_b += at * b_strides[d];
    if (TYPE_C != 0) at_c += at * c_strides[d];
  }
  COMPUTE q = COMPUTE(0), r = COMPUTE(0);
  if (TYPE_B != 0) q = read_b(TYPE_B, at_b);
  if (TYPE_C != 0) r = read_c(TYPE_C, at_c);
  return evaluate(read_a(TYPE_A, at_a), q, r);
}

void main() {
  const uint first_element = 4 * invocation_index();
  if (first_element >= elements) return;
  const uint bits = bits_of(TYPE_Y);
  uvec2 narrow = uvec2(0);
  for (uint k = 0; k < 4; ++k) {
    const uint i = first_element + k;
    if (i >= elements) break;
    const uvec2 words = to_words(TYPE_Y, element(i));
    if (bits == 64) {
      y[2 * i] = words.x;
      y[2 * i + 1] = words.y;
    } else if (bits == 32) {
      y[i] = words.x;
    } else {
      narrow[k * bits / 32] |= bitfieldExtract(words.x, 0, int(bits)) << (k * bits % 32);
    }
  }
  if (bits == 8) y[first_element / 4] = narrow.x;
  if (bits == 16) {
    y[first_element / 2] = narrow.x;
    y[first_element / 2 + 1] = narrow.y;
  }
}
