// SPDX-License-Identifier: Apache-2.0
// Products and convolutions (product.glsl) with operands rounded to f16 and sums in f32, by matrices
// of M x K and K x N that the invocations of a subgroup multiply together.
//
// A subgroup sums DOWN x ALONG matrices, ACROSS subgroups stand side by side along the columns. Tiles
// go through shared memory as halves; so do, one by one and in f32, the sums, for what is written has
// edges and steps.
//
// One source for three: GL_KHR_cooperative_matrix; with NV, for compilers that know only the older
// extension, GL_NV_cooperative_matrix, whose code to_khr.cpp turns into that of the former; and with
// EMULATED, loops over the same tiles.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint ACROSS = 1;
layout(constant_id = 2) const uint DOWN = 1;
layout(constant_id = 3) const uint ALONG = 1;
layout(constant_id = 4) const uint TILE_DEPTH = 32;
layout(constant_id = 6) const uint M = 16;
layout(constant_id = 7) const uint N = 16;
layout(constant_id = 8) const uint K = 16;
layout(constant_id = 9) const uint SUBGROUP = 32;  // invocations of each
const uint SUBGROUPS = gl_WorkGroupSize.x / SUBGROUP;
const uint TILE_ROWS = SUBGROUPS / ACROSS * DOWN * M;
const uint TILE_COLUMNS = ACROSS * ALONG * N;
#include "product.glsl"

layout(std430, binding = 1) readonly buffer Wh { uvec2 w_h[]; };
const bool W_HALVES = (FLAGS & 8) != 0;

// Four halves each. Rows are 16 bytes longer than they need be, so that they begin in different banks.
const uint A_TILE_ROW = A_ROW + 2;
const uint W_TILE_ROW = W_ROW + 2;
shared uvec2 a_tile[TILE_ROWS * A_TILE_ROW];   // [m][k]
shared uvec2 w_tile[TILE_DEPTH * W_TILE_ROW];  // [k][n]
shared float results[SUBGROUPS * M * N];

#if defined(EMULATED)
// An invocation has every SUBGROUP-th element of a sum; operands are where they begin in the tiles.
uint own_subgroup() { return gl_LocalInvocationID.x / SUBGROUP; }
uint own_lane() { return gl_LocalInvocationID.x % SUBGROUP; }
struct Sums { float own[M * N / SUBGROUP]; };
#define MATRIX_A uint
#define MATRIX_W uint
#define MATRIX_SUMS Sums
#define LOAD_A(to, from) to = from
#define LOAD_W(to, from) to = from
void clear(out Sums s) {
  for (uint e = 0; e < M * N / SUBGROUP; ++e) s.own[e] = 0.0;
}
vec4 halves(uvec2 v) {
  return vec4(unpackHalf2x16(v.x), unpackHalf2x16(v.y));
}
void multiply(inout Sums s, uint from_a, uint from_w) {
  for (uint k = 0; k < K; ++k)
    for (uint e = 0; e < M * N / SUBGROUP; ++e) {
      const uint at = own_lane() + e * SUBGROUP;
      const float x = halves(a_tile[from_a + at / N * A_TILE_ROW + k / 4])[k % 4];
      const float v = halves(w_tile[from_w + k * W_TILE_ROW + at % N / 4])[at % N % 4];
      s.own[e] = fma(x, v, s.own[e]);
    }
}
void store(Sums s, uint to) {
  for (uint e = 0; e < M * N / SUBGROUP; ++e)
    results[to + own_lane() + e * SUBGROUP] = s.own[e];
}
#define CLEAR(s) clear(s)
#define MULTIPLY(s, x, v) multiply(s, x, v)
#define STORE(s, to) store(s, to)
#else
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#ifdef NV
#extension GL_NV_cooperative_matrix : require
#define MATRIX_A fcoopmatNV<16, gl_ScopeSubgroup, M, K>
#define MATRIX_W fcoopmatNV<16, gl_ScopeSubgroup, K, N>
#define MATRIX_SUMS fcoopmatNV<32, gl_ScopeSubgroup, M, N>
#define LOAD_A(to, from) coopMatLoadNV(to, a_tile, from, A_TILE_ROW, false)
#define LOAD_W(to, from) coopMatLoadNV(to, w_tile, from, W_TILE_ROW, false)
#define MULTIPLY(s, x, v) s = coopMatMulAddNV(x, v, s)
#define STORE(s, to) coopMatStoreNV(s, results, to, N, false)
#else
#extension GL_KHR_cooperative_matrix : require
#define MATRIX_A coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA>
#define MATRIX_W coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB>
#define MATRIX_SUMS coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>
#define LOAD_A(to, from) \
  coopMatLoad(to, a_tile, from, A_TILE_ROW, gl_CooperativeMatrixLayoutRowMajor)
#define LOAD_W(to, from) \
  coopMatLoad(to, w_tile, from, W_TILE_ROW, gl_CooperativeMatrixLayoutRowMajor)
#define MULTIPLY(s, x, v) s = coopMatMulAdd(x, v, s)
#define STORE(s, to) coopMatStore(s, results, to, N, gl_CooperativeMatrixLayoutRowMajor)
#endif
uint own_subgroup() { return gl_SubgroupID; }
uint own_lane() { return gl_SubgroupInvocationID; }
#define CLEAR(s) s = MATRIX_SUMS(0.0)
#endif

uvec2 packed(vec4 v) {
  return uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw));
}
uvec2 fetch_w_halves(uint i, uint first) {
  if (!W_HALVES) return packed(fetch_w(i, first));
  const uint k = first + row_of_w() + i * W_STEP;
  if (k >= depth) return uvec2(0);
  return w_h[(w_base + k * w_row + w_column) / 4];
}

void main() {
  // The first row and column of the subgroup's sums in the tile.
  const uint row = own_subgroup() / ACROSS * DOWN * M;
  const uint column = own_subgroup() % ACROSS * ALONG * N;
  find_operands();
  find_columns();

  MATRIX_SUMS sums[DOWN][ALONG];
  UNROLL for (uint i = 0; i < DOWN; ++i)
    UNROLL for (uint j = 0; j < ALONG; ++j) CLEAR(sums[i][j]);
  uvec2 next_a[A_EACH];
  uvec2 next_w[W_EACH];
  UNROLL for (uint i = 0; i < A_EACH; ++i) next_a[i] = packed(fetch_a(i, first_term()));
  UNROLL for (uint i = 0; i < W_EACH; ++i) next_w[i] = fetch_w_halves(i, first_term());

  const uint end = end_term();
  for (uint first = first_term(); first < end; first += TILE_DEPTH) {
    barrier();
    UNROLL for (uint i = 0; i < A_EACH; ++i)
      a_tile[(row_of_a() + i * A_STEP) * A_TILE_ROW + four_of_a()] = next_a[i];
    UNROLL for (uint i = 0; i < W_EACH; ++i)
      w_tile[(row_of_w() + i * W_STEP) * W_TILE_ROW + four_of_w()] = next_w[i];
    barrier();
    if (first + TILE_DEPTH < end) {
      const uint next = first + TILE_DEPTH;
      UNROLL for (uint i = 0; i < A_EACH; ++i) next_a[i] = packed(fetch_a(i, next));
      UNROLL for (uint i = 0; i < W_EACH; ++i) next_w[i] = fetch_w_halves(i, next);
    }
    UNROLL for (uint k = 0; k < TILE_DEPTH; k += K) {
      MATRIX_A x[DOWN];
      UNROLL for (uint i = 0; i < DOWN; ++i)
        LOAD_A(x[i], (row + i * M) * A_TILE_ROW + k / 4);
      UNROLL for (uint j = 0; j < ALONG; ++j) {
        MATRIX_W v;
        LOAD_W(v, k * W_TILE_ROW + (column + j * N) / 4);
        UNROLL for (uint i = 0; i < DOWN; ++i) MULTIPLY(sums[i][j], x[i], v);
      }
    }
  }

  const uint own = own_subgroup() * M * N;
  UNROLL for (uint i = 0; i < DOWN; ++i)
    UNROLL for (uint j = 0; j < ALONG; ++j) {
      barrier();
      STORE(sums[i][j], own);
      barrier();
      for (uint e = 4 * own_lane(); e < M * N; e += 4 * SUBGROUP) {
        const uint at = own + e;
        write(first_row() + row + i * M + e / N, first_column() + column + j * N + e % N,
              vec4(results[at], results[at + 1], results[at + 2], results[at + 3]));
      }
    }
}
