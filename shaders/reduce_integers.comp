// SPDX-License-Identifier: Apache-2.0
// reduce.comp for integers of 32 or 64 bits, which wrap.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#include "common.glsl"
#include "types.glsl"
#include "integers.glsl"

// ReduceKind, as far as it goes for integers, then the two of ArgReduce.
const uint SUM = 0, MAX = 2, MIN = 3, PROD = 4, L1 = 5, SUM_SQUARE = 9, ARG_MAX = 10, ARG_MIN = 11;
layout(constant_id = 1) const uint KIND = SUM;
layout(constant_id = 2) const bool LAST = false;  // of equal ones, for ARG_*
layout(constant_id = 3) const uint WORDS = 2;     // of an element

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint rows;
  uint length;
};

shared int64_t partials[gl_WorkGroupSize.x];
shared uint places[gl_WorkGroupSize.x];

const bool FINDS = KIND == ARG_MAX || KIND == ARG_MIN;

int64_t element(uint i) {
  return WORDS == 1 ? widened(x[i]) : of_words(uvec2(x[2 * i], x[2 * i + 1]));
}
// Puts b, which stood at `place`, together with what lane has.
void combine(uint lane, int64_t b, uint place) {
  const int64_t a = partials[lane];
  if (FINDS) {
    const bool better = KIND == ARG_MAX ? b > a : b < a;
    if (!better && !(b == a && (LAST ? place > places[lane] : place < places[lane]))) return;
    partials[lane] = b;
    places[lane] = place;
  } else if (KIND == MAX) {
    partials[lane] = max(a, b);
  } else if (KIND == MIN) {
    partials[lane] = min(a, b);
  } else {
    partials[lane] = KIND == PROD ? a * b : a + b;
  }
}

void main() {
  const uint row = workgroup_index();
  if (row >= rows) return;
  const uint lane = gl_LocalInvocationID.x;
  // Lanes without an element of their own start with the first of the row where that changes
  // nothing.
  const bool keeps_any = FINDS || KIND == MAX || KIND == MIN;
  partials[lane] = keeps_any ? element(row * length) : KIND == PROD ? 1l : 0l;
  places[lane] = 0;
  for (uint i = lane; i < length; i += gl_WorkGroupSize.x) {
    int64_t v = element(row * length + i);
    if (KIND == L1) v = v < 0l ? -v : v;
    if (KIND == SUM_SQUARE) v *= v;
    combine(lane, v, i);
  }
  barrier();
  for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
    if (lane < step) combine(lane, partials[lane + step], places[lane + step]);
    barrier();
  }
  if (lane != 0) return;
  const uint64_t r = FINDS ? uint64_t(places[0]) : uint64_t(partials[0]);
  if (WORDS == 1 && !FINDS) {
    y[row] = uint(r);
  } else {
    y[2 * row] = uint(r);
    y[2 * row + 1] = uint(r >> 32);
  }
}
