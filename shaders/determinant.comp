// SPDX-License-Identifier: Apache-2.0
// The determinant of a small matrix of f32 or f64, by elimination with row pivots in f64.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint N = 1;
layout(constant_id = 2) const bool DOUBLES = false;

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint matrices;
};

double m[N][N];

double element(uint i) {
  return DOUBLES ? packDouble2x32(uvec2(x[2 * i], x[2 * i + 1])) : double(uintBitsToFloat(x[i]));
}
double determinant_of_m() {
  double result = 1.0lf;
  for (uint k = 0; k < N; ++k) {
    uint pivot = k;
    for (uint i = k + 1; i < N; ++i)
      if (abs(m[i][k]) > abs(m[pivot][k])) pivot = i;
    if (m[pivot][k] == 0.0lf) return 0.0lf;
    if (pivot != k) {
      for (uint j = k; j < N; ++j) {
        const double held = m[pivot][j];
        m[pivot][j] = m[k][j];
        m[k][j] = held;
      }
      result = -result;
    }
    result *= m[k][k];
    for (uint i = k + 1; i < N; ++i) {
      const double factor = m[i][k] / m[k][k];
      for (uint j = k + 1; j < N; ++j) m[i][j] -= factor * m[k][j];
    }
  }
  return result;
}

void main() {
  const uint at = invocation_index();
  if (at >= matrices) return;
  for (uint i = 0; i < N; ++i)
    for (uint j = 0; j < N; ++j) m[i][j] = element(at * N * N + i * N + j);
  const double v = determinant_of_m();
  if (DOUBLES) {
    const uvec2 words = unpackDouble2x32(v);
    y[2 * at] = words.x;
    y[2 * at + 1] = words.y;
  } else {
    y[at] = floatBitsToUint(float(v));
  }
}
