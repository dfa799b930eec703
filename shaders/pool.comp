// SPDX-License-Identifier: Apache-2.0
// Pooling over two dimensions, channels last; four neighbouring channels an invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

const uint POOL_MAX = 0, POOL_AVERAGE = 1;
layout(constant_id = 1) const uint KIND = POOL_MAX;
layout(constant_id = 2) const bool VECTORS = true;       // channels is a multiple of four
layout(constant_id = 3) const bool COUNT_PADS = false;   // an average divides by padding too

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 0) readonly buffer Xv { vec4 x_v[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(std430, binding = 1) writeonly buffer Yv { vec4 y_v[]; };
layout(push_constant) uniform Push {
  uint work;
  uint in_hw;  // height | width << 16
  uint out_hw;
  uint kernel_hw;
  uint strides_hw;
  uint pads_hw;
  uint end_pads_hw;
  uint dilations_hw;
  uint channels;
};

vec4 load(uint at, uint c) {
  if (VECTORS) return x_v[(at + c) / 4];
  const uint last = channels - 1;
  return vec4(x[at + c], x[at + min(c + 1, last)], x[at + min(c + 2, last)],
              x[at + min(c + 3, last)]);
}

void main() {
  uint i = invocation_index();
  if (i >= work) return;
  const ivec2 in_size = ivec2(in_hw >> 16, in_hw & 0xffff);
  const ivec2 out_size = ivec2(out_hw >> 16, out_hw & 0xffff);
  const ivec2 kernel = ivec2(kernel_hw >> 16, kernel_hw & 0xffff);
  const ivec2 stride = ivec2(strides_hw >> 16, strides_hw & 0xffff);
  const ivec2 pad = ivec2(pads_hw >> 16, pads_hw & 0xffff);
  const ivec2 end_pad = ivec2(end_pads_hw >> 16, end_pads_hw & 0xffff);
  const ivec2 dilation = ivec2(dilations_hw >> 16, dilations_hw & 0xffff);
  const uint vectors = (channels + 3) / 4;
  const uint c = i % vectors * 4;
  i /= vectors;
  const int ox = int(i % out_size.x);
  const int oy = int(i / out_size.x % out_size.y);
  const uint image = i / out_size.x / out_size.y;
  const ivec2 origin = ivec2(ox, oy) * stride - pad;

  vec4 r = KIND == POOL_MAX ? vec4(uintBitsToFloat(0xff800000u)) : vec4(0.0);
  int count = 0;
  for (int ky = 0; ky < kernel.y; ++ky) {
    const int iy = origin.y + ky * dilation.y;
    for (int kx = 0; kx < kernel.x; ++kx) {
      const int ix = origin.x + kx * dilation.x;
      // What hangs over the padded input in ceil mode never counts.
      if (COUNT_PADS && iy < in_size.y + end_pad.y && ix < in_size.x + end_pad.x) ++count;
      if (iy < 0 || ix < 0 || iy >= in_size.y || ix >= in_size.x) continue;
      if (!COUNT_PADS) ++count;
      const vec4 v = load(((image * in_size.y + iy) * in_size.x + ix) * channels, c);
      if (KIND == POOL_MAX) {
        // A NaN wins and stays.
        r = mix(mix(r, v, greaterThan(v, r)), v, notEqual(v, v));
      } else {
        r += v;
      }
    }
  }
  if (KIND == POOL_AVERAGE) r /= float(max(count, 1));
  const uint at = i * channels + c;
  if (VECTORS) {
    y_v[at / 4] = r;
  } else {
    y[at] = r.x;
    if (c + 1 < channels) y[at + 1] = r.y;
    if (c + 2 < channels) y[at + 2] = r.z;
    if (c + 3 < channels) y[at + 3] = r.w;
  }
}
