// SPDX-License-Identifier: Apache-2.0
// Layouts for kernels that work on rows, in which the elements along one axis are contiguous.
#pragma once

#include "kernels/contract/cuts.h"
#include "kernels/contract/kernel.h"

namespace quern {

// The layout of `desc` if its elements along `axis` are contiguous and it is dense; else the dense
// layout with `axis` innermost and the other dimensions in their present order.
Layout layout_with_rows(const TensorDesc& desc, std::size_t axis);

// The number of elements per thread that makes another thread worth waking, for work of a few
// operations per element.
inline std::int64_t elements_per_thread() {
  return cut_size(16384);
}
// The grain of a parallel loop over rows of n elements.
inline std::int64_t row_grain(std::int64_t n) {
  return std::max<std::int64_t>(1, elements_per_thread() / std::max<std::int64_t>(n, 1));
}

// A row of more elements is gone through in pieces of so many, whether there is a deadline or not:
// a sum is the sum of its pieces.
inline constexpr std::int64_t row_piece = std::int64_t{1} << 20;
// Calls f(begin, count) for the pieces of a row, until `check` ends it.
template <class F>
void for_row_pieces(std::int64_t n, StopCheck& check, F&& f) {
  const std::int64_t piece = cut_size(row_piece);
  for (std::int64_t begin = 0; begin < n; begin += piece) {
    const std::int64_t count = std::min(piece, n - begin);
    if (check.spend(count)) return;
    f(begin, count);
  }
}
// The sum of f(begin, count) over the pieces.
template <class F>
float sum_of_pieces(std::int64_t n, StopCheck& check, F&& f) {
  double total = 0;
  for_row_pieces(n, check, [&](std::int64_t begin, std::int64_t count) {
    total += static_cast<double>(f(begin, count));
  });
  return static_cast<float>(total);
}

// The integers of a constant input; nullopt if it is not constant or absent.
std::optional<Ints> constant_ints(const KernelRequest& request, std::size_t input);

}  // namespace quern
