// SPDX-License-Identifier: Apache-2.0
// Functions of two numbers, and comparisons.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

enum class BinaryKind : std::uint8_t {
  // clang-format off
  add, sub, mul, div, pow, mod, fmod, min, max, prelu, logical_and, logical_or, logical_xor,
  bitwise_and, bitwise_or, bitwise_xor, shift_left, shift_right, equal, less, less_equal, greater,
  greater_equal,
  // clang-format on
};
std::span<const std::string_view> enum_names(BinaryKind);
constexpr bool is_comparison(BinaryKind k) {
  return k >= BinaryKind::equal;
}
constexpr bool is_logical(BinaryKind k) {
  return k == BinaryKind::logical_and || k == BinaryKind::logical_or ||
         k == BinaryKind::logical_xor;
}
// numpy broadcasting. prelu(x, slope); comparisons give bool; mod takes the divisor's sign, fmod
// the dividend's. x / 0 and x mod 0 of integers are 0, INT_MIN / -1 wraps (facts: the peers
// disagree or crash). min and max propagate NaN.
struct Binary {
  BinaryKind kind = BinaryKind::add;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Binary&) const = default;
};

using BinaryOps = OpList<Binary>;

}  // namespace quern
