// SPDX-License-Identifier: Apache-2.0
#include "kernels/gpu/tiles.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/gpu/grid.h"

namespace quern::gpu {
namespace {

// What a workgroup makes of a product.
struct Tile {
  std::uint32_t rows, columns;
  std::uint32_t local;   // invocations
  double cost;           // of a result, with what all invocations of a unit do at a time as one
  std::uint64_t shared;  // bytes
  Dispatch form;         // shader and constants
};

// Invocations side by side, rows and vectors of four columns that each has, and how many there are.
// Large ones read least from memory and from shared memory for each product; small ones are more.
struct RegisterTile {
  std::uint32_t across, rows, vectors, local;
};
constexpr std::array<RegisterTile, 7> register_tiles = {{{16, 8, 2, 256},
                                                         {16, 8, 1, 256},
                                                         {16, 4, 2, 256},
                                                         {16, 4, 1, 256},
                                                         {8, 8, 1, 128},
                                                         {16, 4, 1, 128},
                                                         {8, 4, 1, 64}}};
constexpr std::uint32_t register_depth = 16;

// Whether the invocations fetch all of a tile's operands in whole rounds (product.glsl).
constexpr bool divides(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth,
                       std::uint32_t local) {
  return local % (depth / 4) == 0 && rows % (local / (depth / 4)) == 0 &&
         local % (columns / 4) == 0 && depth % (local / (columns / 4)) == 0;
}
static_assert(std::ranges::all_of(register_tiles, [](const RegisterTile& t) {
  return t.rows % 4 == 0 &&
         divides(t.local / t.across * t.rows, t.across * t.vectors * 4, register_depth, t.local);
}));

std::uint32_t flags_of(const ProductSize& s) {
  return std::uint32_t{s.a_vectors} | std::uint32_t{s.w_vectors} << 1 |
         std::uint32_t{s.y_vectors} << 2;
}

std::string_view tiled_name(ProductSize::Of of) {
  switch (of) {
    case ProductSize::Of::conv: return "conv_tiled";
    case ProductSize::Of::conv_3d: return "conv_3d_tiled";
    default: return "matmul_tiled";
  }
}

Tile tile_of(const RegisterTile& t, const ProductSize& size) {
  Tile tile{.rows = t.local / t.across * t.rows, .columns = t.across * t.vectors * 4};
  tile.local = t.local;
  // Reads of shared memory and of memory for each multiplication.
  tile.cost = 1 + 1.0 / t.rows + 1.0 / (4 * t.vectors) + 8.0 / tile.rows + 8.0 / tile.columns;
  tile.shared = std::uint64_t{register_depth} * (tile.rows + 4 + tile.columns) * sizeof(float);
  tile.form.shader = tiled_name(size.of);
  tile.form.constants = {t.local, t.across, t.rows, t.vectors, register_depth, flags_of(size)};
  return tile;
}

std::uint64_t groups_of(const Tile& tile, const ProductSize& size) {
  return std::uint64_t{ceil_div(static_cast<std::uint64_t>(size.rows), tile.rows)} *
         ceil_div(static_cast<std::uint64_t>(size.columns), tile.columns) *
         static_cast<std::uint64_t>(size.batch);
}

bool can_run(const Tile& tile, const ProductSize& size, const GpuTarget& target) {
  const std::array<std::uint64_t, 3> groups = {
      ceil_div(static_cast<std::uint64_t>(size.columns), tile.columns),
      ceil_div(static_cast<std::uint64_t>(size.rows), tile.rows),
      static_cast<std::uint64_t>(size.batch)};
  return tile.local <= target.max_invocations && tile.shared <= target.shared_bytes &&
         fits(groups, target);
}

// Those that the device can run, by what they should cost: rounds of workgroups over its units, in
// each of which a unit makes a tile.
Tiling ranked(std::vector<Tile> tiles, const ProductSize& size, const GpuTarget& target) {
  constexpr std::size_t most = 4;
  std::erase_if(tiles, [&](const Tile& t) { return !can_run(t, size, target); });
  const auto cost = [&](const Tile& t) {
    const double rounds = ceil_div(groups_of(t, size), std::max(target.units, 1U));
    return rounds * t.rows * t.columns * t.cost;
  };
  std::ranges::stable_sort(tiles, {}, cost);
  tiles.resize(std::min(tiles.size(), most));
  Tiling tiling;
  for (Tile& t : tiles) {
    t.form.groups = {ceil_div(static_cast<std::uint64_t>(size.columns), t.columns),
                     ceil_div(static_cast<std::uint64_t>(size.rows), t.rows), word(size.batch)};
    // Fewer than a workgroup for every fourth unit, and waiting for memory is all that it does.
    tiling.is_best = tiling.is_best || 4 * groups_of(t, size) >= target.units;
    tiling.forms.push_back(std::move(t.form));
  }
  return tiling;
}

// Most of any tile would be left empty.
bool is_narrow(const ProductSize& size) {
  constexpr std::int64_t least = 8;
  return std::min({size.rows, size.columns, size.depth}) < least;
}

}  // namespace

Tiling tiles_of(const ProductSize& size, const GpuTarget& target) {
  if (target.software || is_narrow(size) || !can_loop(2 * size.depth, target)) return {};
  std::vector<Tile> tiles;
  for (const RegisterTile& t : register_tiles) tiles.push_back(tile_of(t, size));
  return ranked(std::move(tiles), size, target);
}

}  // namespace quern::gpu
