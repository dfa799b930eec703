// SPDX-License-Identifier: Apache-2.0
// Products by weights of 2, 4 or 8 bits that are unpacked in registers, compiled once per
// instruction set and chosen when the program starts.
#pragma once

#include <cstdint>

#include "kernels/simd/levels.h"

namespace quern {

// The columns of a panel, the greatest number of rows of a call, and what the numbers of a block
// are a multiple of.
inline constexpr int few_bits_columns = 16;
inline constexpr int few_bits_rows = 8;
inline constexpr std::int64_t few_bits_step = 16;

// Sixteen columns of weights: (number - zero) * scale, the numbers without sign. They come in
// groups of 64 bytes: byte 4 n + j of group g holds, from its lowest bits on, the numbers k = g *
// (32 / bits) + 4 i + j, i = 0, 1, ..., of column n.
struct FewBitsPanel {
  int bits;
  std::int64_t blocks;
  std::int64_t size;  // numbers of a block, a multiple of few_bits_step
  const std::uint8_t* numbers;
  const float* scales;        // [blocks][few_bits_columns]
  const std::uint8_t* zeros;  // the same; null, as the next: 2^(bits - 1)
  const float* float_zeros;   // zero points that are no bytes
};

// Some numbers of a block of a panel.
struct FewBitsPart {
  const std::uint8_t* numbers;
  std::int64_t block;
  std::int64_t count;
};

// Rows of x in floats: y = x * panel. Padding of a block is 0 in x.
struct FewBitsFloats {
  const float* x;
  std::int64_t x_stride;  // from row to row
  const float* sums;      // of each block of x: [rows][blocks]; not read if the panel has no zeros
  int rows;               // 1 to few_bits_rows
  float* y;               // [rows][few_bits_columns]
};

// Rows of x in bytes: block b of row r is x * scales[r * blocks + b].
struct FewBitsBytes {
  const std::int8_t* x;
  std::int64_t x_stride;
  const float* scales;
  const std::int32_t* sums;
  int rows;
  float* y;
};

// Sums of products of bytes by the numbers less 2^(bits - 1) of some blocks: y += what they are
// worth, block by block. Sums and results of a row are few_bits_sum_stride from those of the row
// before; they may be those of two panels.
inline constexpr std::int64_t few_bits_sum_stride = std::int64_t{2} * few_bits_columns;
inline constexpr std::int64_t few_bits_sum_rows = 32;
struct FewBitsSums {
  std::int64_t block;  // the first
  int blocks;
  const std::int32_t* sums;    // [blocks][few_bits_sum_rows][few_bits_sum_stride]
  const float* scales;         // of block `block + i` in row r of x: scales[i * scale_stride + r]
  const std::int32_t* x_sums;  // the same
  std::int64_t scale_stride;
  int rows;  // 1 to few_bits_sum_rows
  float* y;  // [rows][few_bits_sum_stride]
};

struct SimdFewBits {
  const char* name;
  const char* level;  // as at simd_allows()

  void (*multiply_floats)(const FewBitsPanel&, const FewBitsFloats&);
  void (*multiply_bytes)(const FewBitsPanel&, const FewBitsBytes&);
  // The numbers [begin, end) of a block, multiples of few_bits_step, as floats: number k of column
  // n at to[(k - begin) * stride + n].
  void (*widen)(const FewBitsPanel&, std::int64_t block, std::int64_t begin, std::int64_t end,
                float* to, std::int64_t stride);
  // The greatest absolute value of n floats; infinity or NaN where one of them is.
  float (*most)(const float* x, std::int64_t n);
  // q = round(x * factor), halves to even, for |x * factor| < 128; returns the sum.
  std::int32_t (*quantize)(const float* x, float factor, std::int8_t* q, std::int64_t n);

  // For units for matrices of bytes (int8.h), null where the set has none of them. `unpack`: the
  // numbers of a block less 2^(bits - 1), [size / 4][few_bits_columns][4].
  void (*unpack)(const FewBitsPanel&, std::int64_t block, std::int8_t* to) = nullptr;
  void (*add_sums)(const FewBitsPanel&, const FewBitsSums&) = nullptr;
};

// The best variant for this CPU.
const SimdFewBits& simd_few_bits() noexcept;
// All variants that this CPU can run, for tests.
const SimdSets<SimdFewBits>& few_bits_sets() noexcept;

}  // namespace quern
