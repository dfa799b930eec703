// SPDX-License-Identifier: Apache-2.0
// Sorting that can be ended: a heap instead of one call of the standard library where that would
// take longer than a deadline allows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/contract/cuts.h"
#include "kernels/contract/iterate.h"

namespace quern {

// The smallest k of the n elements, in order; the rest in any order. The same as
// std::partial_sort for an order without ties. Leaves anything where `check` says that it is over.
template <class T, class Less>
void partial_sort_until(T* first, std::int64_t k, std::int64_t n, const Less& less,
                        StopCheck& check) {
  const std::int64_t at_once = cut_size(1 << 14);
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

// Sorts all n elements by merging; `spare` has room for as many. One comparison takes about `cost`
// units. Any order will do, even one that changes when it is over.
template <class T, class Less>
void sort_until(T* first, std::int64_t n, T* spare, const Less& less, std::int64_t cost,
                StopCheck& check) {
  constexpr std::int64_t shortest = 8;  // of the runs that are merged
  for (std::int64_t begin = 0; begin < n; begin += shortest) {
    if (check.spend(2 * shortest * cost)) return;
    for (std::int64_t i = begin + 1; i < std::min(begin + shortest, n); ++i)
      for (std::int64_t k = i; k > begin && less(first[k], first[k - 1]); --k)
        std::swap(first[k], first[k - 1]);
  }
  T* from = first;
  T* to = spare;
  for (std::int64_t run = shortest; run < n; run *= 2, std::swap(from, to))
    for (std::int64_t begin = 0; begin < n; begin += 2 * run) {
      const std::int64_t middle = std::min(begin + run, n);
      const std::int64_t end = std::min(middle + run, n);
      std::int64_t a = begin;
      std::int64_t b = middle;
      for (std::int64_t i = begin; i < end; ++i) {
        if (check.spend(cost)) return;
        to[i] = b == end || (a < middle && !less(from[b], from[a])) ? from[a++] : from[b++];
      }
    }
  if (from != first) for_each_until(n, 2, check, [&](std::int64_t i) { first[i] = from[i]; });
}

}  // namespace quern
