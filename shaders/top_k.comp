// SPDX-License-Identifier: Apache-2.0
// The k best elements of rows of neighbouring elements, best first, a workgroup a row: each round
// finds the best of those that come after the last one found. Equal ones by their index.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const bool LARGEST = true;
layout(constant_id = 2) const bool INTEGERS = false;
layout(constant_id = 3) const bool GIVES_VALUES = true;
layout(constant_id = 4) const bool GIVES_INDICES = true;

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) writeonly buffer Values { uint values[]; };
layout(std430, binding = 2) writeonly buffer Indices { uvec2 indices[]; };
layout(push_constant) uniform Push {
  uint rows;
  uint length;
  uint k;
};

shared uvec2 best[gl_WorkGroupSize.x];  // key, index

const uvec2 NOTHING = uvec2(0, 0xffffffffu);

// Whole numbers in the order of the elements, the best one the greatest; a NaN is the greatest
// element, and both zeros are one.
uint key_of(uint bits) {
  uint key = bits ^ 0x80000000u;
  if (!INTEGERS) {
    if ((bits & 0x7fffffffu) == 0) bits = 0;
    key = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    if ((bits & 0x7fffffffu) > 0x7f800000u) key = 0xffffffffu;
  }
  return LARGEST ? key : ~key;
}
bool is_before(uvec2 a, uvec2 b) {
  return a.x > b.x || (a.x == b.x && a.y < b.y);
}

void main() {
  const uint row = workgroup_index();
  if (row >= rows) return;
  const uint lane = gl_LocalInvocationID.x;
  uvec2 last = NOTHING;
  for (uint round = 0; round < k; ++round) {
    uvec2 mine = NOTHING;
    for (uint i = lane; i < length; i += gl_WorkGroupSize.x) {
      const uvec2 candidate = uvec2(key_of(x[row * length + i]), i);
      if ((round == 0 || is_before(last, candidate)) && is_before(candidate, mine))
        mine = candidate;
    }
    best[lane] = mine;
    barrier();
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
      if (lane < step && is_before(best[lane + step], best[lane])) best[lane] = best[lane + step];
      barrier();
    }
    last = best[0];
    barrier();
    if (lane == 0) {
      if (GIVES_VALUES) values[row * k + round] = x[row * length + last.y];
      if (GIVES_INDICES) indices[row * k + round] = uvec2(last.y, 0);
    }
  }
}
