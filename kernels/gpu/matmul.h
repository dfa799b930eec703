// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"
#include "kernels/contract/matmul_shape.h"
#include "kernels/gpu/steps.h"

namespace quern::gpu {

// y[b, m, n] = sum over k of a[b, m, k] * w[b, k, n]; the elements of a row of a, w and y are
// contiguous.
struct Product {
  std::int64_t rows = 1, columns = 1, depth = 1;
  std::int64_t a_row = 0, w_row = 0;  // strides
  std::int64_t w_first = 0;           // first element of w in its binding
  // At most two batch dimensions, innermost first.
  std::int64_t batch[2] = {1, 1}, a_batch[2] = {0, 0}, w_batch[2] = {0, 0};
  DType w_type = DType::f32;  // of constant weights in memory; f16 where wants_halves() is true
  bool may_round = false;     // operands may be rounded to f16
  bool may_split = false;     // sums may be split into parts in scratch memory
};
// True if constant weights should be stored as f16: for cooperative matrices, or because reading
// them dominates the time.
bool wants_halves(const Product& p, const GpuTarget& target);
// Writes an f32 element to constant weights of `type`, f32 or f16.
void write_weight(DType type, std::byte* weights, std::int64_t at, const std::byte* element);
// A product of f64, by einsum.comp.
Selection product_in_loops(const KernelRequest& request, const ProductShape& p);
// Row-major, but with the last two dimensions exchanged in memory.
Layout columns_first(const Shape& shape);
// True if the partial sums of `results` results fit into scratch memory, in addition to
// `scratch_bytes`.
bool has_room_to_split(std::int64_t results, std::uint64_t scratch_bytes, const GpuTarget& target);
// Adds a product to a kernel's work, as two dispatches if its sums are split. False if no candidate
// has a grid that the device can run.
bool add_product(KernelChoice& choice, const Product& p, BufferUse a, BufferUse w,
                 const Steps& steps, const GpuTarget& target);
// The same for given candidates, which lack only the result's buffer and the steps.
bool add_candidates(KernelChoice& choice, std::vector<Dispatch> candidates, std::uint32_t parts,
                    std::int64_t results, const Steps& steps, const GpuTarget& target);
// The product as one dispatch. nullopt if the grid is too large for the device.
std::optional<Dispatch> product_dispatch(const Product& p, BufferUse a, BufferUse w, BufferUse y,
                                         const Steps& steps, const GpuTarget& target);

}  // namespace quern::gpu
