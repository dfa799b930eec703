// SPDX-License-Identifier: Apache-2.0
// Multiply-adds in registers and nothing else: how fast a device computes at most. Three chains of
// vectors hide the latency of one, and fit the registers of a CPU that plays a GPU.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(std430, binding = 0) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push {
  uint rounds;
  float factor, addend;
};

void main() {
  const uint at = invocation_index();
  vec4 sums[3];
  [[unroll]] for (uint i = 0; i < 3; ++i) sums[i] = vec4(at, at + 1, at + 2, at + 3) * float(i);
  for (uint r = 0; r < rounds; ++r)
    [[unroll]] for (uint i = 0; i < 3; ++i) sums[i] = fma(sums[i], vec4(factor), vec4(addend));
  const vec4 sum = sums[0] + sums[1] + sums[2];
  y[at] = sum.x + sum.y + sum.z + sum.w;
}
