// SPDX-License-Identifier: Apache-2.0
// Two rows by two columns by eight products of bytes in one instruction, of unsigned and signed
// ones.
#include "kernels/simd/int8.h"

#ifdef __aarch64__
#include <arm_neon.h>

namespace quern {
namespace {

constexpr std::int64_t group = 8;
constexpr std::int64_t pair_columns = int8_panel_columns / 2;  // pairs of a panel

template <int Rows>
inline void panel(const Int8Product& p, const std::int8_t* b, std::int32_t* to) {
  constexpr int pairs = (Rows + 1) / 2;  // of rows: the last may be one row twice
  int32x4_t sums[pairs][pair_columns];
#pragma GCC unroll 8
  for (int i = 0; i < pairs; ++i)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < pair_columns; ++v) sums[i][v] = vdupq_n_s32(0);
  for (std::int64_t t = 0; t < p.taps; ++t) {
    const std::uint8_t* a[2 * pairs];
#pragma GCC unroll 8
    for (int r = 0; r < 2 * pairs; ++r)
      a[r] = p.pieces[t * Rows + (r < Rows ? r : Rows - 1)] + p.offset;
    for (std::int64_t k = 0; k < p.depth; k += group, b += group * int8_panel_columns) {
      uint8x16_t x[pairs];
#pragma GCC unroll 8
      for (int i = 0; i < pairs; ++i)
        x[i] = vcombine_u8(vld1_u8(a[2 * i] + k), vld1_u8(a[2 * i + 1] + k));
#pragma GCC unroll 8
      for (std::int64_t v = 0; v < pair_columns; v += 2) {
        const int8x16_t left = vld1q_s8(b + 16 * v);
        const int8x16_t right = vld1q_s8(b + 16 * v + 16);
#pragma GCC unroll 8
        for (int i = 0; i < pairs; ++i) sums[i][v] = vusmmlaq_s32(sums[i][v], x[i], left);
#pragma GCC unroll 8
        for (int i = 0; i < pairs; ++i) sums[i][v + 1] = vusmmlaq_s32(sums[i][v + 1], x[i], right);
      }
    }
  }
  const std::ptrdiff_t row = std::ptrdiff_t{p.panels} * int8_panel_columns;
#pragma GCC unroll 8
  for (std::int64_t i = 0; i < pairs; ++i)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < pair_columns; ++v) {
      vst1_s32(to + 2 * i * row + 2 * v, vget_low_s32(sums[i][v]));
      if (2 * i + 1 < Rows) vst1_s32(to + (2 * i + 1) * row + 2 * v, vget_high_s32(sums[i][v]));
    }
}

template <int Rows, int Panels>
inline void tile(const Int8Product& p) {
  const std::int64_t panel_bytes = p.taps * p.depth * int8_panel_columns;
  for (int q = 0; q < Panels; ++q)
    panel<Rows>(p, p.columns + q * panel_bytes, p.sums + std::ptrdiff_t{q} * int8_panel_columns);
}

#include "kernels/simd/int8_tile.inc"

using DepthwiseSum = int32x4_t;
inline void four_products(DepthwiseSum& sum, uint8x16_t x, int8x16_t w) {
  sum = vusdotq_s32(sum, x, w);
}
inline int32x4_t total(DepthwiseSum sum) {
  return sum;
}

#include "kernels/simd/int8_neon.inc"

}  // namespace

extern const SimdInt8 int8_i8mm_table;
const SimdInt8 int8_i8mm_table = {.name = "i8mm",
                                  .level = "i8mm",
                                  .group = group,
                                  .outruns_floats = true,
                                  .multiply = multiply,
                                  .weave = weave,
                                  .depthwise = depthwise};

}  // namespace quern
#endif
