// SPDX-License-Identifier: Apache-2.0
// y = (x - mean) / sqrt(variance + epsilon) * scale + bias by channel, which is i / stride % count
// for element i.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Scale { float scale[]; };
layout(std430, binding = 2) readonly buffer Bias { float bias[]; };
layout(std430, binding = 3) readonly buffer Mean { float mean[]; };
layout(std430, binding = 4) readonly buffer Variance { float variance[]; };
layout(std430, binding = 5) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push {
  uint elements;
  uint stride;
  uint count;
  float epsilon;
};

void main() {
  const uint i = invocation_index();
  if (i >= elements) return;
  const uint c = i / stride % count;
  y[i] = (x[i] - mean[c]) * (scale[c] / sqrt(variance[c] + epsilon)) + bias[c];
}
