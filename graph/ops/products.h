// SPDX-License-Identifier: Apache-2.0
// The shape of a matrix product, for all operators that compute one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "graph/op_def.h"

namespace quern {

struct MatMul;

// The two factors of a product.
enum class Factor : std::uint8_t { left, right };

// Which factors are transposed in their last two dimensions.
struct Transposed {
  bool left = false, right = false;

  bool of(Factor f) const { return f == Factor::left ? left : right; }
};
Transposed transposed_in(const MatMul& op);

// The shape of the product of inputs i and j; nullopt if a rank is unknown.
Result<std::optional<Dims>> infer_product(const InferContext& c, std::size_t i, std::size_t j,
                                          Transposed transposed = {});

// The type of a product of 16-bit floats: that of its factors, or f32.
enum class ProductType : std::uint8_t { of_factors, f32 };
// The same Conv or MatMul with the other `f32_result`.
Op with_result(const Op& op, ProductType type);
// Rejects a product that is to give f32 and whose first operand is no 16-bit float.
Status want_16bit_for_f32(const InferContext& c);

}  // namespace quern
