// SPDX-License-Identifier: Apache-2.0
// The work for which each of oneDNN's implementations is trusted: a table (trust.cpp) that
// tests/kernels/onednn_sweep_test.cpp verifies for both generations of the library.
//
// oneDNN offers implementations in an order of its own, and some of them accept work that they
// compute wrongly. Every primitive descriptor is therefore the first one offered that this table
// trusts with the work; if there is none, the answer is "unsupported".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include <quern/shape.h>

#include "graph/ops/windows.h"

namespace quern::onednn {

enum class Work : std::uint8_t { convolution, deconvolution, matmul, pooling, reorder };

// Properties of work that an implementation may compute wrongly.
enum class Trait : std::uint8_t {
  empty_window,    // some position of the window covers padding alone
  narrow_column,   // each sum has one channel, and the last dimension of the result is 1
  column,          // the last dimension of the result is 1
  sum,             // the result is added to the destination
  full_operand,    // a post-op reads an operand of the destination's shape
  padded_blocks,   // a dimension does not fill its blocks (oneDNN 3)
  spread_operand,  // a post-op reads an operand of none of: that shape, one number, one per channel
  bf16,            // operands of products are bf16
};

class Traits {
 public:
  constexpr Traits() = default;
  constexpr Traits(std::initializer_list<Trait> traits) {
    for (Trait t : traits) add(t);
  }
  constexpr void add(Trait t) { bits_ |= 1U << static_cast<unsigned>(t); }
  constexpr void add(Traits other) { bits_ |= other.bits_; }
  constexpr bool meets(Traits other) const { return (bits_ & other.bits_) != 0; }

 private:
  std::uint32_t bits_ = 0;
};

// Traits of a window over `src` with result `dst`, both with batch and channels in front.
Traits window_traits(const ResolvedWindow& window, const Shape& src, const Shape& dst,
                     std::int64_t channels_per_sum);
// Traits of an operand that a post-op broadcasts to `dst`. Both have the same rank; `operand` has
// ones where it is broadcast.
Traits operand_traits(const Shape& operand, const Shape& dst);

// `implementation` as oneDNN names it: "brgconv:avx512_core".
bool is_trusted(Work work, std::string_view implementation, Traits traits);

// True if this generation of oneDNN distinguishes the parameters of two elementwise post-ops with
// the same algorithm.
bool tells_repeated_eltwise_apart();

}  // namespace quern::onednn
