// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/rows.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace quern {

Layout layout_with_rows(const TensorDesc& desc, std::size_t axis) {
  const std::size_t rank = desc.shape.rank();
  const bool usable = !desc.layout.block && is_dense(desc);
  if (usable && (desc.layout.strides[axis] == 1 || desc.shape[axis] == 1)) return desc.layout;
  std::array<std::int64_t, Shape::max_rank> order{};
  std::iota(order.begin(), order.begin() + static_cast<long>(rank), 0);
  if (usable)
    std::stable_sort(order.begin(), order.begin() + static_cast<long>(rank),
                     [&](std::int64_t a, std::int64_t b) {
                       return desc.layout.strides[static_cast<std::size_t>(a)] >
                              desc.layout.strides[static_cast<std::size_t>(b)];
                     });
  const auto end = order.begin() + static_cast<long>(rank);
  std::stable_partition(order.begin(), end,
                        [&](std::int64_t d) { return d != static_cast<std::int64_t>(axis); });
  return Layout::permuted(desc.shape, std::span(order).first(rank));
}

std::optional<Ints> constant_ints(const KernelRequest& request, std::size_t input) {
  if (!request.has(input) || !request.inputs[input].constant) return std::nullopt;
  auto t = request.inputs[input].constant->get();
  return t ? int_elements(*t) : std::nullopt;
}

}  // namespace quern
