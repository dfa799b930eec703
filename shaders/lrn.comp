// SPDX-License-Identifier: Apache-2.0
// Local response normalisation: y = x / (bias + alpha / size * s)^beta, s the sum of squares over
// the channels around each one.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "scalar_ops.glsl"

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push {
  uint elements;
  uint stride;    // between two channels
  uint channels;
  uint before;    // channels of the window, its own left out
  uint behind;
  float alpha;    // by the size of the window
  float beta;
  float bias;
};

void main() {
  const uint i = invocation_index();
  if (i >= elements) return;
  const uint c = i / stride % channels;
  const uint first = c - min(c, before);
  const uint end = min(c + behind, channels - 1) + 1;
  float sum = 0.0;
  for (uint k = first; k < end; ++k) {
    const float v = x[i + k * stride - c * stride];
    sum = fma(v, v, sum);
  }
  y[i] = x[i] * power(bias + alpha * sum, -beta);
}
