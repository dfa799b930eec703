// SPDX-License-Identifier: Apache-2.0
// Rows of neighbouring elements divided by their norm, or by epsilon where that is more; 0 where the
// norm is 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "rows.glsl"

layout(constant_id = 1) const bool SQUARES = true;  // else of sizes

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push {
  uint rows;
  uint length;
  float epsilon;
};

void main() {
  const uint row = workgroup_index();
  if (row >= rows) return;
  const uint base = row * length;
  const uint lanes = gl_WorkGroupSize.x;
  float sum = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < length; i += lanes) {
    const float v = x[base + i];
    sum += SQUARES ? v * v : abs(v);
  }
  sum = row_sum(sum);
  const float norm = SQUARES ? sqrt(sum) : sum;
  const float divisor = norm < epsilon ? epsilon : norm;
  for (uint i = gl_LocalInvocationID.x; i < length; i += lanes)
    y[base + i] = norm == 0.0 ? 0.0 : x[base + i] / divisor;
}
