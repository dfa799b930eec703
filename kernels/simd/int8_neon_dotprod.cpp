// SPDX-License-Identifier: Apache-2.0
// Four products of bytes and their sum in a lane of one instruction, which takes either unsigned
// bytes or signed ones. Columns are packed with their top bits flipped, which adds 128 to each: a
// row's sum of x * (w + 128) is too large by 128 times the sum of x, by which it begins below 0.
#include "kernels/simd/int8.h"

#ifdef __aarch64__
#include <arm_neon.h>

namespace quern {
namespace {

constexpr std::int64_t group = 4;

inline uint32x4_t load_group(const std::uint8_t* p) {
  std::uint32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  return vdupq_n_u32(four);
}

// What sums of a row begin with.
inline uint32x4_t below_zero(const Int8Product& p, int row) {
  uint32x4_t sum{};
  const uint8x16_t ones = vdupq_n_u8(1);
  std::uint32_t rest = 0;
  for (std::int64_t t = 0; t < p.taps; ++t) {
    const std::uint8_t* a = p.pieces[t * p.rows + row] + p.offset;
    std::int64_t k = 0;
    for (; k + 16 <= p.depth; k += 16) sum = vdotq_u32(sum, vld1q_u8(a + k), ones);
    for (; k < p.depth; ++k) rest += a[k];
  }
  return vdupq_n_u32(0 - 128 * (vaddvq_u32(sum) + rest));
}

// One more group of the depth, by group Lane of each row.
template <int Rows, int Lane>
[[gnu::always_inline]] inline void multiply_lane(const uint8x16_t* x, const std::uint8_t* b,
                                                 uint32x4_t (*sums)[4]) {
#pragma GCC unroll 4
  for (std::int64_t v = 0; v < 4; v += 2) {
    const uint8x16_t left = vld1q_u8(b + 16 * v);
    const uint8x16_t right = vld1q_u8(b + 16 * v + 16);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) sums[r][v] = vdotq_laneq_u32(sums[r][v], left, x[r], Lane);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
      sums[r][v + 1] = vdotq_laneq_u32(sums[r][v + 1], right, x[r], Lane);
  }
}

template <int Rows>
inline void panel(const Int8Product& p, const std::uint8_t* b, const uint32x4_t* start,
                  std::int32_t* to) {
  uint32x4_t sums[Rows][4];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[r][v] = start[r];
  for (std::int64_t t = 0; t < p.taps; ++t) {
    const std::uint8_t* a[Rows];
    for (int r = 0; r < Rows; ++r) a[r] = p.pieces[t * Rows + r] + p.offset;
    std::int64_t k = 0;
    for (; k + 16 <= p.depth; k += 16, b += 256) {
      uint8x16_t x[Rows];
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) x[r] = vld1q_u8(a[r] + k);
      multiply_lane<Rows, 0>(x, b, sums);
      multiply_lane<Rows, 1>(x, b + 64, sums);
      multiply_lane<Rows, 2>(x, b + 128, sums);
      multiply_lane<Rows, 3>(x, b + 192, sums);
    }
    for (; k < p.depth; k += group, b += 64) {
      uint8x16_t x[Rows];
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) x[r] = vreinterpretq_u8_u32(load_group(a[r] + k));
      multiply_lane<Rows, 0>(x, b, sums);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      vst1q_s32(to + std::ptrdiff_t{r} * p.panels * int8_panel_columns + std::ptrdiff_t{4} * v,
                vreinterpretq_s32_u32(sums[r][v]));
}

template <int Rows, int Panels>
inline void tile(const Int8Product& p) {
  uint32x4_t start[Rows];
  for (int r = 0; r < Rows; ++r) start[r] = below_zero(p, r);
  const std::int64_t panel_bytes = p.taps * p.depth * int8_panel_columns;
  const auto* columns = reinterpret_cast<const std::uint8_t*>(p.columns);
  for (int q = 0; q < Panels; ++q)
    panel<Rows>(p, columns + q * panel_bytes, start,
                p.sums + std::ptrdiff_t{q} * int8_panel_columns);
}

#include "kernels/simd/int8_tile.inc"

// x * w = (x - 128) * w + 128 * w
struct DepthwiseSum {
  int32x4_t signs, weights;
};
inline void four_products(DepthwiseSum& sum, uint8x16_t x, int8x16_t w) {
  const int8x16_t below = vreinterpretq_s8_u8(veorq_u8(x, vdupq_n_u8(0x80)));
  sum = {vdotq_s32(sum.signs, below, w), vdotq_s32(sum.weights, w, vdupq_n_s8(1))};
}
inline int32x4_t total(const DepthwiseSum& sum) {
  return vaddq_s32(sum.signs, vshlq_n_s32(sum.weights, 7));
}

#include "kernels/simd/int8_neon.inc"

}  // namespace

extern const SimdInt8 int8_dotprod_table;
const SimdInt8 int8_dotprod_table = {.name = "dotprod",
                                     .level = "dotprod",
                                     .group = group,
                                     .flip = 0x80,
                                     .outruns_floats = true,
                                     .multiply = multiply,
                                     .weave = weave,
                                     .depthwise = depthwise};

}  // namespace quern
#endif
