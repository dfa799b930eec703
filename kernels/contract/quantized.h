// SPDX-License-Identifier: Apache-2.0
// Helpers for quantised operators: saturation, requantisation, and their small operands.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "graph/numeric.h"
#include "kernels/contract/scalar_math.h"

namespace quern {

// A whole number clamped to the range of T; NaN gives 0.
template <class T>
T saturated(double v) {
  if constexpr (is_few_bits<T>) {
    return T(convert<std::int64_t>(v < T::lowest ? T::lowest : v > T::highest ? T::highest : v));
  } else {
    return convert<T>(v);
  }
}

// round(sum * multiplier) + zero, rounding halves to even, in float like the integer kernels of the
// peers.
template <class Y>
Y requantized(std::int32_t sum, float multiplier, std::int64_t zero) {
  const float scaled = std::nearbyint(static_cast<float>(sum) * multiplier);
  return saturated<Y>(static_cast<double>(scaled) + static_cast<double>(zero));
}

// Scale and zero point that map the range of x, extended to include 0, to 0 to 255.
struct DynamicSteps {
  float scale;
  std::uint8_t zero;
};
inline DynamicSteps dynamic_steps(float lowest, float highest) {
  const float low = nan_min(0.0f, lowest);
  const float high = nan_max(0.0f, highest);
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  const float zero = std::nearbyint(std::clamp(0.0f - low / scale, 0.0f, 255.0f));
  return {scale, saturated<std::uint8_t>(static_cast<double>(zero))};
}

// f(TypeTag<std::int8_t or std::uint8_t>)
template <class F>
void visit_8bit(DType t, F&& f) {
  t == DType::i8 ? f(TypeTag<std::int8_t>{}) : f(TypeTag<std::uint8_t>{});
}

}  // namespace quern
