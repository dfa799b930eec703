// SPDX-License-Identifier: Apache-2.0
// AMX: sixteen rows by sixteen columns by 64 or 32 products in one instruction, no saturation. Four
// tiles of sums take two tiles of rows and two of columns.
//
// Compilers without the intrinsics build a file without units.
#include "kernels/simd/int8.h"

#if defined(__x86_64__) && __has_include(<amxint8intrin.h>)
#include <cpuid.h>
#include <immintrin.h>

#include "engine/vocabulary/platform/process.h"

namespace quern {
namespace {

#define QUERN_TILES __attribute__((target("amx-tile,amx-int8")))

constexpr std::int64_t amx_rows = 16;
constexpr std::int64_t amx_sum_bytes = int8_tile_panels * int8_panel_columns * 4;  // of a row

// Sums have 16 rows of 64 bytes, rows of x the depth, and columns a row for four of it.
struct alignas(64) TileShapes {
  explicit constexpr TileShapes(std::uint8_t depth)
      : row_bytes{64, 64, 64, 64, depth, depth, 64, 64},
        rows{16,
             16,
             16,
             16,
             16,
             16,
             static_cast<std::uint8_t>(depth / 4),
             static_cast<std::uint8_t>(depth / 4)} {}
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};
constexpr TileShapes amx_shapes(int8_tile_depth);
constexpr TileShapes amx_half_shapes(int8_half_tile_depth);

QUERN_TILES void amx_begin(std::int64_t tile_depth) {
  _tile_loadconfig(tile_depth == int8_tile_depth ? &amx_shapes : &amx_half_shapes);
}
QUERN_TILES void amx_end() {
  _tile_release();
}

#define QUERN_MULTIPLY_TILES(sums, rows, columns) \
  do {                                            \
    if constexpr (is_signed)                      \
      _tile_dpbssd(sums, rows, columns);          \
    else                                          \
      _tile_dpbusd(sums, rows, columns);          \
  } while (false)

// Tiles 0 to 3 are sums, 4 and 5 rows, 6 and 7 columns.
template <bool is_signed, int Halves, int Panels>
QUERN_TILES void amx_multiply_tiles(const Int8Block& b) {
  const std::uint8_t* upper = b.x;
  const std::uint8_t* lower = b.x + amx_rows * b.x_stride;
  const std::int8_t* left = b.columns;
  const std::int8_t* right = b.columns + b.depth * int8_panel_columns;
  _tile_zero(0);
  if constexpr (Panels == 2) _tile_zero(1);
  if constexpr (Halves == 2) _tile_zero(2);
  if constexpr (Halves == 2 && Panels == 2) _tile_zero(3);
  const std::int64_t tile_bytes = b.tile_depth * int8_panel_columns;
  for (std::int64_t k = 0; k < b.depth; k += b.tile_depth) {
    _tile_loadd(4, upper + k, b.x_stride);
    _tile_loadd(6, left, 64);
    QUERN_MULTIPLY_TILES(0, 4, 6);
    if constexpr (Halves == 2) {
      _tile_loadd(5, lower + k, b.x_stride);
      QUERN_MULTIPLY_TILES(2, 5, 6);
    }
    if constexpr (Panels == 2) {
      _tile_loadd(7, right, 64);
      QUERN_MULTIPLY_TILES(1, 4, 7);
      if constexpr (Halves == 2) QUERN_MULTIPLY_TILES(3, 5, 7);
    }
    left += tile_bytes;
    right += tile_bytes;
  }
  std::int32_t* sums = b.sums;
  constexpr std::int64_t half = amx_rows * int8_tile_panels * int8_panel_columns;
  _tile_stored(0, sums, amx_sum_bytes);
  if constexpr (Panels == 2) _tile_stored(1, sums + int8_panel_columns, amx_sum_bytes);
  if constexpr (Halves == 2) _tile_stored(2, sums + half, amx_sum_bytes);
  if constexpr (Halves == 2 && Panels == 2)
    _tile_stored(3, sums + half + int8_panel_columns, amx_sum_bytes);
}
#undef QUERN_MULTIPLY_TILES

template <bool is_signed>
void amx_multiply_signs(const Int8Block& b) {
  if (b.rows > amx_rows)
    b.panels == 2 ? amx_multiply_tiles<is_signed, 2, 2>(b) : amx_multiply_tiles<is_signed, 2, 1>(b);
  else
    b.panels == 2 ? amx_multiply_tiles<is_signed, 1, 2>(b) : amx_multiply_tiles<is_signed, 1, 1>(b);
}

void amx_multiply(const Int8Block& b) {
  b.is_signed ? amx_multiply_signs<true>(b) : amx_multiply_signs<false>(b);
}

constexpr Int8Tiles amx_table = {.begin = amx_begin, .multiply = amx_multiply, .end = amx_end};

bool may_use_amx() {
  constexpr unsigned has_tiles = 1u << 24;
  constexpr unsigned has_bytes = 1u << 25;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & has_tiles) || !(d & has_bytes))
    return false;
  return platform::may_use_tiles();
}

}  // namespace

bool int8_has_amx() noexcept {
  static const bool here = int8_has_vnni() && may_use_amx();
  return here;
}
const Int8Tiles* int8_amx() noexcept {
  return int8_has_amx() ? &amx_table : nullptr;
}

}  // namespace quern
#else
namespace quern {

bool int8_has_amx() noexcept {
  return false;
}
const Int8Tiles* int8_amx() noexcept {
  return nullptr;
}

}  // namespace quern
#endif
