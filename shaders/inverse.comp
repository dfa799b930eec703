// SPDX-License-Identifier: Apache-2.0
// A column of the inverse of a small matrix: elimination with row pivots and back substitution, in
// every invocation of a matrix alike.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint N = 1;

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push {
  uint columns;  // of all matrices
};

float m[N][N];
float v[N];  // the column

void exchange(uint a, uint b) {
  for (uint j = 0; j < N; ++j) {
    const float held = m[a][j];
    m[a][j] = m[b][j];
    m[b][j] = held;
  }
  const float held = v[a];
  v[a] = v[b];
  v[b] = held;
}

void eliminate() {
  for (uint k = 0; k < N; ++k) {
    uint pivot = k;
    for (uint i = k + 1; i < N; ++i)
      if (abs(m[i][k]) > abs(m[pivot][k])) pivot = i;
    if (m[pivot][k] == 0.0) continue;  // and so is all below it
    if (pivot != k) exchange(pivot, k);
    for (uint i = k + 1; i < N; ++i) {
      const float factor = m[i][k] / m[k][k];
      for (uint j = k + 1; j < N; ++j) m[i][j] -= factor * m[k][j];
      v[i] -= factor * v[k];
    }
  }
}

void main() {
  const uint at = invocation_index();
  if (at >= columns) return;
  const uint base = at / N * N * N;
  const uint column = at % N;
  for (uint i = 0; i < N; ++i) {
    for (uint j = 0; j < N; ++j) m[i][j] = x[base + i * N + j];
    v[i] = i == column ? 1.0 : 0.0;
  }
  eliminate();
  for (uint back = 0; back < N; ++back) {
    const uint i = N - 1 - back;
    for (uint k = i + 1; k < N; ++k) v[i] -= m[i][k] * v[k];
    v[i] /= m[i][i];
    y[base + i * N + column] = v[i];
  }
}
