// SPDX-License-Identifier: Apache-2.0
// Binary functions of one element: the definition that the references use and that every fast path
// is tested against.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "graph/ops/binary_kind.h"
#include "kernels/contract/scalar_math.h"

namespace quern {

// Modulo 2^bits of T; a negative exponent gives 1 / base^|exponent|, truncated.
template <class T, class E>
T integer_power(T base, E exponent) {
  if constexpr (std::is_signed_v<E>) {
    if (exponent < 0) {
      if constexpr (std::is_signed_v<T>)
        if (base == -1) return exponent % 2 ? T(-1) : T(1);
      return base == 1 ? T(1) : T(0);
    }
  }
  using Unsigned = std::make_unsigned_t<T>;
  // 32 bits or more, so that no promotion to int can overflow.
  using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, Unsigned>;
  Unsigned result = 1;
  auto power = static_cast<Unsigned>(base);
  for (auto e = static_cast<std::make_unsigned_t<E>>(exponent); e; e >>= 1) {
    if (e & 1) result = static_cast<Unsigned>(Wide(result) * Wide(power));
    power = static_cast<Unsigned>(Wide(power) * Wide(power));
  }
  return static_cast<T>(result);
}

template <class T>
T apply_float(BinaryKind kind, T a, T b) {
  switch (kind) {
    case BinaryKind::add: return a + b;
    case BinaryKind::sub: return a - b;
    case BinaryKind::mul: return a * b;
    case BinaryKind::div: return a / b;
    case BinaryKind::pow: return std::pow(a, b);
    case BinaryKind::mod: {
      const T r = std::fmod(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case BinaryKind::fmod: return std::fmod(a, b);
    case BinaryKind::min: return nan_min(a, b);
    case BinaryKind::max: return nan_max(a, b);
    case BinaryKind::prelu: return a < 0 ? a * b : a;
    default: return a;
  }
}

// Wraps on overflow; division and remainder by zero are 0.
template <class T>
T apply_integer(BinaryKind kind, T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, Unsigned>;
  const auto ua = static_cast<Wide>(static_cast<Unsigned>(a));
  const auto ub = static_cast<Wide>(static_cast<Unsigned>(b));
  constexpr auto bits = static_cast<Wide>(8 * sizeof(T));
  const bool minus_one = std::is_signed_v<T> && b == static_cast<T>(-1);
  switch (kind) {
    case BinaryKind::add: return static_cast<T>(ua + ub);
    case BinaryKind::sub: return static_cast<T>(ua - ub);
    case BinaryKind::mul: return static_cast<T>(ua * ub);
    case BinaryKind::div:
      if (b == 0) return 0;
      return minus_one ? static_cast<T>(Wide(0) - ua) : static_cast<T>(a / b);
    case BinaryKind::mod: {
      if (b == 0 || minus_one) return 0;
      const T r = static_cast<T>(a % b);
      return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
    }
    case BinaryKind::fmod: return b == 0 || minus_one ? T(0) : static_cast<T>(a % b);
    case BinaryKind::pow: return integer_power(a, b);
    case BinaryKind::min: return std::min(a, b);
    case BinaryKind::max: return std::max(a, b);
    case BinaryKind::prelu: return a < 0 ? static_cast<T>(ua * ub) : a;
    case BinaryKind::bitwise_and: return static_cast<T>(a & b);
    case BinaryKind::bitwise_or: return static_cast<T>(a | b);
    case BinaryKind::bitwise_xor: return static_cast<T>(a ^ b);
    case BinaryKind::shift_left: return ub >= bits ? T(0) : static_cast<T>(ua << ub);
    case BinaryKind::shift_right:
      return ub >= bits ? T(0) : static_cast<T>(static_cast<Unsigned>(a) >> ub);
    default: return a;
  }
}

template <class T>
bool compare(BinaryKind kind, const T& a, const T& b) {
  switch (kind) {
    case BinaryKind::equal: return a == b;
    case BinaryKind::less: return a < b;
    case BinaryKind::less_equal: return a <= b;
    case BinaryKind::greater: return a > b;
    case BinaryKind::greater_equal: return a >= b;
    default: return false;
  }
}

}  // namespace quern
