// SPDX-License-Identifier: Apache-2.0
// reduce.comp for integers of all types, which wrap, or for f64 (DOUBLES). Rows whose results share
// a word have one workgroup.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#include "common.glsl"
#include "types.glsl"

// ReduceKind, as far as it goes for the type, then the two of ArgReduce.
const uint SUM = 0, MEAN = 1, MAX = 2, MIN = 3, PROD = 4, L1 = 5, L2 = 6, LOG_SUM = 7,
           LOG_SUM_EXP = 8, SUM_SQUARE = 9, ARG_MAX = 10, ARG_MIN = 11;
layout(constant_id = 1) const uint KIND = SUM;
layout(constant_id = 2) const bool LAST = false;  // of equal ones, for ARG_*
layout(constant_id = 3) const uint TYPE = I32;

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint rows;
  uint length;
};

#ifdef DOUBLES
#include "doubles.glsl"
#define NUMBER double
NUMBER number_of(uvec2 words) {
  return packDouble2x32(words);
}
uvec2 words_of(NUMBER v) {
  return unpackDouble2x32(v);
}
// NaNs are beyond all others, in both directions.
bool is_beyond(bool greatest, NUMBER a, NUMBER b) {
  if (is_nan(a) || is_nan(b)) return is_nan(a) && !is_nan(b);
  return greatest ? a > b : a < b;
}
NUMBER term(NUMBER v, NUMBER shift) {
  if (KIND == L1) return abs(v);
  if (KIND == L2 || KIND == SUM_SQUARE) return v * v;
  return KIND == LOG_SUM_EXP ? exponential(v - shift) : v;
}
NUMBER result_of(NUMBER r, NUMBER shift) {
  if (KIND == MEAN) return r / double(length);
  if (KIND == L2) return sqrt(r);
  if (KIND == LOG_SUM) return logarithm(r);
  return KIND == LOG_SUM_EXP ? logarithm(r) + shift : r;
}
#else
#include "integers.glsl"
#define NUMBER int64_t
NUMBER number_of(uvec2 words) {
  return integer_of(TYPE, words);
}
bool is_beyond(bool greatest, NUMBER a, NUMBER b) {
  const NUMBER flipped = TYPE == U64 ? NUMBER(1) << 63 : NUMBER(0);
  return greatest ? (a ^ flipped) > (b ^ flipped) : (a ^ flipped) < (b ^ flipped);
}
NUMBER term(NUMBER v, NUMBER shift) {
  if (KIND == L1) return TYPE != U64 && v < 0l ? -v : v;
  return KIND == SUM_SQUARE ? v * v : v;
}
NUMBER result_of(NUMBER r, NUMBER shift) {
  if (KIND != MEAN) return r;
  return is_signed(TYPE) ? r / NUMBER(length) : NUMBER(uint64_t(r) / length);
}
#endif

shared NUMBER partials[gl_WorkGroupSize.x];
shared uint places[gl_WorkGroupSize.x];

const bool FINDS = KIND == ARG_MAX || KIND == ARG_MIN;

NUMBER element(uint i) {
  const uint bits = bits_of(TYPE);
  if (bits == 64) return number_of(uvec2(x[2 * i], x[2 * i + 1]));
  return number_of(uvec2(of_word(x[i / (32 / bits)], bits, i), 0));
}
// Puts b, which stood at `place`, together with what lane has.
void combine(uint kind, uint lane, NUMBER b, uint place) {
  const NUMBER a = partials[lane];
  const bool greatest = kind == MAX || kind == ARG_MAX;
  if (kind == ARG_MAX || kind == ARG_MIN) {
    if (is_beyond(greatest, a, b)) return;
    const bool same = !is_beyond(greatest, b, a);
    if (same && (LAST ? place < places[lane] : place > places[lane])) return;
    partials[lane] = b;
    places[lane] = place;
  } else if (kind == MAX || kind == MIN) {
    partials[lane] = is_beyond(greatest, b, a) ? b : a;
  } else {
    partials[lane] = kind == PROD ? a * b : a + b;
  }
}
// Of a row that begins at `base`, with all invocations.
NUMBER fold(uint kind, uint base, NUMBER shift) {
  const uint lane = gl_LocalInvocationID.x;
  // Lanes without an element of their own start with the first of the row where that changes
  // nothing.
  const bool is_sum = kind != MAX && kind != MIN && kind != ARG_MAX && kind != ARG_MIN;
  partials[lane] = is_sum ? NUMBER(kind == PROD ? 1 : 0) : element(base);
  places[lane] = 0;
  for (uint i = lane; i < length; i += gl_WorkGroupSize.x) {
    const NUMBER v = element(base + i);
    combine(kind, lane, is_sum ? term(v, shift) : v, i);
  }
  barrier();
  for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
    if (lane < step) combine(kind, lane, partials[lane + step], places[lane + step]);
    barrier();
  }
  return partials[0];
}

void main() {
  const uint bits = FINDS ? 64 : bits_of(TYPE);
  const uint in_a_word = 32 / min(bits, 32u);
  uvec2 found = uvec2(0);
  for (uint k = 0; k < in_a_word; ++k) {
    const uint row = workgroup_index() * in_a_word + k;
    if (row >= rows) break;
    NUMBER shift = NUMBER(0);
#ifdef DOUBLES
    if (KIND == LOG_SUM_EXP) {
      shift = fold(MAX, row * length, shift);
      if (is_inf(shift) || is_nan(shift)) shift = NUMBER(0);
      barrier();
    }
#endif
    const NUMBER r = result_of(fold(KIND, row * length, shift), shift);
    const uvec2 words = FINDS ? uvec2(places[0], 0) : words_of(r);
    barrier();
    found = bits >= 32 ? words : found | uvec2(of_word(words.x, bits, 0) << (k * bits), 0);
  }
  if (gl_LocalInvocationID.x != 0 || workgroup_index() * in_a_word >= rows) return;
  if (bits == 64) {
    y[2 * workgroup_index()] = found.x;
    y[2 * workgroup_index() + 1] = found.y;
  } else {
    y[workgroup_index()] = found.x;
  }
}
