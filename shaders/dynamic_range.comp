// SPDX-License-Identifier: Apache-2.0
// The least and the greatest element, 0 included, in two passes: a pair for each workgroup's part of
// the tensor, then of the pairs the scale and the zero point that spread them over 0 to 255.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "rows.glsl"
#include "bytes.glsl"

layout(constant_id = 1) const bool LAST_PASS = false;

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Scale { float scale[]; };  // or the pairs
layout(std430, binding = 2) writeonly buffer Zero { uint zero[]; };
layout(push_constant) uniform Push {
  uint elements;  // of x; of the pairs: twice as many as there are
  uint part;      // elements of a workgroup
};

void main() {
  const uint group = workgroup_index();
  const uint first = group * part;
  if (first >= elements) return;
  const uint end = min(first + part, elements);
  float low = 0.0;
  float high = 0.0;
  for (uint i = first + gl_LocalInvocationID.x; i < end; i += gl_WorkGroupSize.x) {
    low = min_with_nan(low, x[i]);
    high = max_with_nan(high, x[i]);
  }
  low = row_min(low);
  high = row_max(high);
  if (gl_LocalInvocationID.x != 0) return;
  if (!LAST_PASS) {
    scale[2 * group] = low;
    scale[2 * group + 1] = high;
    return;
  }
  const float step = high == low ? 1.0 : rounded_quotient(high - low, 255.0);
  scale[0] = step;
  zero[0] = uint(roundEven(clamp(rounded_quotient(0.0 - low, step), 0.0, 255.0)));
}
