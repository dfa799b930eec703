// SPDX-License-Identifier: Apache-2.0
// Convolution of each channel by itself, channels last: x [n, h, w, c], weights [ky][kx][c], c a
// multiple of four. An invocation has four channels of PIXELS neighbours in a row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "lines.glsl"
#include "window.glsl"
#define FIRST_STEP_BINDING 3
#define FEW_STEPS
#include "steps.glsl"

layout(constant_id = 1) const uint PIXELS = 4;

layout(std430, binding = 0) readonly buffer X { vec4 x[]; };
layout(std430, binding = 1) readonly buffer W { vec4 w[]; };
layout(std430, binding = 2) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform Push {
  WINDOW_WORDS
  uint vectors;    // of four channels
  uint row_tiles;  // of PIXELS in a row of y
  Step steps[4];
};

void main() {
  const ivec2 in_size = IN_SIZE;
  const ivec2 out_size = OUT_SIZE;
  const ivec2 kernel = xy(kernel_hw);
  const ivec2 stride = xy(strides_hw);
  const ivec2 pad = xy(pads_hw);
  const ivec2 dilation = xy(dilations_hw);

  const uint c = gl_WorkGroupID.x * ACROSS + place_in_line();
  const uint ox = line_index() % row_tiles * PIXELS;
  const uint oy = line_index() / row_tiles;
  const uint image = gl_WorkGroupID.z;
  if (c >= vectors || oy >= out_size.y) return;

  vec4 sums[PIXELS];
  [[unroll]] for (uint i = 0; i < PIXELS; ++i) sums[i] = vec4(0.0);
  const ivec2 origin = ivec2(ox, oy) * stride - pad;
  for (int ky = 0; ky < kernel.y; ++ky) {
    const int iy = origin.y + ky * dilation.y;
    if (iy < 0 || iy >= in_size.y) continue;
    const uint row = (image * in_size.y + iy) * in_size.x;
    for (int kx = 0; kx < kernel.x; ++kx) {
      const vec4 k = w[(ky * kernel.x + kx) * vectors + c];
      [[unroll]] for (uint i = 0; i < PIXELS; ++i) {
        const int ix = origin.x + int(i) * stride.x + kx * dilation.x;
        if (ix >= 0 && ix < in_size.x) sums[i] = fma(x[(row + ix) * vectors + c], k, sums[i]);
      }
    }
  }
  [[unroll]] for (uint i = 0; i < PIXELS; ++i) {
    if (ox + i < out_size.x) {
      vec4 v = sums[i];
      const uint at = ((image * out_size.y + oy) * out_size.x + ox + i) * vectors + c;
      APPLY_STEPS(v, at * 4)
      y[at] = v;
    }
  }
}
