// SPDX-License-Identifier: Apache-2.0
// Products of few rows (matmul.comp) for GPUs: what takes time is to read w, once, so that many
// invocations have to. ACROSS of them stand side by side with four columns each; the others share the
// terms of the sums, every so many-th is one's own, and add up what they have in shared memory.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#define FIRST_STEP_BINDING 3
#define FEW_STEPS
#include "steps.glsl"

layout(constant_id = 1) const uint ROWS = 1;
layout(constant_id = 2) const uint ACROSS = 16;
layout(constant_id = 3) const bool W_VECTORS = false;  // rows of w begin at fours and are padded
layout(constant_id = 4) const bool Y_VECTORS = false;  // columns is a multiple of four
layout(constant_id = 5) const bool W_HALVES = false;   // W_VECTORS, and f16 in memory
const uint PARTS = gl_WorkGroupSize.x / ACROSS;        // a power of two

layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer W { float w[]; };
layout(std430, binding = 1) readonly buffer Wv { vec4 w_v[]; };
layout(std430, binding = 1) readonly buffer Wh { uvec2 w_h[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(std430, binding = 2) writeonly buffer Yv { vec4 y_v[]; };
layout(push_constant) uniform Push {
  uint rows;
  uint columns;
  uint depth;
  uint a_row;
  uint w_row;
  uint batch[2];
  uint a_batch[2];
  uint w_batch[2];
  uint w_first;
  Step steps[4];
};

shared vec4 partials[gl_WorkGroupSize.x];

uint w_base, column;

vec4 load_w(uint k) {
  const uint from = w_base + k * w_row;
  if (W_HALVES) {
    const uvec2 v = w_h[(from + column) / 4];
    return vec4(unpackHalf2x16(v.x), unpackHalf2x16(v.y));
  }
  if (W_VECTORS) return w_v[(from + column) / 4];
  const uint last = columns - 1;
  return vec4(w[from + column], w[from + min(column + 1, last)], w[from + min(column + 2, last)],
              w[from + min(column + 3, last)]);
}

void main() {
  const uint lane = gl_LocalInvocationID.x;
  const uint part = lane / ACROSS;
  const uint n = 4 * (gl_WorkGroupID.x * ACROSS + lane % ACROSS);
  const uint first_row = gl_WorkGroupID.y * ROWS;
  const uint inner = gl_WorkGroupID.z % batch[0];
  const uint outer = gl_WorkGroupID.z / batch[0];
  w_base = w_first + inner * w_batch[0] + outer * w_batch[1];
  // Columns and rows past the end are like the last ones and are not written.
  column = min(n, W_VECTORS ? w_row - 4 : columns - 1);
  uint a_at[ROWS];
  vec4 sums[ROWS];
  [[unroll]] for (uint i = 0; i < ROWS; ++i) {
    a_at[i] = inner * a_batch[0] + outer * a_batch[1] + min(first_row + i, rows - 1) * a_row;
    sums[i] = vec4(0.0);
  }

  uint k = part;
  for (; k + 3 * PARTS < depth; k += 4 * PARTS) {
    vec4 v[4];
    [[unroll]] for (uint q = 0; q < 4; ++q) v[q] = load_w(k + q * PARTS);
    [[unroll]] for (uint q = 0; q < 4; ++q)
      [[unroll]] for (uint i = 0; i < ROWS; ++i)
        sums[i] = fma(vec4(a[a_at[i] + k + q * PARTS]), v[q], sums[i]);
  }
  for (; k < depth; k += PARTS) {
    const vec4 v = load_w(k);
    [[unroll]] for (uint i = 0; i < ROWS; ++i) sums[i] = fma(vec4(a[a_at[i] + k]), v, sums[i]);
  }

  [[unroll]] for (uint i = 0; i < ROWS; ++i) {
    barrier();
    partials[lane] = sums[i];
    barrier();
    for (uint half_of = PARTS / 2; half_of > 0; half_of /= 2) {
      if (part < half_of) partials[lane] += partials[lane + half_of * ACROSS];
      barrier();
    }
    if (part == 0 && n < columns && first_row + i < rows) {
      vec4 v = partials[lane];
      const uint at = (gl_WorkGroupID.z * rows + first_row + i) * columns + n;
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
