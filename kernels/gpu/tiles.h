// SPDX-License-Identifier: Apache-2.0
// Tiling of matrix products for GPUs: tiles whose operands go through shared memory.
#pragma once

#include <cstdint>
#include <vector>

#include <quern/dtype.h>

#include "kernels/contract/gpu.h"

namespace quern::gpu {

// The maximum number of parts into which the terms of sums are split.
constexpr std::uint32_t most_parts = 16;

// A matrix product, or a convolution computed as one, and the layout of its operands.
struct ProductSize {
  enum class Of : std::uint8_t { matmul, conv, conv_3d };
  Of of = Of::matmul;
  std::int64_t rows = 1, columns = 1, depth = 1, batch = 1;
  // Rows begin at multiples of four elements and consist of whole groups of four.
  bool a_vectors = false, w_vectors = false, y_vectors = false;
  DType w_type = DType::f32;  // of w in memory: f32 or f16
  bool may_round = false;     // operands may be rounded to f16
  bool may_split = false;     // sums may be split into parts with separate results
};

// Dispatches for a product, the one expected to be fastest first: shader, constants below id ten,
// and grid. The caller adds buffers, push words and steps. On a GPU they are faster than operands
// in registers alone, however few tiles there are.
struct Tiling {
  std::vector<Dispatch> candidates;
  std::uint32_t parts = 1;  // of the terms, innermost in the last dimension of the grid
  double cost =
      0;  // estimated, of the first candidate: multiplications that a unit makes meanwhile
};
// True if the dispatch is a candidate of a tiling; its push words then end with the number of
// parts.
bool is_tiled(const Dispatch& d);
// Tilings in f32. No candidates for software devices and for products too narrow for any tile.
Tiling tiles_of(const ProductSize& size, const GpuTarget& target);
// Tilings with cooperative matrices of f16. No candidates if operands may not be rounded, for
// devices without such matrices, and for products too narrow for any tile.
Tiling matrix_tiles_of(const ProductSize& size, const GpuTarget& target);

}  // namespace quern::gpu
