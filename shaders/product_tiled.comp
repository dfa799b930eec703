// SPDX-License-Identifier: Apache-2.0
// Products and convolutions (product.glsl) by tiles in shared memory: what GPUs are fast with, and
// llvmpipe is not.
//
// An invocation has ROWS_EACH neighbouring rows x VECTORS_EACH vectors of four columns in registers,
// ACROSS of them stand side by side along the columns. While one tile is summed, the next one is on
// its way to registers.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint ACROSS = 16;
layout(constant_id = 2) const uint ROWS_EACH = 4;  // a multiple of four
layout(constant_id = 3) const uint VECTORS_EACH = 1;
layout(constant_id = 4) const uint TILE_DEPTH = 16;
const uint TILE_ROWS = gl_WorkGroupSize.x / ACROSS * ROWS_EACH;
const uint TILE_COLUMNS = ACROSS * VECTORS_EACH * 4;
#include "product.glsl"

// One vector more than there are rows, so that four rows of a column lie in banks of their own.
const uint A_TILE_ROW = TILE_ROWS / 4 + 1;
shared vec4 a_tile[TILE_DEPTH * A_TILE_ROW];  // [k][m]
shared vec4 w_tile[TILE_DEPTH * W_ROW];       // [k][n]

void main() {
  const uint across = gl_LocalInvocationID.x % ACROSS;
  const uint down = gl_LocalInvocationID.x / ACROSS;
  find_operands();
  find_columns();

  vec4 sums[ROWS_EACH][VECTORS_EACH];
  [[unroll]] for (uint i = 0; i < ROWS_EACH; ++i)
    [[unroll]] for (uint j = 0; j < VECTORS_EACH; ++j) sums[i][j] = vec4(0.0);
  vec4 next_a[A_EACH];
  vec4 next_w[W_EACH];
  [[unroll]] for (uint i = 0; i < A_EACH; ++i) next_a[i] = fetch_a(i, first_term());
  [[unroll]] for (uint i = 0; i < W_EACH; ++i) next_w[i] = fetch_w(i, first_term());

  const uint end = end_term();
  for (uint first = first_term(); first < end; first += TILE_DEPTH) {
    barrier();
    [[unroll]] for (uint i = 0; i < A_EACH; ++i) {
      const uint m = row_of_a() + i * A_STEP;
      [[unroll]] for (uint q = 0; q < 4; ++q)
        a_tile[(4 * four_of_a() + q) * A_TILE_ROW + m / 4][m % 4] = next_a[i][q];
    }
    [[unroll]] for (uint i = 0; i < W_EACH; ++i)
      w_tile[(row_of_w() + i * W_STEP) * W_ROW + four_of_w()] = next_w[i];
    barrier();
    if (first + TILE_DEPTH < end) {
      [[unroll]] for (uint i = 0; i < A_EACH; ++i) next_a[i] = fetch_a(i, first + TILE_DEPTH);
      [[unroll]] for (uint i = 0; i < W_EACH; ++i) next_w[i] = fetch_w(i, first + TILE_DEPTH);
    }
    [[unroll]] for (uint k = 0; k < TILE_DEPTH; ++k) {
      vec4 v[VECTORS_EACH];
      [[unroll]] for (uint j = 0; j < VECTORS_EACH; ++j)
        v[j] = w_tile[k * W_ROW + across + j * ACROSS];
      [[unroll]] for (uint i = 0; i < ROWS_EACH; i += 4) {
        const vec4 x = a_tile[k * A_TILE_ROW + (down * ROWS_EACH + i) / 4];
        [[unroll]] for (uint q = 0; q < 4; ++q)
          [[unroll]] for (uint j = 0; j < VECTORS_EACH; ++j)
            sums[i + q][j] = fma(vec4(x[q]), v[j], sums[i + q][j]);
      }
    }
  }

  [[unroll]] for (uint i = 0; i < ROWS_EACH; ++i)
    [[unroll]] for (uint j = 0; j < VECTORS_EACH; ++j)
      write(first_row() + down * ROWS_EACH + i, first_column() + 4 * (across + j * ACROSS),
            sums[i][j]);
}
