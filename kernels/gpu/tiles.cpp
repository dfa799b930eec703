// SPDX-License-Identifier: Apache-2.0
#include "kernels/gpu/tiles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "graph/ops/tile.h"
#include "kernels/contract/cuts.h"
#include "kernels/gpu/grid.h"

namespace quern::gpu {
namespace {

// The part of a product that a workgroup computes.
struct Tile {
  std::uint32_t rows, columns;
  std::uint32_t local;   // invocations
  double cost;           // per term of a result; the work of a multiplication alone is one
  std::uint64_t shared;  // bytes
  Dispatch dispatch;     // shader and constants
};

// Adjacent invocations, rows and vectors of four columns per invocation, and the number of
// invocations. Large tiles read least from memory and shared memory per product; small ones give
// more workgroups.
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

// Subgroups across and down, rows and columns per subgroup.
struct MatrixTile {
  std::uint32_t across, down, rows, columns;
};
constexpr std::array<MatrixTile, 8> matrix_tiles = {{{2, 4, 32, 64},
                                                     {2, 4, 32, 32},
                                                     {4, 2, 32, 32},
                                                     {2, 2, 32, 32},
                                                     {2, 1, 32, 32},
                                                     {4, 2, 32, 16},
                                                     {2, 2, 32, 16},
                                                     {2, 1, 32, 16}}};
constexpr std::uint32_t matrix_depth = 32;

// True if the invocations fetch a tile's operands in whole rounds (product.glsl).
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
         std::uint32_t{s.y_vectors} << 2 | std::uint32_t{s.w_type == DType::f16} << 3;
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
  tile.dispatch.shader = tiled_name(size.of);
  tile.dispatch.constants = {t.local, t.across, t.rows, t.vectors, register_depth, flags_of(size)};
  return tile;
}

std::string_view matrix_name(ProductSize::Of of, const MatrixUnit& unit) {
  const bool emulated = unit.emulated;
  switch (of) {
    case ProductSize::Of::conv: return emulated ? "conv_cooperative_emulated" : "conv_cooperative";
    case ProductSize::Of::conv_3d:
      return emulated ? "conv_3d_cooperative_emulated" : "conv_3d_cooperative";
    default: return emulated ? "matmul_cooperative_emulated" : "matmul_cooperative";
  }
}

// True if every invocation has the same number of sums and its loop limit allows all of their
// terms.
bool can_emulate(const MatrixTile& t, const ProductSize& size, const GpuTarget& target) {
  const std::uint32_t sums = t.rows * t.columns;
  return target.matrices.m * target.matrices.n % target.subgroup_size == 0 &&
         can_loop((size.depth + std::int64_t{2} * matrix_depth) * (sums / target.subgroup_size + 8),
                  target);
}

// nullopt if the device's matrices do not divide the tile.
std::optional<Tile> tile_of(const MatrixTile& t, const ProductSize& size, const GpuTarget& target) {
  const MatrixUnit& unit = target.matrices;
  Tile tile{.rows = t.down * t.rows, .columns = t.across * t.columns};
  tile.local = t.across * t.down * target.subgroup_size;
  if (t.rows % unit.m || t.columns % unit.n || matrix_depth % unit.k || unit.n % 4 || unit.k % 4 ||
      !divides(tile.rows, tile.columns, matrix_depth, tile.local) ||
      (unit.emulated && !can_emulate(t, size, target)))
    return std::nullopt;
  // Subgroups with one matrix along the columns were 2.6 times as fast as others on an H200.
  tile.cost = t.columns == unit.n ? 0.73 : 1.9;
  constexpr std::uint64_t half = 2;
  constexpr std::uint32_t apart = 8;  // halves between rows
  tile.shared = half * tile.rows * (matrix_depth + apart) +
                half * matrix_depth * (tile.columns + apart) +
                std::uint64_t{t.across} * t.down * unit.m * unit.n * sizeof(float);
  tile.dispatch.shader = matrix_name(size.of, unit);
  tile.dispatch.constants = {
      tile.local, t.across, t.rows / unit.m, t.columns / unit.n,  matrix_depth, flags_of(size),
      unit.m,     unit.n,   unit.k,          target.subgroup_size};
  tile.dispatch.subgroup = unit.emulated ? 0 : target.subgroup_size;
  return tile;
}

std::uint64_t groups_of(const Tile& tile, const ProductSize& size) {
  return std::uint64_t{ceil_div_word(static_cast<std::uint64_t>(size.rows), tile.rows)} *
         ceil_div_word(static_cast<std::uint64_t>(size.columns), tile.columns) *
         static_cast<std::uint64_t>(size.batch);
}

// Workgroups along columns, rows and the batch with its parts.
std::array<std::uint64_t, 3> grid_of(const Tile& tile, const ProductSize& size,
                                     std::uint32_t parts) {
  return {ceil_div_word(static_cast<std::uint64_t>(size.columns), tile.columns),
          ceil_div_word(static_cast<std::uint64_t>(size.rows), tile.rows),
          static_cast<std::uint64_t>(size.batch) * parts};
}

bool can_run(const Tile& tile, const ProductSize& size, const GpuTarget& target) {
  return tile.local <= target.max_invocations && tile.shared <= target.shared_bytes &&
         fits(grid_of(tile, size, 1), target);
}

// The estimated time of a product, in multiplications that a unit makes meanwhile. The constants
// fit the times of 125 products, each in 29 ways, on an H200 (bench/results/2026-11-27-h200.md).
double cost_of(const Tile& tile, const ProductSize& size, std::uint32_t parts,
               const GpuTarget& target) {
  // Of another dispatch, with its barrier; in small tests sums are split all the same.
  const double dispatch = cuts_are_small() ? 0 : 1e6;
  constexpr double partial_sum = 0.6;  // written and read by all units
  const double rounds = ceil_div_word(groups_of(tile, size) * parts, std::max(target.units, 1U));
  const double terms = std::ceil(static_cast<double>(size.depth) / parts);
  // A unit waits for a workgroup of few invocations if it has no other.
  const double alone = 1 + 5000.0 / (tile.local * tile.local);
  const double sums = terms * tile.rows * tile.columns * tile.cost * std::max(rounds, alone);
  if (parts == 1) return sums;
  const double results = static_cast<double>(size.rows * size.columns * size.batch);
  return sums + dispatch + partial_sum * parts * results;
}

// The cheapest number of parts, each with enough terms to be worth a sum.
std::uint32_t parts_of(const Tile& tile, const ProductSize& size, const GpuTarget& target) {
  const std::int64_t least_terms = cut_size(64);
  if (!size.may_split || !fits(grid_of(tile, size, most_parts), target)) return 1;
  std::uint32_t best = 1;
  for (std::uint32_t parts = 2; parts <= most_parts && size.depth / parts >= least_terms; ++parts)
    if (cost_of(tile, size, parts, target) < cost_of(tile, size, best, target)) best = parts;
  return best;
}

// The tiles that the device can run, sorted by estimated cost, all with the number of parts of the
// best one.
Tiling ranked(std::vector<Tile> tiles, const ProductSize& size, const GpuTarget& target) {
  constexpr std::size_t most = 4;
  std::erase_if(tiles, [&](const Tile& t) { return !can_run(t, size, target); });
  if (tiles.empty()) return {};
  const Tile& best = *std::ranges::min_element(tiles, {}, [&](const Tile& t) {
    return cost_of(t, size, parts_of(t, size, target), target);
  });
  Tiling tiling{.parts = parts_of(best, size, target)};
  std::ranges::stable_sort(tiles, {},
                           [&](const Tile& t) { return cost_of(t, size, tiling.parts, target); });
  // In small tests any tile is tried, not only the smallest.
  if (cuts_are_small()) {
    const auto any = static_cast<std::size_t>(size.rows + 3 * size.columns + 7 * size.depth);
    std::rotate(tiles.begin(), tiles.begin() + static_cast<std::ptrdiff_t>(any % tiles.size()),
                tiles.end());
  }
  tiling.cost = cost_of(tiles.front(), size, tiling.parts, target);
  tiles.resize(std::min(tiles.size(), most));
  for (Tile& t : tiles) {
    const auto grid = grid_of(t, size, tiling.parts);
    for (std::size_t i = 0; i < 3; ++i) t.dispatch.groups[i] = static_cast<std::uint32_t>(grid[i]);
    tiling.candidates.push_back(std::move(t.dispatch));
  }
  return tiling;
}

// True if most of any tile would stay empty.
bool is_narrow(const ProductSize& size) {
  const std::int64_t least = cut_size(8);
  return std::min({size.rows, size.columns, size.depth}) < least;
}

}  // namespace

bool is_tiled(const Dispatch& d) {
  return d.shader.find("_tiled") != d.shader.npos || d.shader.find("_cooperative") != d.shader.npos;
}

Tiling tiles_of(const ProductSize& size, const GpuTarget& target) {
  if (target.software || is_narrow(size) || !can_loop(2 * size.depth, target)) return {};
  std::vector<Tile> tiles;
  tiles.reserve(std::size(register_tiles));
  for (const RegisterTile& t : register_tiles) tiles.push_back(tile_of(t, size));
  return ranked(std::move(tiles), size, target);
}

Tiling matrix_tiles_of(const ProductSize& size, const GpuTarget& target) {
  if (!size.may_round || target.matrices.m == 0 || target.software || is_narrow(size) ||
      !can_loop(2 * size.depth, target))
    return {};
  std::vector<Tile> tiles;
  for (const MatrixTile& t : matrix_tiles)
    if (auto tile = tile_of(t, size, target)) tiles.push_back(std::move(*tile));
  return ranked(std::move(tiles), size, target);
}

}  // namespace quern::gpu
