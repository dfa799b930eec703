// SPDX-License-Identifier: Apache-2.0
// Functions of numbers that several kernels share.
#pragma once

#include <cmath>
#include <type_traits>

namespace quern {

// min and max propagate NaN from either side.
template <class T>
T nan_min(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return b < a ? b : a;
}
template <class T>
T nan_max(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return a < b ? b : a;
}

}  // namespace quern
