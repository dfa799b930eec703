// SPDX-License-Identifier: Apache-2.0
// What the quantised operators share: saturation, requantisation, and their small operands.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "graph/numeric.h"
#include "graph/op_def.h"
#include "graph/text_util.h"
#include "kernels/scalar_math.h"

namespace quern {

// A whole number clamped to the range of T; NaN gives 0.
template <class T>
T saturated(double v) {
  if constexpr (std::is_same_v<T, Int4>) {
    return Int4(convert<std::int64_t>(v < -8 ? -8 : v > 7 ? 7 : v));
  } else if constexpr (std::is_same_v<T, UInt4>) {
    return UInt4(convert<std::int64_t>(v < 0 ? 0 : v > 15 ? 15 : v));
  } else {
    return convert<T>(v);
  }
}

// round(sum * multiplier) + zero, halves to even, in float as the integer kernels of the peers do
// it.
template <class Y>
Y requantized(std::int32_t sum, float multiplier, std::int64_t zero) {
  const float scaled = std::nearbyint(static_cast<float>(sum) * multiplier);
  return saturated<Y>(static_cast<double>(scaled) + static_cast<double>(zero));
}

// Scale and zero point that spread the range of x, 0 included, over 0 to 255.
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

constexpr bool is_8bit(DType t) {
  return t == DType::i8 || t == DType::u8;
}
// f(TypeTag<std::int8_t or std::uint8_t>)
template <class F>
void visit_8bit(DType t, F&& f) {
  t == DType::i8 ? f(TypeTag<std::int8_t>{}) : f(TypeTag<std::uint8_t>{});
}

inline Status want_8bit(const InferContext& c, std::size_t i) {
  if (!c.has(i) || is_8bit(c.dtype(i))) return {};
  return c.error(cat(c.describe(i), " must be of i8 or u8"));
}
// Not known to have any other number of elements than one.
inline bool may_be_one_element(const Dims& d) {
  return std::all_of(d.begin(), d.end(), [](Dim n) { return !n.known() || n.is(1); });
}
// One element (a scalar or a list of one), or with `length` also a list of that many.
inline Status want_parameter(const InferContext& c, std::size_t i, const Dim* length = nullptr) {
  const Dims* d = c.dims(i);
  if (!d || (d->size() <= 1 && may_be_one_element(*d))) return {};
  if (length && d->size() == 1 && meet(*d, {*length})) return {};
  return c.error(cat(c.describe(i), " must be a scalar",
                     length && length->known() ? cat(" or a list of ", length->value())
                     : length                  ? std::string(" or a list")
                                               : std::string()));
}

}  // namespace quern
