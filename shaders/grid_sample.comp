// SPDX-License-Identifier: Apache-2.0
// Elements at positions that are data, between elements: over one to three dimensions, rows of
// neighbouring elements innermost. An invocation has one element of the result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

const uint NEAREST = 0, LINEAR = 1, CUBIC = 2;        // ResizeMode
const uint ZEROS = 0, BORDER = 1, REFLECTION = 2;     // GridPadding
layout(constant_id = 1) const uint MODE = LINEAR;
layout(constant_id = 2) const uint PADDING = ZEROS;
layout(constant_id = 3) const bool ALIGN_CORNERS = false;
layout(constant_id = 4) const uint DIMENSIONS = 2;

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Grid { float grid[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push {
  uint work;
  uint channels;
  uint positions;  // of an image
  uint sizes[3];   // of x, innermost first
};

const uint TAPS = MODE == NEAREST ? 1 : MODE == LINEAR ? 2 : 4;

bool is_nan(float v) {
  return (floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u;
}
// Folds v back into [low, high], as often as it takes.
float reflected(float v, float low, float high) {
  const float range = high - low;
  if (!(range > 0.0)) return low;
  if (v >= low && v <= high) return v;
  const float beyond = v < low ? low - v : v - high;
  const float times = floor(beyond / range);
  const float rest = beyond - times * range;
  const bool even = times - 2.0 * floor(times * 0.5) == 0.0;
  return even == (v < low) ? low + rest : high - rest;
}
float low_end() {
  return ALIGN_CORNERS ? 0.0 : -0.5;
}
float position(float coordinate, float n) {
  float v = ALIGN_CORNERS ? (coordinate + 1.0) / 2.0 * (n - 1.0)
                          : ((coordinate + 1.0) * n - 1.0) / 2.0;
  if (MODE == NEAREST) v = roundEven(v);
  if (PADDING == ZEROS) return v;
  if (PADDING == REFLECTION) v = reflected(v, low_end(), n - 1.0 - low_end());
  // No tap reaches further; what is left is finite.
  return is_nan(v) ? 0.0 : clamp(v, -3.0, n + 2.0);
}
// The element at v; -1: there is none.
int element(float v, float n) {
  const float last = n - 1.0;
  if (!(v >= 0.0 && v <= last)) {
    if (PADDING == ZEROS) return -1;
    if (PADDING == REFLECTION) v = reflected(v, low_end(), last - low_end());
    v = v >= 0.0 ? min(v, last) : 0.0;
  }
  return int(v);
}
// The weight of an element at distance t.
float weight_at(float t) {
  const float a = -0.75;
  t = abs(t);
  if (MODE == NEAREST) return 1.0;
  if (MODE == LINEAR) return 1.0 - t;
  if (t <= 1.0) return ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0;
  return ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a;
}

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  const uint image = i / positions / channels;
  const uint at = (image * positions + i % positions) * DIMENSIONS;
  int index[3][4];
  float weight[3][4];
  [[unroll]] for (uint d = 0; d < 3; ++d) {
    [[unroll]] for (uint t = 0; t < 4; ++t) {
      index[d][t] = 0;
      weight[d][t] = t == 0 ? 1.0 : 0.0;
    }
    if (d >= DIMENSIONS) continue;
    const float n = float(sizes[d]);
    const float v = position(grid[at + d], n);
    const float first = floor(v) - (MODE == CUBIC ? 1.0 : 0.0);
    [[unroll]] for (uint t = 0; t < TAPS; ++t) {
      const float w = weight_at(first + float(t) - v);
      const int e = element(first + float(t), n);
      weight[d][t] = e < 0 ? 0.0 : w;
      index[d][t] = max(e, 0);
    }
  }
  const uint base = i / positions * sizes[0] * sizes[1] * sizes[2];
  float sum = 0.0;
  [[unroll]] for (uint tz = 0; tz < (DIMENSIONS > 2 ? TAPS : 1); ++tz) {
    [[unroll]] for (uint ty = 0; ty < (DIMENSIONS > 1 ? TAPS : 1); ++ty) {
      const float w = weight[2][tz] * weight[1][ty];
      if (w == 0.0) continue;
      const uint row = base + (index[2][tz] * sizes[1] + index[1][ty]) * sizes[0];
      [[unroll]] for (uint tx = 0; tx < TAPS; ++tx)
        if (weight[0][tx] != 0.0) sum += w * weight[0][tx] * x[row + index[0][tx]];
    }
  }
  y[i] = sum;
}
