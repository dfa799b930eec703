// SPDX-License-Identifier: Apache-2.0
// Sorting that can be ended: a heap instead of one call of the standard library where that would
// take longer than a deadline allows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/vocabulary/stop.h"

namespace quern {

// The smallest k of the n elements, in order; the rest in any order. The same as
// std::partial_sort for an order without ties. Leaves anything where `check` says that it is over.
template <class T, class Less>
void partial_sort_until(T* first, std::int64_t k, std::int64_t n, const Less& less,
                        StopCheck& check) {
  constexpr std::int64_t at_once = 1 << 14;
  constexpr std::int64_t cost = 16;  // of an element of a heap
  if (n <= at_once) {
    std::partial_sort(first, first + k, first + n, less);
    check.spend(cost * n);
    return;
  }
  for (std::int64_t i = 1; i < k; ++i) {
    std::push_heap(first, first + i + 1, less);
    if (check.spend(cost)) return;
  }
  for (std::int64_t i = k; i < n && k > 0; ++i) {
    if (check.spend(2)) return;
    if (!less(first[i], first[0])) continue;
    std::pop_heap(first, first + k, less);
    std::swap(first[k - 1], first[i]);
    std::push_heap(first, first + k, less);
    if (check.spend(4 * cost)) return;
  }
  for (std::int64_t i = k; i > 1; --i) {
    std::pop_heap(first, first + i, less);
    if (check.spend(4 * cost)) return;
  }
}

}  // namespace quern
