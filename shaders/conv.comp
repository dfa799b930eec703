// SPDX-License-Identifier: Apache-2.0
// Convolution over two dimensions, or with DEPTH over three, channels last, as a product without its
// matrix in memory:
// x [n, (d,) h, w, c], weights [group][(kz)][ky][kx][c of the group][o of the group, padded to four].
//
// An invocation has PIXELS neighbours of one row x VECTORS_EACH vectors of four output channels in
// registers; those of a line stand side by side along the channels, so that all of them read the
// same elements of x and branch alike.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "lines.glsl"
#include "window.glsl"
#define FIRST_STEP_BINDING 3
#define FEW_STEPS
#include "steps.glsl"

layout(constant_id = 1) const uint PIXELS = 8;
layout(constant_id = 2) const uint VECTORS_EACH = 2;
layout(constant_id = 3) const bool X_VECTORS = false;  // channels of a group: multiples of four
layout(constant_id = 4) const bool Y_VECTORS = false;  // output channels of a group: likewise

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 0) readonly buffer Xv { vec4 x_v[]; };
layout(std430, binding = 1) readonly buffer W { vec4 w[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(std430, binding = 2) writeonly buffer Yv { vec4 y_v[]; };
layout(push_constant) uniform Push {
  WINDOW_WORDS
  uint channels;     // of x
  uint group_channels;
  uint outputs;      // channels of y
  uint group_outputs;
  uint groups;
  uint row_tiles;    // of PIXELS in a row of y
  DEPTH_WORDS
  Step steps[4];
};

void main() {
  const ivec2 in_size = IN_SIZE;  // x, y
  const ivec2 out_size = OUT_SIZE;
  const ivec2 kernel = xy(kernel_hw);
  const ivec2 stride = xy(strides_hw);
  const ivec2 pad = xy(pads_hw);
  const ivec2 dilation = xy(dilations_hw);

  const uint vector = gl_WorkGroupID.x * ACROSS * VECTORS_EACH + place_in_line();
  const uint ox = line_index() % row_tiles * PIXELS;
  const uint out_row = line_index() / row_tiles;  // of all planes; the last line may have none
  const uint group = gl_WorkGroupID.z % groups;
  const uint image = gl_WorkGroupID.z / groups;

  const uint weight_vectors = (group_outputs + 3) / 4;
  uint column[VECTORS_EACH];
  vec4 sums[PIXELS][VECTORS_EACH];
  [[unroll]] for (uint j = 0; j < VECTORS_EACH; ++j) {
    column[j] = min(vector + j * ACROSS, weight_vectors - 1);
    [[unroll]] for (uint i = 0; i < PIXELS; ++i) sums[i][j] = vec4(0.0);
  }
#ifdef DEPTH
  const uint oy = out_row % out_size.y;
  const uint oz = out_row / out_size.y;
  const int in_depth = int(in_out_depth & 0xffff);
  const int kernel_depth = int(kernel_stride_depth & 0xffff);
  const int first_z = int(oz * (kernel_stride_depth >> 16)) - int(pad_dilation_depth & 0xffff);
  const uint out_rows = (in_out_depth >> 16) * out_size.y;
#else
  const uint oy = out_row;
  const uint out_rows = out_size.y;
  const uint plane = image;
  const uint slice = group;
#endif
  const ivec2 origin = ivec2(ox, oy) * stride - pad;
#ifdef DEPTH
  for (int kz = 0; kz < kernel_depth; ++kz) {
  const int iz = first_z + kz * int(pad_dilation_depth >> 16);
  if (iz < 0 || iz >= in_depth) continue;
  const uint plane = image * in_depth + iz;
  const uint slice = group * kernel_depth + kz;
#endif
  for (int ky = 0; ky < kernel.y; ++ky) {
    const int iy = origin.y + ky * dilation.y;
    if (iy < 0 || iy >= in_size.y) continue;
    const uint row = (plane * in_size.y + iy) * in_size.x;
    for (int kx = 0; kx < kernel.x; ++kx) {
      uint from[PIXELS];
      bool inside[PIXELS];
      [[unroll]] for (uint i = 0; i < PIXELS; ++i) {
        const int ix = origin.x + int(i) * stride.x + kx * dilation.x;
        inside[i] = ix >= 0 && ix < in_size.x;
        from[i] = (row + clamp(ix, 0, in_size.x - 1)) * channels + group * group_channels;
      }
      const uint tap = ((slice * kernel.y + ky) * kernel.x + kx) * group_channels * weight_vectors;
      uint c = 0;
      if (X_VECTORS) {
        for (; c < group_channels; c += 4) {
          vec4 v[PIXELS];
          [[unroll]] for (uint i = 0; i < PIXELS; ++i)
            v[i] = mix(vec4(0.0), x_v[(from[i] + c) / 4], bvec4(inside[i]));
          [[unroll]] for (uint q = 0; q < 4; ++q)
            [[unroll]] for (uint j = 0; j < VECTORS_EACH; ++j) {
              const vec4 k = w[tap + (c + q) * weight_vectors + column[j]];
              [[unroll]] for (uint i = 0; i < PIXELS; ++i)
                sums[i][j] = fma(vec4(v[i][q]), k, sums[i][j]);
            }
        }
      } else {
        for (; c < group_channels; ++c) {
          [[unroll]] for (uint j = 0; j < VECTORS_EACH; ++j) {
            const vec4 k = w[tap + c * weight_vectors + column[j]];
            [[unroll]] for (uint i = 0; i < PIXELS; ++i)
              sums[i][j] = fma(vec4(mix(0.0, x[from[i] + c], inside[i])), k, sums[i][j]);
          }
        }
      }
    }
  }
#ifdef DEPTH
  }
#endif

  [[unroll]] for (uint i = 0; i < PIXELS; ++i) {
    if (ox + i < out_size.x && (ONE_LINE || out_row < out_rows)) {
      const uint pixel = ((image * out_rows + out_row) * out_size.x + ox + i) * outputs;
      [[unroll]] for (uint j = 0; j < VECTORS_EACH; ++j) {
        const uint n = 4 * (vector + j * ACROSS);
        if (n < group_outputs) {
          vec4 v = sums[i][j];
          const uint at = pixel + group * group_outputs + n;
          APPLY_STEPS(v, at)
          if (Y_VECTORS) {
            y_v[at / 4] = v;
          } else {
            y[at] = v.x;
            if (n + 1 < group_outputs) y[at + 1] = v.y;
            if (n + 2 < group_outputs) y[at + 2] = v.z;
            if (n + 3 < group_outputs) y[at + 3] = v.w;
          }
        }
      }
    }
  }
}
