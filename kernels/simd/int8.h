// SPDX-License-Identifier: Apache-2.0
// Sums of products of 8-bit integers, exact modulo 2^32, compiled once per instruction set and
// chosen when the program starts. One side is u8, the other s8: callers with other types flip the
// top bit and shift the zero point by 128.
#pragma once

#include <cstdint>

#include "kernels/simd/levels.h"

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

// A block of products by units for matrices of bytes, which multiply u8 or s8 by s8: sums = x *
// columns. Memory of `rows` rounded up to 16, and of `depth`, is read of x, whatever it holds; what
// comes of further rows than `rows` has no meaning, and what lies beyond the depth of the product
// meets columns that are 0 there. The units take int8_tile_depth bytes of a row at a time, or half
// as many where blocks are no deeper: that takes as long, but loads no zeros.
inline constexpr int int8_tile_rows = 32;
inline constexpr int int8_tile_panels = 2;
inline constexpr std::int64_t int8_tile_depth = 64;
inline constexpr std::int64_t int8_half_tile_depth = 32;
struct Int8Block {
  const std::uint8_t* x;  // row r at x + r * x_stride
  std::int64_t x_stride;
  bool is_signed;              // of x
  int rows;                    // 1 to int8_tile_rows
  int panels;                  // 1 to int8_tile_panels
  std::int64_t depth;          // a multiple of the tiles' depth
  const std::int8_t* columns;  // panels of [depth / 4][int8_panel_columns][4]
  std::int32_t* sums;          // [rows rounded up to 16][int8_tile_panels * int8_panel_columns]
  std::int64_t tile_depth = int8_tile_depth;  // as begin() was told
};

// Depthwise convolutions read four lines at a time, woven: lane l is the bytes 4 l to 4 l + 3, one
// of each line. A segment is `lanes` neighbours; its sums are
//   sums[i][l] = sum over g, t and k < 4 of
//       woven[g * group_bytes + t * tap_bytes + 4 (i * segment_step + l) + k] *
//       weights[4 ((g * taps + t) * weight_lanes + (phase + i * phase_step) % period + l) + k]
// Woven bytes and weights are read for whole segments of int8_lanes.
inline constexpr std::int64_t int8_woven_lines = 4;
inline constexpr std::int64_t int8_lanes = 64;
struct Int8Depthwise {
  const std::uint8_t* woven;
  std::int64_t group_bytes;  // from four lines to the next four
  std::int64_t groups;
  std::int64_t tap_bytes;  // from tap to tap along the line
  std::int64_t taps;
  const std::int8_t* weights;
  std::int64_t weight_lanes;
  std::int64_t phase;  // in lanes of weights
  std::int64_t phase_step;
  std::int64_t period;
  std::int64_t segments;
  std::int64_t segment_step;  // lanes
  std::int64_t lanes;         // of a segment, at most int8_lanes
  std::int32_t* sums;         // [segments][int8_lanes]
};

// Weaves `bytes` bytes of each of four lines, and again for each further column: each line `steps`
// on, and what is woven `to_step` bytes on. Writes whole segments.
struct Int8Weave {
  const std::uint8_t* lines[int8_woven_lines];
  std::int64_t steps[int8_woven_lines];
  std::int64_t columns;
  std::int64_t bytes;
  std::int64_t to_step;  // bytes
  std::uint8_t* to;
};

struct SimdInt8 {
  const char* name;
  const char* level;  // as at simd_allows()

  // A panel is packed as [depth / group][int8_panel_columns][group], each byte xor `flip`; panels
  // are contiguous. Beyond the depth of the product it meets zeros of x.
  std::int64_t group;
  std::uint8_t flip = 0;
  // Products take less time than those of as many floats.
  bool outruns_floats = false;
  void (*multiply)(const Int8Product&);

  void (*weave)(const Int8Weave&);
  void (*depthwise)(const Int8Depthwise&);
};

// Units of the calling thread. Between begin() and end() it computes blocks; end() gives their
// state up, so that the thread is as cheap to interrupt as before.
struct Int8Tiles {
  void (*begin)(std::int64_t tile_depth);  // int8_tile_depth or int8_half_tile_depth
  void (*multiply)(const Int8Block&);
  void (*end)();
};

// The units of this CPU, if the environment (simd.h) and the operating system allow them: null
// otherwise. The first call asks the latter, for the whole process, which afterwards may not set
// signal stacks that are too small for the state of tiles.
const Int8Tiles* simd_int8_tiles() noexcept;

// The best variant for this CPU.
const SimdInt8& simd_int8() noexcept;
// What they are, for those who call none: programs without such kernels have none of their code.
const char* simd_int8_name() noexcept;
bool simd_has_int8_tiles() noexcept;

// All variants that this CPU can run, for tests.
const SimdSets<SimdInt8>& int8_sets() noexcept;
#if defined(__x86_64__)
bool int8_has_vnni() noexcept;
#endif
bool int8_has_amx() noexcept;
const Int8Tiles* int8_amx() noexcept;  // as simd_int8_tiles(), whatever the environment says

}  // namespace quern
