// SPDX-License-Identifier: Apache-2.0
// Strides of heads, which lie one after the other or side by side in each row.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "kernels/contract/kernel.h"
#include "kernels/contract/layout.h"

namespace quern {

// Strides of the last three dimensions, in elements.
struct Heads {
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
};
inline Heads heads_of(const Shape& strides) {
  const std::size_t r = strides.rank();
  return {strides[r - 3], strides[r - 2], strides[r - 1]};
}

// Which elements must be contiguous: those of a row, or those of a row or of a column.
enum class Lines : std::uint8_t { rows, rows_or_columns };

// The layout of the operand itself if its elements are contiguous as required.
inline Layout layout_of(const TensorDesc& t, Lines wanted) {
  const std::size_t r = t.shape.rank();
  const auto is_unit = [&](std::size_t d) { return t.layout.strides[d] == 1; };
  const bool by_column = wanted == Lines::rows_or_columns && is_unit(r - 2);
  const bool fits = !t.layout.block && (is_unit(r - 1) || by_column);
  return fits ? t.layout : Layout::row_major(t.shape);
}

// Dense, with the dimensions in the memory order of `like`.
inline Layout ordered_like(const Shape& shape, const Layout& like) {
  std::array<std::int64_t, Shape::max_rank> order{};
  const std::size_t rank = shape.rank();
  for (std::size_t d = 0; d < rank; ++d) order[d] = static_cast<std::int64_t>(d);
  std::stable_sort(order.begin(), order.begin() + static_cast<long>(rank) - 1,
                   [&](std::int64_t a, std::int64_t b) {
                     return like.strides[static_cast<std::size_t>(a)] >
                            like.strides[static_cast<std::size_t>(b)];
                   });
  return Layout::permuted(shape, std::span(order).first(rank));
}

}  // namespace quern
