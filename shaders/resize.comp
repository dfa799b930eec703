// SPDX-License-Identifier: Apache-2.0
// Resampling over two dimensions, channels last: along each, an output element is a weighted sum of
// `taps` input elements, which the tables hold as pairs of index and weight.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const bool VECTORS = true;  // channels is a multiple of four

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 0) readonly buffer Xv { vec4 x_v[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(std430, binding = 1) writeonly buffer Yv { vec4 y_v[]; };
layout(std430, binding = 2) readonly buffer Rows { uvec2 row_taps[]; };
layout(std430, binding = 3) readonly buffer Columns { uvec2 column_taps[]; };
layout(push_constant) uniform Push {
  uint work;
  uint in_height;
  uint in_width;
  uint out_height;
  uint out_width;
  uint channels;
  uint row_tap_count;
  uint column_tap_count;
};

void main() {
  uint i = invocation_index();
  if (i >= work) return;
  const uint step = VECTORS ? 4 : 1;
  const uint c = i % (channels / step) * step;
  i /= channels / step;
  const uint ox = i % out_width;
  const uint oy = i / out_width % out_height;
  const uint image = i / out_width / out_height;
  vec4 sum = vec4(0.0);
  for (uint a = 0; a < row_tap_count; ++a) {
    const uvec2 row = row_taps[oy * row_tap_count + a];
    for (uint b = 0; b < column_tap_count; ++b) {
      const uvec2 column = column_taps[ox * column_tap_count + b];
      const float weight = uintBitsToFloat(row.y) * uintBitsToFloat(column.y);
      const uint at = ((image * in_height + row.x) * in_width + column.x) * channels + c;
      if (weight != 0.0) sum += weight * (VECTORS ? x_v[at / 4] : vec4(x[at]));
    }
  }
  if (VECTORS) y_v[(i * channels + c) / 4] = sum;
  else y[i * channels + c] = sum.x;
}
