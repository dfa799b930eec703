// SPDX-License-Identifier: Apache-2.0
// How products are cut for GPUs: tiles whose operands go through shared memory.
#pragma once

#include <cstdint>
#include <vector>

#include <quern/dtype.h>

#include "kernels/contract/gpu.h"

namespace quern::gpu {

// That the terms of sums are cut into.
constexpr std::uint32_t most_parts = 16;

// A product of matrices, or a convolution that is one, and how its operands lie.
struct ProductSize {
  enum class Of : std::uint8_t { matmul, conv, conv_3d };
  Of of = Of::matmul;
  std::int64_t rows = 1, columns = 1, depth = 1, batch = 1;
  // Rows begin at multiples of four elements, and all of each four is there.
  bool a_vectors = false, w_vectors = false, y_vectors = false;
  DType w_type = DType::f32;  // of w in memory, or f16
  bool may_round = false;     // operands to f16
  bool may_split = false;     // the terms of sums, into parts with results of their own
};

// Dispatches for it, the one that should be fastest first: shader, constants below ten and grid.
// Buffers, push words and steps are the caller's to add.
struct Tiling {
  std::vector<Dispatch> candidates;
  std::uint32_t parts = 1;  // of the terms; the last dimension of the grid has them innermost
  // There is enough to do for a GPU to be faster so than with operands in registers alone.
  bool is_best = false;
};
// Whether a dispatch is a candidate of a tiling, whose push words end with the number of parts.
bool is_tiled(const Dispatch& d);
// In f32. No candidates for software, and for products too narrow for any tile.
Tiling tiles_of(const ProductSize& size, const GpuTarget& target);
// By matrices of f16. No candidates where operands may not be rounded, for devices without such
// matrices, and for products too small for them.
Tiling matrix_tiles_of(const ProductSize& size, const GpuTarget& target);

}  // namespace quern::gpu
