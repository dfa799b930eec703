// SPDX-License-Identifier: Apache-2.0
// Layouts for kernels that work on rows: the elements along one axis behind each other.
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// The layout that `desc` has if its elements along `axis` are contiguous and nothing is left out;
// else the dense one with `axis` innermost and the rest in the order in which it lies.
Layout layout_with_rows(const TensorDesc& desc, std::size_t axis);

// Elements that make another thread worth waking, for work of a few operations an element.
inline constexpr std::int64_t elements_per_thread = 16384;
// A parallel_for over rows of n elements.
inline std::int64_t row_grain(std::int64_t n) {
  return std::max<std::int64_t>(1, elements_per_thread / std::max<std::int64_t>(n, 1));
}

// The integers of a constant input; nothing when it is not constant (or absent).
std::optional<Ints> constant_ints(const KernelRequest& request, std::size_t input);

}  // namespace quern
