// SPDX-License-Identifier: Apache-2.0
// Weights of few bits, quantised in blocks along the depth of a product.
#pragma once

#include <cstdint>
#include <limits>

#include "graph/op.h"

namespace quern {

// (x [..., K], weights u8 [N, blocks, bytes], scales [N, blocks], zeros?, bias [N]?) -> [..., N]:
// y[n] = bias[n] + sum over k of x[k] * (q[n, k] - zero[n, k / block_size]) * scale[n, k /
// block_size]. A row of weights holds numbers of `bits` bits, 2, 4 or 8, without sign, the first in
// the lowest bits of a byte; a block is block_size of them, the last one is filled up. zeros: u8
// [N, bytes], of `bits` bits each, or [N, blocks] of the type of x; absent: 2^(bits - 1). As
// com.microsoft's MatMulNBits.
//
// quantize_x: each block of x is rounded to whole multiples of its greatest absolute value
// divided by 127, so that products are those of bytes (accuracy_level 4 there). A block whose
// greatest value is below 1e-30 counts as zeros.
struct BlockQuantizedMatMul {
  std::int64_t bits = 4;
  std::int64_t block_size = 32;
  bool quantize_x = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("bits", s.bits), f("block_size", s.block_size), f("quantize_x", s.quantize_x);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const BlockQuantizedMatMul&) const = default;
};

// (x u8 [..., n]) -> u8 [..., n * 8 / bits]: the numbers of `bits` bits, 2, 4 or 8, that each byte
// holds, the first in its lowest bits.
struct UnpackBits {
  std::int64_t bits = 4;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("bits", s.bits);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const UnpackBits&) const = default;
};

// A block holds as many numbers at most. With quantize_x the sum of the products of one is an i32.
inline constexpr std::int64_t most_in_block = std::int64_t{1} << 20;
inline constexpr std::int64_t most_in_block_of_bytes = 65'536;

// The number at index i of a row of numbers of `bits` bits.
inline std::uint8_t number_of_bits(const std::uint8_t* row, std::int64_t i, std::int64_t bits) {
  const std::int64_t in_byte = 8 / bits;
  return static_cast<std::uint8_t>(row[i / in_byte] >> (i % in_byte * bits) & ((1 << bits) - 1));
}

// The rounding of quantize_x to a block whose greatest absolute value is `most`: x becomes
// round(x * inverse) * scale, halves to even. All NaN where one of x is not finite.
template <class T>
struct BlockSteps {
  T scale;
  T inverse;

  explicit BlockSteps(T most)
      : scale(most / T(127)), inverse(most >= T(1e-30f) ? T(127) / most : T(0)) {
    if (inverse > 0 || most < T(1)) return;
    scale = std::numeric_limits<T>::quiet_NaN();
  }
};

using BlockQuantizedOps = OpList<BlockQuantizedMatMul, UnpackBits>;

}  // namespace quern
