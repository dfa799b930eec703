// SPDX-License-Identifier: Apache-2.0
// Weights of few bits in the order that the kernels of simd/few_bits.h read: panels one after the
// other, each its numbers, its scales, its zero points.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/vocabulary/multiples.h"
#include "kernels/simd/few_bits.h"

namespace quern {

enum class FewBitsZeros : std::uint8_t { middle, bytes, floats };

struct FewBitsForm {
  std::int64_t bits;
  std::int64_t block_size;
  std::int64_t size;  // block_size rounded up to few_bits_step
  std::int64_t blocks;
  std::int64_t columns;
  FewBitsZeros zeros;

  std::int64_t panels() const { return ceil_div(columns, std::int64_t{few_bits_columns}); }
  std::int64_t number_bytes() const { return blocks * size * bits / 8 * few_bits_columns; }
  std::int64_t scale_bytes() const { return blocks * few_bits_columns * 4; }
  std::int64_t zero_bytes() const {
    if (zeros == FewBitsZeros::middle) return 0;
    return zeros == FewBitsZeros::floats ? scale_bytes() : blocks * few_bits_columns;
  }
  std::int64_t panel_bytes() const {
    return round_up(number_bytes() + scale_bytes() + zero_bytes(), 64);
  }
  std::int64_t bytes() const { return panels() * panel_bytes(); }
  FewBitsPanel panel(const std::byte* packed, std::int64_t index) const;
};

// Of a BlockQuantizedMatMul in f32, of any alignment. `zeros`: packed bits or floats, as the form
// says.
struct FewBitsOperands {
  const std::byte* numbers;
  const std::byte* scales;
  const std::byte* zeros;
};
// Fills zeroed bytes.
void pack_few_bits(const FewBitsForm& form, const FewBitsOperands& from, std::byte* to);

}  // namespace quern
