// SPDX-License-Identifier: Apache-2.0
// Matrix products in pieces of some milliseconds, between which a deadline is seen.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/vocabulary/stop.h"
#include "kernels/contract/cuts.h"
#include "kernels/simd/simd.h"

namespace quern {

// The same as simd().multiply, to the last bit: rows and columns are cut between tiles, and a sum
// goes on where it was. Ends where `check` says so.
inline void multiply_until(const SimdProduct& whole, StopCheck& check) {
  const std::int64_t at_once = cut_size(1 << 24);  // multiplications
  constexpr std::int64_t tile_rows = 48;           // a multiple of the rows of every tile
  constexpr std::int64_t cost = 16;                // multiplications of a unit
  const std::int64_t all = whole.rows * whole.columns * whole.depth;
  if (all <= at_once) {
    if (!check.spend(1 + all / cost)) simd().multiply(whole);
    return;
  }
  const std::int64_t depth =
      std::clamp<std::int64_t>(at_once / (tile_rows * simd_panel), 1, whole.depth);
  const std::int64_t columns =
      std::max<std::int64_t>(simd_panel, at_once / (tile_rows * depth) / simd_panel * simd_panel);
  const std::int64_t rows = std::max<std::int64_t>(
      tile_rows, at_once / (std::min(columns, whole.columns) * depth) / tile_rows * tile_rows);
  for (std::int64_t m = 0; m < whole.rows; m += rows)
    for (std::int64_t n = 0; n < whole.columns; n += columns)
      for (std::int64_t k = 0; k < whole.depth; k += depth) {
        SimdProduct p = whole;
        p.rows = std::min(rows, whole.rows - m);
        p.columns = std::min(columns, whole.columns - n);
        p.depth = std::min(depth, whole.depth - k);
        p.a += m * p.a_stride + k;
        p.b += n / simd_panel * p.b_panel + k * p.b_stride;
        p.c += m * p.c_stride + n;
        p.accumulate = whole.accumulate || k > 0;
        if (check.spend(1 + p.rows * p.columns * p.depth / cost)) return;
        simd().multiply(p);
      }
}

}  // namespace quern
