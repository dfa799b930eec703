// SPDX-License-Identifier: Apache-2.0
// A stable sort in little code: each instance of the standard library's takes ten times as much.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace quern {

// Sorts by less(key(a), key(b)); equal items stay in their order. Beyond eight items it takes
// memory for as many.
template <class T, class Less = std::ranges::less, class Key = std::identity>
void sort_stably(std::vector<T>& items, Less less = {}, Key key = {}) {
  constexpr std::size_t run = 8;
  const auto before = [&](const T& a, const T& b) {
    return std::invoke(less, std::invoke(key, a), std::invoke(key, b));
  };
  const std::size_t n = items.size();
  for (std::size_t first = 0; first < n; first += run)
    for (std::size_t i = first + 1; i < std::min(first + run, n); ++i) {
      const T item = items[i];
      std::size_t k = i;
      for (; k > first && before(item, items[k - 1]); --k) items[k] = items[k - 1];
      items[k] = item;
    }
  if (n <= run) return;
  std::vector<T> merged = items;
  for (std::size_t width = run; width < n; width *= 2, items.swap(merged))
    for (std::size_t first = 0; first < n; first += 2 * width) {
      const std::size_t middle = std::min(first + width, n);
      const std::size_t end = std::min(first + 2 * width, n);
      const T* const from = items.data();
      std::merge(from + first, from + middle, from + middle, from + end, merged.data() + first,
                 before);
    }
}

}  // namespace quern
