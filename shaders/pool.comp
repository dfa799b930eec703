// SPDX-License-Identifier: Apache-2.0
// Pooling over three dimensions, channels last; four neighbouring channels an invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

const uint POOL_MAX = 0, POOL_AVERAGE = 1, POOL_NORM = 2;  // PoolKind
layout(constant_id = 1) const uint KIND = POOL_MAX;
layout(constant_id = 2) const bool VECTORS = true;       // channels is a multiple of four
layout(constant_id = 3) const bool COUNT_PADS = false;   // an average divides by padding too
layout(constant_id = 4) const bool GIVES_INDICES = false;
layout(constant_id = 5) const bool COLUMN_MAJOR = false;  // as those count

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 0) readonly buffer Xv { vec4 x_v[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(std430, binding = 1) writeonly buffer Yv { vec4 y_v[]; };
layout(std430, binding = 2) writeonly buffer Indices { ivec2 indices[]; };
layout(push_constant) uniform Push {
  uint work;
  int in_size_zyx[3];
  int out_size_zyx[3];
  int kernel_zyx[3];
  int strides_zyx[3];
  int pads_zyx[3];
  int end_pads_zyx[3];
  int dilations_zyx[3];
  uint channels;
  float power;  // of a norm
};

ivec3 xyz(int zyx[3]) {
  return ivec3(zyx[2], zyx[1], zyx[0]);
}
vec4 load(uint at, uint c) {
  if (VECTORS) return x_v[(at + c) / 4];
  const uint last = channels - 1;
  return vec4(x[at + c], x[at + min(c + 1, last)], x[at + min(c + 2, last)],
              x[at + min(c + 3, last)]);
}
// v^n of what is not negative; pow() may make a number of NaN, and is undefined at 0.
vec4 to_the(vec4 v, float n) {
  const vec4 r = mix(pow(v, vec4(n)), vec4(0.0), equal(v, vec4(0.0)));
  return mix(r, v, is_nan(v));
}
vec4 raised(vec4 v) {
  v = abs(v);
  if (power == 1.0) return v;
  return power == 2.0 ? v * v : to_the(v, power);
}
vec4 root(vec4 v) {
  if (power == 1.0) return v;
  return power == 2.0 ? sqrt(v) : to_the(v, 1.0 / power);
}

// The elements of v that take the place of those of r: the larger ones, and any NaN, which stays.
bvec4 wins(vec4 v, vec4 r) {
  const bvec4 v_nan = is_nan(v);
  const bvec4 r_nan = is_nan(r);
  bvec4 won;
  [[unroll]] for (uint k = 0; k < 4; ++k) won[k] = v_nan[k] || (!r_nan[k] && v[k] > r[k]);
  return won;
}

void main() {
  uint i = invocation_index();
  if (i >= work) return;
  const ivec3 in_size = xyz(in_size_zyx);
  const ivec3 out_size = xyz(out_size_zyx);
  const ivec3 kernel = xyz(kernel_zyx);
  const ivec3 stride = xyz(strides_zyx);
  const ivec3 pad = xyz(pads_zyx);
  const ivec3 dilation = xyz(dilations_zyx);
  // The part of a window beyond the padded input (ceil mode) never counts.
  const ivec3 end = in_size + xyz(end_pads_zyx);
  const uint vectors = (channels + 3) / 4;
  const uint c = i % vectors * 4;
  i /= vectors;
  const uvec3 at = uvec3(i % out_size.x, i / out_size.x % out_size.y,
                         i / out_size.x / out_size.y % out_size.z);
  const uint image = i / out_size.x / out_size.y / out_size.z;
  const ivec3 origin = ivec3(at) * stride - pad;

  vec4 r = KIND == POOL_MAX ? vec4(uintBitsToFloat(0xff800000u)) : vec4(0.0);
  ivec4 best = ivec4(-1);
  int count = 0;
  for (int kz = 0; kz < kernel.z; ++kz) {
    const int iz = origin.z + kz * dilation.z;
    for (int ky = 0; ky < kernel.y; ++ky) {
      const int iy = origin.y + ky * dilation.y;
      for (int kx = 0; kx < kernel.x; ++kx) {
        const int ix = origin.x + kx * dilation.x;
        if (COUNT_PADS && iz < end.z && iy < end.y && ix < end.x) ++count;
        if (iz < 0 || iy < 0 || ix < 0 || iz >= in_size.z || iy >= in_size.y || ix >= in_size.x)
          continue;
        if (!COUNT_PADS) ++count;
        const uint row = (image * in_size.z + iz) * in_size.y + iy;
        const vec4 v = load((row * in_size.x + ix) * channels, c);
        if (KIND == POOL_MAX && !GIVES_INDICES) {
          r = mix(r, v, wins(v, r));
        } else if (KIND == POOL_MAX) {
          // The first of equal elements wins, and the first NaN.
          const bvec4 better = wins(v, r);
          const bvec4 was_nan = is_nan(r);
          const int element = COLUMN_MAJOR ? (ix * in_size.y + iy) * in_size.z + iz
                                           : (iz * in_size.y + iy) * in_size.x + ix;
          [[unroll]] for (uint k = 0; k < 4; ++k) {
            if (was_nan[k] || !(better[k] || best[k] < 0)) continue;
            r[k] = v[k];
            best[k] = element;
          }
        } else {
          r += KIND == POOL_NORM ? raised(v) : v;
        }
      }
    }
  }
  if (KIND == POOL_AVERAGE) r = count == 0 ? vec4(uintBitsToFloat(0x7fc00000u)) : r / float(count);
  if (KIND == POOL_NORM) r = root(r);
  const uint first = i * channels + c;
  if (VECTORS) y_v[first / 4] = r;
  [[unroll]] for (uint k = 0; k < 4; ++k) {
    if (c + k >= channels) break;
    if (!VECTORS) y[first + k] = r[k];
    if (GIVES_INDICES) {
      const int channel = int((image * channels + c + k) * in_size.x * in_size.y * in_size.z);
      const int index = best[k] < 0 ? -1 : channel + best[k];
      indices[first + k] = ivec2(index, index >> 31);
    }
  }
}
