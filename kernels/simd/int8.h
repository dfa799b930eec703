// SPDX-License-Identifier: Apache-2.0
// Sums of products of 8-bit integers, exact modulo 2^32, compiled once per instruction set and
// chosen when the program starts. One side is u8, the other s8: callers with other types flip the
// top bit and shift the zero point by 128.
#pragma once

#include <cstdint>

namespace quern {

// The maximum numbers of rows and panels per call, and the columns of a panel.
inline constexpr int int8_rows = 6;
inline constexpr int int8_panels = 4;
inline constexpr int int8_panel_columns = 16;

// sums = rows * columns. A row lies in `taps` pieces of `depth` elements: piece t of row r begins
// at pieces[t * rows + r] + offset. Columns are packed as described at SimdInt8.
struct Int8Product {
  const std::uint8_t* const* pieces;
  std::int64_t offset;
  int rows;
  int panels;
  std::int64_t taps;
  std::int64_t depth;  // a multiple of SimdInt8::group
  const std::int8_t* columns;
  std::int32_t* sums;  // [rows][panels * int8_panel_columns]
};

// One position of a depthwise convolution: sums[c] = sum over t of x[t][c] * w[t][c], where x[t]
// begins at pieces[t] + offset.
struct Int8Depthwise {
  const std::uint8_t* const* pieces;
  std::int64_t offset;
  std::int64_t taps;
  std::int64_t channels;  // at most SimdInt8::block
  const std::int8_t* weights;
  std::int32_t* sums;  // room for a whole block
};

struct SimdInt8 {
  const char* name;

  // A panel is packed as [depth / group][int8_panel_columns][group]; panels are contiguous.
  std::int64_t group;
  void (*multiply)(const Int8Product&);

  // Weights of a depthwise convolution are packed in blocks of `block` channels; element (tap,
  // channel) of a block is at depthwise_at, the rest is 0.
  std::int64_t block;
  std::int64_t (*depthwise_bytes)(std::int64_t taps);
  std::int64_t (*depthwise_at)(std::int64_t taps, std::int64_t tap, std::int64_t channel);
  void (*depthwise)(const Int8Depthwise&);
};

// The best variant for this CPU.
const SimdInt8& simd_int8() noexcept;

// All variants that this CPU can run, for tests.
const SimdInt8* int8_avx512_vnni() noexcept;  // null if not available
const SimdInt8* int8_avx2() noexcept;
const SimdInt8& int8_baseline() noexcept;

}  // namespace quern
