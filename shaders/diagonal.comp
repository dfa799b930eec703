// SPDX-License-Identifier: Apache-2.0
// Keeps what lies on, above or below a diagonal of each matrix, or writes ones; zero elsewhere.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

const uint UPPER = 0, LOWER = 1, ONES = 2;
layout(constant_id = 1) const uint MODE = UPPER;
layout(constant_id = 2) const uint WORDS = 1;           // of an element
layout(constant_id = 3) const bool SHIFT_IS_DATA = false;

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) readonly buffer Shift { int shift[]; };  // i64
layout(std430, binding = 2) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint work;  // words
  uint rows;
  uint columns;
  int k;  // of the diagonal
  uint one;
};

// A diagonal far outside the matrix is moved to just outside it.
int diagonal() {
  if (!SHIFT_IS_DATA) return k;
  const int far = int(max(rows, columns)) + 1;
  if (shift[1] != shift[0] >> 31) return shift[1] < 0 ? -far : far;
  return clamp(shift[0], -far, far);
}

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  const uint e = i / WORDS;
  const int distance = int(e % columns) - int(e / columns % rows);
  const int d = diagonal();
  if (MODE == ONES) {
    // Of a f64 the high word tells of a one.
    const uint word = WORDS == 2 && one != 1 ? 1 : 0;
    y[i] = distance == d && i % WORDS == word ? one : 0;
  } else {
    y[i] = (MODE == UPPER ? distance >= d : distance <= d) ? x[i] : 0;
  }
}
