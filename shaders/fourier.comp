// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of lines, windowed or not, by their definition: an invocation has one
// bin. Roots of unity come from a table.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const bool INVERSE = false;
layout(constant_id = 2) const bool GIVES_REAL = false;  // of the first half of what is conjugate
layout(constant_id = 3) const uint PARTS = 1;           // numbers of an element of x
layout(constant_id = 4) const bool HAS_WINDOW = false;

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Roots { vec2 roots[]; };  // exp(-2 pi i k / length)
layout(std430, binding = 2) readonly buffer Window { float window[]; };
layout(std430, binding = 3) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push {
  uint work;
  uint bins;
  uint length;
  uint size;          // elements that a line has; the rest count as 0
  uint window_size;
  uint inner;         // line l is number l % inner of part l / inner
  uint x_outer;       // strides
  uint x_inner;
  uint x_stride;
  uint y_outer;
  uint y_inner;
  uint y_stride;
};

vec2 element(uint base, uint i) {
  if (i >= size) return vec2(0.0);
  const uint at = base + i * x_stride;
  vec2 v = vec2(x[at], 0.0);
  if (PARTS == 2) v.y = x[at + 1];
  if (HAS_WINDOW) v *= i < window_size ? window[i] : 0.0;
  return v;
}
vec2 input_at(uint base, uint i) {
  if (!GIVES_REAL) return element(base, i);
  if (2 * i > length) return element(base, length - i) * vec2(1.0, -1.0);
  const vec2 v = element(base, i);
  return i == 0 || 2 * i == length ? vec2(v.x, 0.0) : v;
}

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  const uint k = i % bins;
  const uint line = i / bins;
  const uint base = line / inner * x_outer + line % inner * x_inner;
  vec2 sum = vec2(0.0);
  uint root = 0;  // k * n, less whole turns
  for (uint n = 0; n < length; ++n) {
    const vec2 v = input_at(base, n);
    vec2 w = roots[root];
    if (INVERSE) w.y = -w.y;
    sum += vec2(v.x * w.x - v.y * w.y, v.x * w.y + v.y * w.x);
    root += k;
    if (root >= length) root -= length;
  }
  if (INVERSE) sum /= float(length);
  const uint to = line / inner * y_outer + line % inner * y_inner + k * y_stride;
  y[to] = sum.x;
  if (!GIVES_REAL) y[to + 1] = sum.y;
}
