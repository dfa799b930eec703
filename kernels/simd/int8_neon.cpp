// SPDX-License-Identifier: Apache-2.0
// Bytes are widened to 16 bits; an instruction multiplies four columns by one element of a row.
#ifdef __arm__  // whose architecture has no NEON: simd.h asks whether the CPU has
#pragma GCC push_options
#pragma GCC target("fpu=neon-vfpv4")
#endif
#include <arm_neon.h>

#include "kernels/simd/int8.h"

namespace quern {
namespace {

// Of the rows of a tile, so that sums, rows and columns fit in the registers.
#ifdef __aarch64__
constexpr int rows_at_once = 3;
#else
constexpr int rows_at_once = 2;
#endif

template <int Lane>
inline void multiply_element(int32x4_t* sums, int16x8_t low, int16x8_t high, int16x8_t x) {
#ifdef __aarch64__
  sums[0] = vmlal_laneq_s16(sums[0], vget_low_s16(low), x, Lane);
  sums[1] = vmlal_high_laneq_s16(sums[1], low, x, Lane);
  sums[2] = vmlal_laneq_s16(sums[2], vget_low_s16(high), x, Lane);
  sums[3] = vmlal_high_laneq_s16(sums[3], high, x, Lane);
#else
  const int16x4_t half = Lane < 4 ? vget_low_s16(x) : vget_high_s16(x);
  sums[0] = vmlal_lane_s16(sums[0], vget_low_s16(low), half, Lane % 4);
  sums[1] = vmlal_lane_s16(sums[1], vget_high_s16(low), half, Lane % 4);
  sums[2] = vmlal_lane_s16(sums[2], vget_low_s16(high), half, Lane % 4);
  sums[3] = vmlal_lane_s16(sums[3], vget_high_s16(high), half, Lane % 4);
#endif
}

// One more of the depth: sixteen columns by element Lane of each row.
template <int Rows, int Lane>
inline void multiply_column(int32x4_t (*sums)[4], const std::int8_t* b, const int16x8_t* x) {
  const int8x16_t columns = vld1q_s8(b);
  const int16x8_t low = vmovl_s8(vget_low_s8(columns));
  const int16x8_t high = vmovl_s8(vget_high_s8(columns));
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) multiply_element<Lane>(sums[r], low, high, x[r]);
}

template <int Rows>
inline void neon_rows(const Int8Product& p, int row, const std::int8_t* b, std::int32_t* to) {
  int32x4_t sums[Rows][4] = {};
  for (std::int64_t t = 0; t < p.taps; ++t) {
    const std::uint8_t* a[Rows];
    for (int r = 0; r < Rows; ++r) a[r] = p.pieces[t * p.rows + row + r] + p.offset;
    std::int64_t k = 0;
    for (; k + 8 <= p.depth; k += 8, b += std::ptrdiff_t{8} * int8_panel_columns) {
      int16x8_t x[Rows];
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) x[r] = vreinterpretq_s16_u16(vmovl_u8(vld1_u8(a[r] + k)));
      multiply_column<Rows, 0>(sums, b, x);
      multiply_column<Rows, 1>(sums, b + 16, x);
      multiply_column<Rows, 2>(sums, b + 32, x);
      multiply_column<Rows, 3>(sums, b + 48, x);
      multiply_column<Rows, 4>(sums, b + 64, x);
      multiply_column<Rows, 5>(sums, b + 80, x);
      multiply_column<Rows, 6>(sums, b + 96, x);
      multiply_column<Rows, 7>(sums, b + 112, x);
    }
    for (; k < p.depth; ++k, b += int8_panel_columns) {
      int16x8_t x[Rows];
      for (int r = 0; r < Rows; ++r) x[r] = vdupq_n_s16(a[r][k]);
      multiply_column<Rows, 0>(sums, b, x);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (std::int64_t v = 0; v < 4; ++v)
      vst1q_s32(to + std::ptrdiff_t{r} * p.panels * int8_panel_columns + 4 * v, sums[r][v]);
}

void neon_multiply(const Int8Product& p) {
  const std::int64_t panel_bytes = p.taps * p.depth * int8_panel_columns;
  for (int q = 0; q < p.panels; ++q)
    for (int row = 0; row < p.rows; row += rows_at_once) {
      const std::int8_t* b = p.columns + q * panel_bytes;
      std::int32_t* to = p.sums + std::ptrdiff_t{row * p.panels + q} * int8_panel_columns;
      switch (p.rows - row) {
        case 1: neon_rows<1>(p, row, b, to); break;
        case 2: neon_rows<2>(p, row, b, to); break;
        default: neon_rows<rows_at_once>(p, row, b, to);
      }
    }
}

// Sums of neighbours' products; a product of u8 and s8 fits in 16 bits.
struct DepthwiseSum {
  int32x4_t low, high;
};
inline void four_products(DepthwiseSum& sum, uint8x16_t x, int8x16_t w) {
  const auto widened = [](uint8x8_t half) { return vreinterpretq_s16_u16(vmovl_u8(half)); };
  const int16x8_t low = vmulq_s16(widened(vget_low_u8(x)), vmovl_s8(vget_low_s8(w)));
  const int16x8_t high = vmulq_s16(widened(vget_high_u8(x)), vmovl_s8(vget_high_s8(w)));
  sum = {vpadalq_s16(sum.low, low), vpadalq_s16(sum.high, high)};
}
inline int32x4_t total(const DepthwiseSum& sum) {
#ifdef __aarch64__
  return vpaddq_s32(sum.low, sum.high);
#else
  return vcombine_s32(vpadd_s32(vget_low_s32(sum.low), vget_high_s32(sum.low)),
                      vpadd_s32(vget_low_s32(sum.high), vget_high_s32(sum.high)));
#endif
}

#include "kernels/simd/int8_neon.inc"

}  // namespace

extern const SimdInt8 int8_neon_table;
const SimdInt8 int8_neon_table = {.name = "neon",
                                  .level = "neon",
                                  .group = 1,
                                  .multiply = neon_multiply,
                                  .weave = weave,
                                  .depthwise = depthwise};

}  // namespace quern
#ifdef __arm__
#pragma GCC pop_options
#endif
