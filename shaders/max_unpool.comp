// SPDX-License-Identifier: Apache-2.0
// Elements back to where a max pool took them from: first their places in the result, then, with
// the owners of the places known (owners.comp), the result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const bool LAST_PASS = false;

layout(std430, binding = 0) readonly buffer X { uint x[]; };            // or owners, of the result
layout(std430, binding = 1) readonly buffer Indices { uvec2 indices[]; };  // i64; or x
layout(std430, binding = 1) readonly buffer Values { uint values[]; };
layout(std430, binding = 2) writeonly buffer Y { uint y[]; };           // or places
layout(push_constant) uniform Push {
  uint work;
  uint elements;  // of what was pooled
  uint from[6];   // its dimensions, innermost first
  uint to[6];     // those of the result
};

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  if (LAST_PASS) {
    const uint owner = x[i];
    y[i] = owner == 0 ? 0 : values[owner - 1];
    return;
  }
  uint index = indices[i].x;
  bool inside = indices[i].y == 0 && index < elements;
  uint place = 0, stride = 1;
  [[unroll]] for (uint d = 0; d < 6; ++d) {
    const uint at = index % from[d];
    index /= from[d];
    inside = inside && at < to[d];
    place += at * stride;
    stride *= to[d];
  }
  y[i] = inside ? place : 0xffffffffu;
}
