// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/few_bits_weights.h"

#include <algorithm>
#include <cstring>

#include "graph/ops/block_quantized.h"

namespace quern {
namespace {

// Four bytes of numbers in a row, the first in the lowest bits, as a lane of a panel holds them.
template <int Bits>
std::uint32_t lane_of(std::uint32_t row) {
  constexpr std::uint32_t mask = (1u << Bits) - 1;
  std::uint32_t lane = 0;
  for (int k = 0; k < 32 / Bits; ++k)
    lane |= (row >> (Bits * k) & mask) << (k % 4 * 8 + k / 4 * Bits);
  return lane;
}

// The numbers of one column, in a lane of each group of its panel.
template <int Bits>
void pack_column(const FewBitsForm& f, const std::byte* row, std::byte* to) {
  constexpr std::int64_t lane_bytes = 4;
  constexpr std::int64_t stride = lane_bytes * few_bits_columns;
  const std::int64_t block_bytes = f.block_size * Bits / 8;
  for (std::int64_t b = 0; b < f.blocks; ++b, row += block_bytes)
    for (std::int64_t i = 0; i < f.size * Bits / 8; i += lane_bytes, to += stride) {
      std::uint32_t bits = 0;
      const std::int64_t n = std::clamp<std::int64_t>(block_bytes - i, 0, lane_bytes);
      if (n == lane_bytes)
        std::memcpy(&bits, row + i, lane_bytes);
      else
        for (std::int64_t k = 0; k < n; ++k)
          bits |= std::to_integer<std::uint32_t>(row[i + k]) << 8 * k;
      const std::uint32_t lane = lane_of<Bits>(bits);
      std::memcpy(to, &lane, lane_bytes);
    }
}

void pack_numbers(const FewBitsForm& f, const std::byte* row, std::byte* to) {
  switch (f.bits) {
    case 2: return pack_column<2>(f, row, to);
    case 4: return pack_column<4>(f, row, to);
    default: return pack_column<8>(f, row, to);
  }
}

// Floats of a column, block by block.
void pack_floats(const FewBitsForm& f, const std::byte* from, std::byte* to) {
  for (std::int64_t b = 0; b < f.blocks; ++b)
    std::memcpy(to + b * few_bits_columns * 4, from + b * 4, 4);
}

}  // namespace

FewBitsPanel FewBitsForm::panel(const std::byte* packed, std::int64_t index) const {
  const std::byte* begin = packed + index * panel_bytes();
  const std::byte* behind = begin + number_bytes() + scale_bytes();
  return {.bits = static_cast<int>(bits),
          .blocks = blocks,
          .size = size,
          .numbers = reinterpret_cast<const std::uint8_t*>(begin),
          .scales = reinterpret_cast<const float*>(begin + number_bytes()),
          .zeros = zeros == FewBitsZeros::bytes ? reinterpret_cast<const std::uint8_t*>(behind)
                                                : nullptr,
          .float_zeros =
              zeros == FewBitsZeros::floats ? reinterpret_cast<const float*>(behind) : nullptr};
}

void pack_few_bits(const FewBitsForm& form, const FewBitsOperands& from, std::byte* to) {
  const std::int64_t row_bytes = form.blocks * (form.block_size * form.bits / 8);
  const std::int64_t zero_row = ceil_div(form.blocks, 8 / form.bits);
  for (std::int64_t n = 0; n < form.columns; ++n) {
    const std::int64_t lane = n % few_bits_columns;
    std::byte* panel = to + n / few_bits_columns * form.panel_bytes();
    std::byte* scales = panel + form.number_bytes();
    std::byte* zeros = scales + form.scale_bytes();
    pack_numbers(form, from.numbers + n * row_bytes, panel + lane * 4);
    pack_floats(form, from.scales + n * form.blocks * 4, scales + lane * 4);
    if (form.zeros == FewBitsZeros::floats)
      pack_floats(form, from.zeros + n * form.blocks * 4, zeros + lane * 4);
    if (form.zeros != FewBitsZeros::bytes) continue;
    const auto* row = reinterpret_cast<const std::uint8_t*>(from.zeros) + n * zero_row;
    for (std::int64_t b = 0; b < form.blocks; ++b)
      zeros[b * few_bits_columns + lane] = std::byte{number_of_bits(row, b, form.bits)};
  }
}

}  // namespace quern
