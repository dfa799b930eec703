// SPDX-License-Identifier: Apache-2.0
// Plain loops, which compilers vectorise with what every CPU of the architecture has.
#include "kernels/simd/few_bits.h"

namespace quern {
namespace {

constexpr int most_rows = 1;

// The lanes of a group of 64 bytes.
struct Lanes {
  std::uint32_t of[few_bits_columns];
};
inline Lanes load(const std::uint8_t* p) {
  Lanes v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

template <int Bits>
inline std::int32_t number_in(std::uint32_t lane, int i, int j) {
  return static_cast<std::int32_t>(lane >> (8 * j + Bits * i) & ((1u << Bits) - 1));
}

inline float zero_at(const FewBitsPanel& p, std::int64_t at) {
  if (p.zeros) return static_cast<float>(p.zeros[at]);
  return p.float_zeros ? p.float_zeros[at] : static_cast<float>(1 << (p.bits - 1));
}

template <int Bits, int>
inline void floats(const FewBitsPanel& p, const FewBitsFloats& f) {
  constexpr int in_byte = 8 / Bits;
  constexpr float middle = 1 << (Bits - 1);
  const bool shifts = p.zeros || p.float_zeros;
  float out[few_bits_columns] = {};
  const std::uint8_t* numbers = p.numbers;
  for (std::int64_t b = 0; b < p.blocks; ++b) {
    float sums[few_bits_columns] = {};
    const float* x = f.x + b * p.size;
    for (std::int64_t k = 0; k < p.size; k += std::int64_t{4} * in_byte, numbers += 64) {
      const Lanes v = load(numbers);
      for (int i = 0; i < in_byte; ++i)
        for (int j = 0; j < 4; ++j)
          for (int n = 0; n < few_bits_columns; ++n)
            sums[n] += x[k + std::int64_t{4} * i + j] *
                       (static_cast<float>(number_in<Bits>(v.of[n], i, j)) - middle);
    }
    for (int n = 0; n < few_bits_columns; ++n) {
      const std::int64_t at = b * few_bits_columns + n;
      const float shift = shifts ? (zero_at(p, at) - middle) * f.sums[b] : 0.0f;
      out[n] += (sums[n] - shift) * p.scales[at];
    }
  }
  __builtin_memcpy(f.y, out, sizeof out);
}

template <int Bits, int>
inline void bytes(const FewBitsPanel& p, const FewBitsBytes& f) {
  constexpr int in_byte = 8 / Bits;
  float out[few_bits_columns] = {};
  const std::uint8_t* numbers = p.numbers;
  for (std::int64_t b = 0; b < p.blocks; ++b) {
    std::int32_t sums[few_bits_columns] = {};
    const std::int8_t* x = f.x + b * p.size;
    for (std::int64_t k = 0; k < p.size; k += std::int64_t{4} * in_byte, numbers += 64) {
      const Lanes v = load(numbers);
      for (int i = 0; i < in_byte; ++i)
        for (int j = 0; j < 4; ++j)
          for (int n = 0; n < few_bits_columns; ++n)
            sums[n] += x[k + std::int64_t{4} * i + j] * number_in<Bits>(v.of[n], i, j);
    }
    for (int n = 0; n < few_bits_columns; ++n) {
      const std::int64_t at = b * few_bits_columns + n;
      const float sum =
          static_cast<float>(sums[n]) - zero_at(p, at) * static_cast<float>(f.sums[b]);
      out[n] += sum * (p.scales[at] * f.scales[b]);
    }
  }
  __builtin_memcpy(f.y, out, sizeof out);
}

template <int Bits>
inline void widen_part(const FewBitsPanel& p, const FewBitsPart& part, float* to,
                       std::int64_t stride) {
  constexpr int in_byte = 8 / Bits;
  const std::uint8_t* numbers = part.numbers;
  for (std::int64_t k = 0; k < part.count; k += std::int64_t{4} * in_byte, numbers += 64) {
    const Lanes v = load(numbers);
    for (int i = 0; i < in_byte; ++i)
      for (int j = 0; j < 4; ++j, to += stride)
        for (int n = 0; n < few_bits_columns; ++n) {
          const std::int64_t at = part.block * few_bits_columns + n;
          const auto number = static_cast<float>(number_in<Bits>(v.of[n], i, j));
          to[n] = (number - zero_at(p, at)) * p.scales[at];
        }
  }
}

#include "kernels/simd/few_bits_functions.inc"

}  // namespace

extern const SimdFewBits few_bits_baseline_table;
const SimdFewBits few_bits_baseline_table = {.name = "baseline",
                                             .level = "baseline",
                                             .multiply_floats = multiply_floats,
                                             .multiply_bytes = multiply_bytes,
                                             .widen = widen,
                                             .most = most,
                                             .quantize = quantize};

}  // namespace quern
