// SPDX-License-Identifier: Apache-2.0
// Convolution of bytes over two dimensions, channels last, in sums of 32 bits; products of matrices
// as convolutions of points. Weights are words less their zero points, packed as for conv.comp, or
// [ky][kx][c] by channel. An invocation has PIXELS neighbours of a row x four output channels.
//
// With DOT four channels are a word of bytes and one instruction: x has them so (X_FOURS), weights are
// [group][ky][kx][1 + c / 4][o of the group, padded to four], less their zero points in a byte each. In
// front of them stand their sums over c, by which x's zero point is taken off. The instructions are
// SPV_KHR_integer_dot_product's OpSDot and OpSUDot; glslang 12 has no extension of GLSL for them.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "lines.glsl"
#include "window.glsl"
#include "bytes.glsl"
#ifdef DOT
#extension GL_EXT_spirv_intrinsics : require
#define DOT_PRODUCT extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019]
spirv_instruction(DOT_PRODUCT, id = 4450) int dot_signed(int w, int x, spirv_literal int format);
spirv_instruction(DOT_PRODUCT, id = 4452) int dot_mixed(int w, int x, spirv_literal int format);
#endif

layout(constant_id = 1) const uint PIXELS = 8;
layout(constant_id = 2) const bool BY_CHANNEL = false;  // channels is a multiple of four
layout(constant_id = 3) const bool X_FOURS = false;     // channels of a group: multiples of four
layout(constant_id = 4) const bool Y_VECTORS = false;   // output channels of a group: likewise
layout(constant_id = 5) const bool X_SIGNED = false;
layout(constant_id = 6) const bool HAS_ZERO = false;

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) readonly buffer W { ivec4 w[]; };
layout(std430, binding = 2) readonly buffer Zero { uint zero[]; };  // of x
layout(std430, binding = 3) writeonly buffer Y { int y[]; };
layout(std430, binding = 3) writeonly buffer Yv { ivec4 y_v[]; };
layout(push_constant) uniform Push {
  WINDOW_WORDS
  uint channels;
  uint group_channels;
  uint outputs;
  uint group_outputs;
  uint groups;  // one by channel
  uint row_tiles;
};

ivec4 four_at(uint i) {
  const uint word = x[i / 4];
  return ivec4(byte_of(word, 0, X_SIGNED), byte_of(word, 1, X_SIGNED), byte_of(word, 2, X_SIGNED),
               byte_of(word, 3, X_SIGNED));
}

void main() {
  const ivec2 in_size = IN_SIZE;  // x, y
  const ivec2 out_size = OUT_SIZE;
  const ivec2 kernel = xy(kernel_hw);
  const ivec2 stride = xy(strides_hw);
  const ivec2 pad = xy(pads_hw);
  const ivec2 dilation = xy(dilations_hw);
  const int x_zero = HAS_ZERO ? byte_of(zero[0], 0, X_SIGNED) : 0;

  const uint vectors = (group_outputs + 3) / 4;
  const uint vector = gl_WorkGroupID.x * ACROSS + place_in_line();
  const uint column = min(vector, vectors - 1);
  const uint ox = line_index() % row_tiles * PIXELS;
  const uint oy = line_index() / row_tiles;
  const uint group = gl_WorkGroupID.z % groups;
  const uint image = gl_WorkGroupID.z / groups;

#ifdef DOT
  const uint steps = group_channels / 4;
  const uint rows_a_tap = 1 + steps;
#endif
  ivec4 sums[PIXELS];
  [[unroll]] for (uint i = 0; i < PIXELS; ++i) sums[i] = ivec4(0);
  const ivec2 origin = ivec2(ox, oy) * stride - pad;
  for (int ky = 0; ky < kernel.y; ++ky) {
    const int iy = origin.y + ky * dilation.y;
    if (iy < 0 || iy >= in_size.y) continue;
    const uint row = (image * in_size.y + iy) * in_size.x;
    for (int kx = 0; kx < kernel.x; ++kx) {
      uint from[PIXELS];
      int inside[PIXELS];
      [[unroll]] for (uint i = 0; i < PIXELS; ++i) {
        const int ix = origin.x + int(i) * stride.x + kx * dilation.x;
        inside[i] = ix >= 0 && ix < in_size.x ? 1 : 0;
        from[i] = (row + clamp(ix, 0, in_size.x - 1)) * channels + group * group_channels;
      }
      const uint tap = (group * kernel.y + ky) * kernel.x + kx;
      if (BY_CHANNEL) {
        const ivec4 k = w[tap * vectors + column];
        [[unroll]] for (uint i = 0; i < PIXELS; ++i)
          sums[i] += inside[i] * (four_at(from[i] + 4 * column) - x_zero) * k;
        continue;
      }
#ifdef DOT
      const uint first = tap * rows_a_tap * vectors + column;
      if (HAS_ZERO) {
        const ivec4 off = x_zero * w[first];
        [[unroll]] for (uint i = 0; i < PIXELS; ++i) sums[i] -= inside[i] * off;
      }
      for (uint c = 0; c < steps; ++c) {
        const ivec4 k = w[first + (c + 1) * vectors];
        [[unroll]] for (uint i = 0; i < PIXELS; ++i) {
          const int four = -inside[i] & int(x[from[i] / 4 + c]);
          [[unroll]] for (uint q = 0; q < 4; ++q)
            sums[i][q] += X_SIGNED ? dot_signed(k[q], four, 0) : dot_mixed(k[q], four, 0);
        }
      }
#else
      const uint first = tap * group_channels * vectors + column;
      for (uint c = 0; c < group_channels; c += X_FOURS ? 4 : 1) {
        ivec4 v[PIXELS];
        [[unroll]] for (uint i = 0; i < PIXELS; ++i) {
          const uint at = from[i] + c;
          v[i] = X_FOURS ? four_at(at) : ivec4(byte_of(x[at / 4], at, X_SIGNED));
          v[i] = inside[i] * (v[i] - x_zero);
        }
        [[unroll]] for (uint q = 0; q < (X_FOURS ? 4 : 1); ++q) {
          const ivec4 k = w[first + (c + q) * vectors];
          [[unroll]] for (uint i = 0; i < PIXELS; ++i) sums[i] += v[i][q] * k;
        }
      }
#endif
    }
  }
  if (vector >= vectors || oy >= out_size.y) return;
  [[unroll]] for (uint i = 0; i < PIXELS; ++i) {
    if (ox + i >= out_size.x) break;
    const uint n = 4 * vector;
    const uint at = ((image * out_size.y + oy) * out_size.x + ox + i) * outputs +
                    group * group_outputs + n;
    if (Y_VECTORS) {
      y_v[at / 4] = sums[i];
    } else {
      y[at] = sums[i].x;
      if (n + 1 < group_outputs) y[at + 1] = sums[i].y;
      if (n + 2 < group_outputs) y[at + 2] = sums[i].z;
      if (n + 3 < group_outputs) y[at + 3] = sums[i].w;
    }
  }
}
