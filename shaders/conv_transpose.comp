// SPDX-License-Identifier: Apache-2.0
// Transposed convolution over two dimensions, or with DEPTH over three, channels last, gathered: each output element sums the
// taps that reach it. Weights as in conv.comp; four output channels of one pixel an invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "window.glsl"
#define FIRST_STEP_BINDING 3
#define FEW_STEPS
#include "steps.glsl"

layout(constant_id = 1) const bool Y_VECTORS = false;  // output channels of a group: fours

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer W { vec4 w[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(std430, binding = 2) writeonly buffer Yv { vec4 y_v[]; };
layout(push_constant) uniform Push {
  WINDOW_WORDS
  uint channels;
  uint group_channels;
  uint outputs;
  uint group_outputs;
  uint groups;
  uint work;  // vectors of a group, by pixels, by images, by groups
  DEPTH_WORDS
  Step steps[4];
};

void main() {
  uint i = invocation_index();
  if (i >= work) return;
  const ivec2 in_size = IN_SIZE;  // x, y
  const ivec2 out_size = OUT_SIZE;
  const ivec2 kernel = xy(kernel_hw);
  const ivec2 stride = xy(strides_hw);
  const ivec2 pad = xy(pads_hw);
  const ivec2 dilation = xy(dilations_hw);
  const uint vectors = (group_outputs + 3) / 4;
  const uint vector = i % vectors;
  i /= vectors;
  const uint group = i % groups;
  i /= groups;
  const uint pixel = i;
  const ivec2 at = ivec2(i % out_size.x, i / out_size.x % out_size.y);
  i = i / out_size.x / out_size.y;
#ifdef DEPTH
  const int oz = int(i % (in_out_depth >> 16));
  const uint image = i / (in_out_depth >> 16);
  const int in_depth = int(in_out_depth & 0xffff);
  const int kernel_depth = int(kernel_stride_depth & 0xffff);
  const int stride_depth = int(kernel_stride_depth >> 16);
#else
  const uint plane = i;
  const uint slice = group;
#endif

  vec4 sum = vec4(0.0);
#ifdef DEPTH
  for (int kz = 0; kz < kernel_depth; ++kz) {
  const int nz = oz + int(pad_dilation_depth & 0xffff) - kz * int(pad_dilation_depth >> 16);
  const int iz = nz / stride_depth;
  if (nz < 0 || uint(nz) % uint(stride_depth) != 0 || iz >= in_depth) continue;
  const uint plane = image * in_depth + iz;
  const uint slice = group * kernel_depth + kz;
#endif
  for (int ky = 0; ky < kernel.y; ++ky) {
    const int ny = at.y + pad.y - ky * dilation.y;
    const int iy = ny / stride.y;
    if (ny < 0 || uint(ny) % uint(stride.y) != 0 || iy >= in_size.y) continue;
    for (int kx = 0; kx < kernel.x; ++kx) {
      const int nx = at.x + pad.x - kx * dilation.x;
      const int ix = nx / stride.x;
      if (nx < 0 || uint(nx) % uint(stride.x) != 0 || ix >= in_size.x) continue;
      const uint from = ((plane * in_size.y + iy) * in_size.x + ix) * channels + group * group_channels;
      const uint tap = ((slice * kernel.y + ky) * kernel.x + kx) * group_channels * vectors + vector;
      for (uint c = 0; c < group_channels; ++c) sum = fma(vec4(x[from + c]), w[tap + c * vectors], sum);
    }
  }
#ifdef DEPTH
  }
#endif
  const uint n = 4 * vector;
  const uint first = pixel * outputs + group * group_outputs + n;
  APPLY_STEPS(sum, first)
  if (Y_VECTORS) {
    y_v[first / 4] = sum;
  } else {
    y[first] = sum.x;
    if (n + 1 < group_outputs) y[first + 1] = sum.y;
    if (n + 2 < group_outputs) y[first + 2] = sum.z;
    if (n + 3 < group_outputs) y[first + 3] = sum.w;
  }
}
