// SPDX-License-Identifier: Apache-2.0
// Softmax, log-softmax and hardmax of rows of neighbouring elements.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "rows.glsl"

const uint SOFTMAX = 0, LOG_SOFTMAX = 1, HARDMAX = 2;  // SoftmaxKind
layout(constant_id = 1) const uint KIND = SOFTMAX;
layout(constant_id = 2) const bool EMPTY_IS_ZERO = false;  // a row of nothing but -inf

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push {
  uint rows;
  uint length;
};

#include "best_index.glsl"

void main() {
  const uint row = workgroup_index();
  if (row >= rows) return;
  const uint base = row * length;
  const uint lanes = gl_WorkGroupSize.x;
  float most = uintBitsToFloat(0xff800000u);
  if (KIND == HARDMAX) {
    for (uint i = gl_LocalInvocationID.x; i < length; i += lanes)
      most = max_with_nan(most, x[base + i]);
    const uint best = best_index(base, row_max(most), false);
    for (uint i = gl_LocalInvocationID.x; i < length; i += lanes) y[base + i] = i == best ? 1.0 : 0.0;
    return;
  }
  for (uint i = gl_LocalInvocationID.x; i < length; i += lanes) most = max(most, x[base + i]);
  most = row_max(most);
  if (EMPTY_IS_ZERO && most == uintBitsToFloat(0xff800000u)) {
    for (uint i = gl_LocalInvocationID.x; i < length; i += lanes) y[base + i] = 0.0;
    return;
  }
  float sum = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < length; i += lanes) sum += exp(x[base + i] - most);
  sum = row_sum(sum);
  const float scale = 1.0 / sum;
  const float log_sum = log(sum);  // not added to `most`, whose digits would swallow its own
  for (uint i = gl_LocalInvocationID.x; i < length; i += lanes)
    y[base + i] = KIND == LOG_SOFTMAX ? x[base + i] - most - log_sum : exp(x[base + i] - most) * scale;
}
