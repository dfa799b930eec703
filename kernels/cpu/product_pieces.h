// SPDX-License-Identifier: Apache-2.0
// Matrix products in pieces of some milliseconds, between which a deadline is seen.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/vocabulary/stop.h"
#include "kernels/contract/cuts.h"
#include "kernels/simd/simd.h"

namespace quern {

// Packs `element(k, n)`, a matrix of depth x columns, into panels that are `panel` floats apart.
// Some rows of a panel at a time stay in the first-level cache. Ends where `check` says so.
template <class F>
void pack_panels(std::int64_t depth, std::int64_t columns, float* to, std::int64_t panel,
                 StopCheck& check, const F& element) {
  constexpr std::int64_t rows = 32;
  for (std::int64_t n = 0; n < columns; n += simd_panel, to += panel)
    for (std::int64_t k = 0; k < depth; k += rows) {
      const std::int64_t count = std::min(simd_panel, columns - n);
      const std::int64_t end = std::min(depth, k + rows);
      if (check.spend(2 * count * (end - k))) return;
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t r = k; r < end; ++r) to[r * simd_panel + i] = element(r, n + i);
    }
}

namespace pieces {

inline constexpr std::int64_t tile_rows = 48;  // a multiple of the rows of every tile
inline constexpr std::int64_t cost = 16;       // multiplications of a unit

// The part of `p` from depth `k` on, `depth` long, of one tap. The bias goes to the first one,
// limits to the last.
inline SimdProduct tap_of(SimdProduct p, std::int64_t tap, std::int64_t k, std::int64_t depth) {
  const std::int64_t outer = tap / p.inner.count, inner = tap % p.inner.count;
  p.a += outer * p.outer.a_step + inner * p.inner.a_step + k;
  p.b += outer * p.outer.b_step + inner * p.inner.b_step + k * p.b_stride;
  const bool is_last = tap + 1 == p.taps() && k + depth >= p.depth;
  p.depth = std::min(depth, p.depth - k);
  p.outer = p.inner = {};
  if (tap > 0 || k > 0) {
    p.accumulate = true;
    p.bias = nullptr;
  }
  if (!is_last) p.range = {};
  return p;
}

using Multiply = void (*)(const SimdProduct&);

// Rows and columns that are short enough, with all that is added up for them.
inline void multiply_block(const SimdProduct& p, std::int64_t depth, Multiply multiply,
                           StopCheck& check) {
  if (depth >= p.depth * p.taps()) {
    if (!check.spend(1 + p.rows * p.columns * p.depth * p.taps() / cost)) multiply(p);
    return;
  }
  for (std::int64_t tap = 0; tap < p.taps(); ++tap)
    for (std::int64_t k = 0; k < p.depth; k += depth) {
      const SimdProduct part = tap_of(p, tap, k, depth);
      if (check.spend(1 + part.rows * part.columns * part.depth / cost)) return;
      multiply(part);
    }
}

}  // namespace pieces

// The same as `multiply`, one of simd()'s, to the last bit where that is the first: rows and
// columns are cut between tiles, and a sum goes on where it was. Ends where `check` says so.
inline void multiply_until(const SimdProduct& whole, StopCheck& check,
                           pieces::Multiply multiply = simd().multiply) {
  const std::int64_t at_once = cut_size(1 << 24);  // multiplications
  const std::int64_t all_depth = std::max<std::int64_t>(1, whole.depth * whole.taps());
  if (whole.rows * whole.columns * all_depth <= at_once)
    return pieces::multiply_block(whole, all_depth, multiply, check);
  constexpr std::int64_t tile_rows = pieces::tile_rows;
  const std::int64_t depth =
      std::clamp<std::int64_t>(at_once / (tile_rows * simd_panel), 1, all_depth);
  const std::int64_t columns =
      std::max<std::int64_t>(simd_panel, at_once / (tile_rows * depth) / simd_panel * simd_panel);
  const std::int64_t rows = std::max<std::int64_t>(
      tile_rows, at_once / (std::min(columns, whole.columns) * depth) / tile_rows * tile_rows);
  for (std::int64_t m = 0; m < whole.rows; m += rows)
    for (std::int64_t n = 0; n < whole.columns; n += columns) {
      SimdProduct p = whole;
      p.rows = std::min(rows, whole.rows - m);
      p.columns = std::min(columns, whole.columns - n);
      p.a += m * p.a_stride;
      p.b += n / simd_panel * p.b_panel;
      p.c += m * p.c_stride + n;
      if (p.bias) p.bias += n;
      pieces::multiply_block(p, depth, multiply, check);
      if (check.is_over()) return;
    }
}

}  // namespace quern
