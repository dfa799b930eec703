// SPDX-License-Identifier: Apache-2.0
// Products of matrices: y[b, m, n] = sum over k of a[b, m, k] * w[b, k, n], then steps.
//
// An invocation has ROWS x VECTORS vectors of four columns in registers. The invocations of a line
// stand side by side along the columns, so that all of them read the same elements of a.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "lines.glsl"
#define FIRST_STEP_BINDING 3
#define FEW_STEPS
#include "steps.glsl"

layout(constant_id = 1) const uint ROWS = 8;
layout(constant_id = 2) const uint VECTORS_EACH = 2;
layout(constant_id = 3) const bool A_VECTORS = false;  // rows of a begin at multiples of four
layout(constant_id = 4) const bool W_VECTORS = false;  // rows of w do, and are padded to them
layout(constant_id = 5) const bool Y_VECTORS = false;  // columns is a multiple of four

layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 0) readonly buffer Av { vec4 a_v[]; };
layout(std430, binding = 1) readonly buffer W { float w[]; };
layout(std430, binding = 1) readonly buffer Wv { vec4 w_v[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(std430, binding = 2) writeonly buffer Yv { vec4 y_v[]; };
layout(push_constant) uniform Push {
  uint rows;
  uint columns;
  uint depth;
  uint a_row;     // stride of a over m; over k it is one
  uint w_row;     // stride of w over k; over n it is one
  uint batch[2];  // dimensions, innermost first: the last is what the grid has
  uint a_batch[2];
  uint w_batch[2];
  uint w_first;
  Step steps[4];
};

void main() {
  const uint first_column = 4 * (gl_WorkGroupID.x * ACROSS * VECTORS_EACH + place_in_line());
  const uint first_row = line_index() * ROWS;
  const uint inner = gl_WorkGroupID.z % batch[0];
  const uint outer = gl_WorkGroupID.z / batch[0];
  const uint a_base = inner * a_batch[0] + outer * a_batch[1];
  const uint w_base = w_first + inner * w_batch[0] + outer * w_batch[1];
  const uint y_base = gl_WorkGroupID.z * rows * columns;

  vec4 sums[ROWS][VECTORS_EACH];
  uint a_at[ROWS];
  [[unroll]] for (uint i = 0; i < ROWS; ++i) {
    a_at[i] = a_base + min(first_row + i, rows - 1) * a_row;
    [[unroll]] for (uint j = 0; j < VECTORS_EACH; ++j) sums[i][j] = vec4(0.0);
  }
  // Columns past the end read the last ones and are not written.
  uint column[VECTORS_EACH];
  [[unroll]] for (uint j = 0; j < VECTORS_EACH; ++j)
    column[j] = min(first_column + 4 * ACROSS * j, W_VECTORS ? w_row - 4 : columns - 1);

#define LOAD_W(k)                                                                    \
  W_VECTORS ? w_v[(w_base + (k) * w_row + column[j]) / 4]                            \
            : vec4(w[w_base + (k) * w_row + column[j]],                              \
                   w[w_base + (k) * w_row + min(column[j] + 1, columns - 1)],        \
                   w[w_base + (k) * w_row + min(column[j] + 2, columns - 1)],        \
                   w[w_base + (k) * w_row + min(column[j] + 3, columns - 1)])

  uint k = 0;
  if (A_VECTORS) {
    for (; k + 4 <= depth; k += 4) {
      vec4 x[ROWS];
      [[unroll]] for (uint i = 0; i < ROWS; ++i) x[i] = a_v[(a_at[i] + k) / 4];
      [[unroll]] for (uint q = 0; q < 4; ++q)
        [[unroll]] for (uint j = 0; j < VECTORS_EACH; ++j) {
          const vec4 v = LOAD_W(k + q);
          [[unroll]] for (uint i = 0; i < ROWS; ++i)
            sums[i][j] = fma(vec4(x[i][q]), v, sums[i][j]);
        }
    }
  }
  for (; k < depth; ++k) {
    [[unroll]] for (uint j = 0; j < VECTORS_EACH; ++j) {
      const vec4 v = LOAD_W(k);
      [[unroll]] for (uint i = 0; i < ROWS; ++i)
        sums[i][j] = fma(vec4(a[a_at[i] + k]), v, sums[i][j]);
    }
  }

  [[unroll]] for (uint i = 0; i < ROWS; ++i) {
    const uint row = first_row + i;
    if (row < rows) {
      [[unroll]] for (uint j = 0; j < VECTORS_EACH; ++j) {
        const uint n = first_column + 4 * ACROSS * j;
        if (n < columns) {
          vec4 v = sums[i][j];
          const uint at = y_base + row * columns + n;
          APPLY_STEPS(v, at)
          if (Y_VECTORS) {
            y_v[at / 4] = v;
          } else {
            y[at] = v.x;
            if (n + 1 < columns) y[at + 1] = v.y;
            if (n + 2 < columns) y[at + 2] = v.z;
            if (n + 3 < columns) y[at + 3] = v.w;
          }
        }
      }
    }
  }
}
