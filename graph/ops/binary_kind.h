// SPDX-License-Identifier: Apache-2.0
// The functions of two numbers, apart from the operator whose attribute they are.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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

}  // namespace quern
