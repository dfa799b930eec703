// SPDX-License-Identifier: Apache-2.0
// Plain loops, which compilers vectorise with what every CPU of the architecture has.
#include "kernels/simd/int8.h"

namespace quern {
namespace {

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

void weave(const Int8Weave& w) {
  for (std::int64_t column = 0; column < w.columns; ++column)
    for (std::int64_t i = 0; i < w.bytes; ++i)
      for (std::int64_t k = 0; k < int8_woven_lines; ++k)
        w.to[column * w.to_step + int8_woven_lines * i + k] = w.lines[k][column * w.steps[k] + i];
}

using Words = std::uint16_t __attribute__((vector_size(16)));
using Sums = std::uint32_t __attribute__((vector_size(16)));

template <class T>
inline T read(const void* p) {
  T v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class To, class From>
inline To sign_extended(From v, int shift) {
  return reinterpret_cast<To>(v << shift >> shift);
}
// The sums of two products of 16 bits each, in lanes of 32 bits.
inline Sums sum_pairs(Words products) {
  using Signed = std::int32_t __attribute__((vector_size(16)));
  const auto both = reinterpret_cast<Signed>(products);
  return sign_extended<Sums>(both, 16) + reinterpret_cast<Sums>(both >> 16);
}
// Sums of four products of each of four lanes. A product of u8 and s8 fits in 16 bits.
inline Sums four_products(const std::uint8_t* x, const std::int8_t* w) {
  using Signed = std::int16_t __attribute__((vector_size(16)));
  const auto a = read<Words>(x);
  const auto b = read<Signed>(w);
  const Words even = (a & 0xff) * sign_extended<Words>(b, 8);
  const Words odd = (a >> 8) * reinterpret_cast<Words>(b >> 8);
  return sum_pairs(even) + sum_pairs(odd);
}

void depthwise(const Int8Depthwise& p) {
  constexpr std::int64_t lanes = 4;  // of a vector
  constexpr std::int64_t vectors = 4;
  for (std::int64_t i = 0; i < p.segments; ++i)
    for (std::int64_t l = 0; l < p.lanes; l += lanes * vectors) {
      Sums sums[vectors] = {};
      const std::int8_t* w = p.weights + 4 * ((p.phase + i * p.phase_step) % p.period + l);
      for (std::int64_t g = 0; g < p.groups; ++g) {
        const std::uint8_t* x = p.woven + g * p.group_bytes + 4 * (i * p.segment_step + l);
        for (std::int64_t t = 0; t < p.taps; ++t, x += p.tap_bytes, w += 4 * p.weight_lanes)
          for (std::int64_t v = 0; v < vectors; ++v)
            sums[v] += four_products(x + 4 * lanes * v, w + 4 * lanes * v);
      }
      __builtin_memcpy(p.sums + i * int8_lanes + l, sums, sizeof sums);
    }
}

}  // namespace

extern const SimdInt8 int8_baseline_table;
const SimdInt8 int8_baseline_table = {.name = "baseline",
                                      .level = "baseline",
                                      .group = 1,
                                      .multiply = multiply,
                                      .weave = weave,
                                      .depthwise = depthwise};

}  // namespace quern
