// SPDX-License-Identifier: Apache-2.0
// Whole numbers in whole pieces.
#pragma once

#include <concepts>
#include <type_traits>

namespace quern {

// ceil(n / piece): the pieces that n takes. Requires n >= 0, piece > 0, and that n + piece is a T.
template <std::integral T>
constexpr T ceil_div(T n, std::type_identity_t<T> piece) {
  return (n + piece - 1) / piece;
}

// Returns the least multiple of `unit` that is at least n. Requires the same as ceil_div().
template <std::integral T>
constexpr T round_up(T n, std::type_identity_t<T> unit) {
  return ceil_div(n, unit) * unit;
}

}  // namespace quern
