// SPDX-License-Identifier: Apache-2.0
// Plain loops, which compilers vectorise with what every CPU of the architecture has.
#include "kernels/simd/int8.h"

namespace quern {
namespace {

constexpr std::int64_t block = 16;

// Unsigned sums wrap.
inline std::uint32_t product(std::uint8_t x, std::int8_t w) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(x) * w);
}

void multiply_row(const Int8Product& p, int row, int panel) {
  std::uint32_t sums[int8_panel_columns] = {};
  const std::int8_t* b = p.columns + panel * p.taps * p.depth * int8_panel_columns;
  for (std::int64_t t = 0; t < p.taps; ++t) {
    const std::uint8_t* a = p.pieces[t * p.rows + row] + p.offset;
    for (std::int64_t k = 0; k < p.depth; ++k, b += int8_panel_columns)
      for (int n = 0; n < int8_panel_columns; ++n) sums[n] += product(a[k], b[n]);
  }
  std::int32_t* to = p.sums + std::ptrdiff_t{row * p.panels + panel} * int8_panel_columns;
  for (int n = 0; n < int8_panel_columns; ++n) to[n] = static_cast<std::int32_t>(sums[n]);
}

void multiply(const Int8Product& p) {
  for (int q = 0; q < p.panels; ++q)
    for (int r = 0; r < p.rows; ++r) multiply_row(p, r, q);
}

std::int64_t depthwise_bytes(std::int64_t taps) {
  return taps * block;
}
std::int64_t depthwise_at(std::int64_t, std::int64_t tap, std::int64_t channel) {
  return tap * block + channel;
}

void depthwise(const Int8Depthwise& p) {
  for (std::int64_t c = 0; c < p.channels; ++c) {
    std::uint32_t sum = 0;
    for (std::int64_t t = 0; t < p.taps; ++t)
      sum += product(p.pieces[t][p.offset + c], p.weights[t * block + c]);
    p.sums[c] = static_cast<std::int32_t>(sum);
  }
}

constexpr SimdInt8 table = {.name = "baseline",
                            .group = 1,
                            .multiply = multiply,
                            .block = block,
                            .depthwise_bytes = depthwise_bytes,
                            .depthwise_at = depthwise_at,
                            .depthwise = depthwise};

}  // namespace

const SimdInt8& int8_baseline() noexcept {
  return table;
}

}  // namespace quern
