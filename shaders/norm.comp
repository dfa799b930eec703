// SPDX-License-Identifier: Apache-2.0
// Layer, RMS, group and instance normalisation of rows of neighbouring elements. Element i of row r
// has scale and bias number r % groups * group_size + i / inner % size.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "rows.glsl"

layout(constant_id = 1) const bool CENTER = true;
layout(constant_id = 2) const bool HAS_SCALE = true;
layout(constant_id = 3) const bool HAS_BIAS = true;
layout(constant_id = 4) const bool GIVES_MEAN = false;
layout(constant_id = 5) const bool GIVES_INVERSE = false;

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(std430, binding = 2) readonly buffer Scale { float scale[]; };
layout(std430, binding = 3) readonly buffer Bias { float bias[]; };
layout(std430, binding = 4) writeonly buffer Mean { float means[]; };
layout(std430, binding = 5) writeonly buffer Inverse { float inverses[]; };  // of the deviation
layout(push_constant) uniform Push {
  uint rows;
  uint length;
  uint groups;
  uint group_size;
  uint inner;
  uint size;
  float epsilon;
};

void main() {
  const uint row = workgroup_index();
  if (row >= rows) return;
  const uint base = row * length;
  const uint lanes = gl_WorkGroupSize.x;
  float mean = 0.0;
  if (CENTER) {
    for (uint i = gl_LocalInvocationID.x; i < length; i += lanes) mean += x[base + i];
    mean = row_sum(mean) / float(length);
  }
  float variance = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < length; i += lanes) {
    const float d = x[base + i] - mean;
    variance += d * d;
  }
  variance = row_sum(variance) / float(length);
  const float inverse = 1.0 / sqrt(variance + epsilon);
  if (GIVES_MEAN && gl_LocalInvocationID.x == 0) means[row] = mean;
  if (GIVES_INVERSE && gl_LocalInvocationID.x == 0) inverses[row] = inverse;
  const uint first = row % groups * group_size;
  for (uint i = gl_LocalInvocationID.x; i < length; i += lanes) {
    const uint c = first + i / inner % size;
    float v = (x[base + i] - mean) * inverse;
    if (HAS_SCALE) v *= scale[c];
    if (HAS_BIAS) v += bias[c];
    y[base + i] = v;
  }
}
