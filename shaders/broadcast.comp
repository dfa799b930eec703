// SPDX-License-Identifier: Apache-2.0
// One function of up to three operands that broadcast in any way, of any type that the device
// stores; four elements of the dense result an invocation. COMPUTE is float or int64_t.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#include "common.glsl"
#include "scalar_ops.glsl"

const uint F32 = 1, I32 = 2, BYTE = 3, I64 = 4, F16 = 5, U32 = 6, U64 = 7;
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
#ifdef INTEGERS
  uint low[2];  // of CLIP, as words of 64 bits: a float holds only some of them
  uint high[2];
#else
  float alpha;
  float beta;
#endif
};

#ifdef INTEGERS
#include "integers.glsl"
#define COMPUTE int64_t
COMPUTE from_word(uint type, uint word, uint high, uint i) {
  if (type == F32) {
    // Truncates and saturates; a NaN is zero.
    const float f = uintBitsToFloat(word);
    if (f != f) return int64_t(0);
    if (f >= 9.2233720368547758e18) return 0x7fffffffffffffffl;
    if (f <= -9.2233720368547758e18) return -0x7fffffffffffffffl - 1l;
    return int64_t(f);
  }
  if (type == I32) return widened(word);
  if (type == BYTE) return int64_t(word >> (i % 4 * 8) & 0xffu);
  return of_words(uvec2(word, high));
}
uvec2 to_words(uint type, COMPUTE v) {
  if (type == F32) return uvec2(floatBitsToUint(float(v)), 0);
  // Floats saturate, integers wrap.
  if (type == I32 && TYPE_A == F32)
    return uvec2(uint(int(clamp(v, -2147483648l, 2147483647l))), 0);
  return uvec2(uint(uint64_t(v)), uint(uint64_t(v) >> 32));
}
COMPUTE quotient(COMPUTE p, COMPUTE q) {
  if (q == 0l) return 0l;
  return q == -1l ? -p : p / q;
}
COMPUTE remainder(COMPUTE p, COMPUTE q) {
  return p - q * quotient(p, q);
}
COMPUTE evaluate(COMPUTE p, COMPUTE q, COMPUTE r) {
  switch (OP) {
    case ABS: return p < 0l ? -p : p;
    case NEG: return -p;
    case SIGN: return p > 0l ? 1l : p < 0l ? -1l : 0l;
    case RELU: return p > 0l ? p : 0l;
    case LOGICAL_NOT: return p == 0l ? 1l : 0l;
    case CLIP: return min(max(p, of_words(uvec2(low[0], low[1]))), of_words(uvec2(high[0], high[1])));
    case ADD: return p + q;
    case SUB: return p - q;
    case MUL: return p * q;
    case DIV: return quotient(p, q);
    case MOD: {
      if (q == 0l) return 0l;
      // The result has the divisor's sign.
      const COMPUTE m = remainder(p, q);
      return m != 0l && (m ^ q) < 0l ? m + q : m;
    }
    case FMOD: return q == 0l ? 0l : remainder(p, q);
    case MIN: return min(p, q);
    case MAX: return max(p, q);
    case LOGICAL_AND: return p != 0l && q != 0l ? 1l : 0l;
    case LOGICAL_OR: return p != 0l || q != 0l ? 1l : 0l;
    case LOGICAL_XOR: return (p != 0l) != (q != 0l) ? 1l : 0l;
    case EQUAL: return p == q ? 1l : 0l;
    case LESS: return p < q ? 1l : 0l;
    case LESS_EQUAL: return p <= q ? 1l : 0l;
    case GREATER: return p > q ? 1l : 0l;
    case GREATER_EQUAL: return p >= q ? 1l : 0l;
    case WHERE: return p != 0l ? q : r;
    default: return p;
  }
}
#else
#define COMPUTE float
COMPUTE from_word(uint type, uint word, uint high, uint i) {
  if (type == F32) return uintBitsToFloat(word);
  if (type == I32) return float(int(word));
  if (type == U32) return float(word);
  if (type == I64 && int(high) == int(word) >> 31) return float(int(word));
  if (type == I64) return float(int(high)) * 4294967296.0 + float(word);
  if (type == U64) return float(high) * 4294967296.0 + float(word);
  if (type == F16) return unpackHalf2x16(word)[i % 2];
  return float(word >> (i % 4 * 8) & 0xffu);
}
uvec2 to_words(uint type, COMPUTE v) {
  return uvec2(floatBitsToUint(v), 0);
}
COMPUTE evaluate(COMPUTE p, COMPUTE q, COMPUTE r) {
  if (OP == WHERE) return p != 0.0 ? q : r;
  return OP < ADD ? unary(OP, vec4(p), alpha, beta).x : binary(OP, vec4(p), vec4(q)).x;
}
#endif

#define READ(name, words)                                                        \
  COMPUTE name(uint type, uint i) {                                              \
    if (type == BYTE) return from_word(type, words[i / 4], 0, i);                \
    if (type == F16) return from_word(type, words[i / 2], 0, i);                 \
    if (type == I64 || type == U64)                                              \
      return from_word(type, words[2 * i], words[2 * i + 1], i);                 \
    return from_word(type, words[i], 0, i);                                      \
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
  const uint first = 4 * invocation_index();
  if (first >= elements) return;
  uint bytes = 0;
#ifndef INTEGERS
  vec4 halves = vec4(0.0);
#endif
  [[unroll]] for (uint k = 0; k < 4; ++k) {
    const uint i = first + k;
    if (i >= elements) break;
    const COMPUTE v = element(i);
    const uvec2 words = to_words(TYPE_Y, v);
    if (TYPE_Y == BYTE) {
#ifdef INTEGERS
      bytes |= (uint(TYPE_A == F32 ? clamp(v, 0l, 255l) : v) & 0xffu) << (8 * k);
#else
      bytes |= (v != 0.0 ? 1u : 0u) << (8 * k);
#endif
#ifndef INTEGERS
    } else if (TYPE_Y == F16) {
      halves[k] = v;
#endif
    } else if (TYPE_Y == I64) {
      y[2 * i] = words.x;
      y[2 * i + 1] = words.y;
    } else {
      y[i] = words.x;
    }
  }
  if (TYPE_Y == BYTE) y[first / 4] = bytes;
#ifndef INTEGERS
  if (TYPE_Y == F16) {
    y[first / 2] = packHalf2x16(halves.xy);
    y[first / 2 + 1] = packHalf2x16(halves.zw);
  }
#endif
}
