// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tree_nodes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "engine/vocabulary/multiples.h"

namespace quern {
namespace {

TreeTest test_of(const TreeNode& node) {
  return static_cast<TreeTest>(node.test & ~tree_missing_is_yes);
}

// A test as an interval. `exchanged`: it holds where x lies outside of it.
template <class T>
struct Interval {
  T low;
  T high;
  bool exchanged = false;
};

// The numbers below `split`; NaN as an end: no number at all.
template <class T>
T below(T split) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  return split == -infinity ? std::numeric_limits<T>::quiet_NaN()
                            : std::nextafter(split, -infinity);
}

template <class T>
Interval<T> interval_of(TreeTest test, T split) {
  constexpr T least = -std::numeric_limits<T>::infinity();
  // What is not greater than NaN is not less either: no number passes such a test.
  const bool is_ordered = !std::isnan(split);
  switch (test) {
    case TreeTest::less_equal: return {least, split};
    case TreeTest::less: return {least, below(split)};
    case TreeTest::greater: return {least, split, is_ordered};
    case TreeTest::greater_equal: return {least, below(split), is_ordered};
    case TreeTest::equal: return {split, split};
    case TreeTest::not_equal: return {split, split, true};
  }
  return {least, split};
}

// True if NaN goes the way of numbers in the interval.
template <class T>
bool nan_holds(const TreeNode& node, const Interval<T>& interval) {
  const bool is_yes =
      test_of(node) == TreeTest::not_equal || (node.test & tree_missing_is_yes) != 0;
  return is_yes != interval.exchanged;
}

template <class E>
std::span<E> take(std::byte*& at, std::size_t n) {
  const std::span<E> list(reinterpret_cast<E*>(at), n);
  at += round_up(n * sizeof(E), 64);
  return list;
}

}  // namespace

template <class T>
std::size_t WalkTrees<T>::bytes(const TreeCounts& n) {
  const std::size_t all = n.nodes + n.leaves;
  return round_up(all * sizeof(WalkNode<T>), 64) + round_up(all * sizeof(T), 64) +
         round_up(all, 64) + 2 * round_up(n.trees * sizeof(std::int32_t), 64);
}

template <class T>
WalkTrees<T> WalkTrees<T>::in(const TreeCounts& n, std::byte* bytes) {
  const std::size_t all = n.nodes + n.leaves;
  WalkTrees<T> w;
  w.nodes = take<WalkNode<T>>(bytes, all);
  w.lows = take<T>(bytes, all);
  w.nan_holds = take<std::uint8_t>(bytes, all);
  w.roots = take<std::int32_t>(bytes, n.trees);
  w.shortest = take<std::int32_t>(bytes, n.trees);
  return w;
}

bool tests_intervals(std::span<const TreeNode> nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const TreeNode& node) {
    return test_of(node) == TreeTest::equal || test_of(node) == TreeTest::not_equal;
  });
}

template <class T>
void fill_walk(const TreeCounts& n, const TreeLists<T>& from, const WalkTrees<T>& to) {
  const auto place = [&](std::int32_t child) {
    return child >= 0 ? child : static_cast<std::int32_t>(n.nodes) - 1 - child;
  };
  for (std::size_t i = 0; i < n.nodes; ++i) {
    const TreeNode& node = from.nodes[i];
    const Interval<T> interval = interval_of(test_of(node), from.splits[i]);
    to.lows[i] = interval.low;
    to.nan_holds[i] = nan_holds(node, interval) ? 1 : 0;
    WalkNode<T>& walk = to.nodes[i];
    walk = {
        interval.high, static_cast<std::uint32_t>(node.feature), {place(node.no), place(node.yes)}};
    if (interval.exchanged) std::swap(walk.next[0], walk.next[1]);
  }
  for (std::size_t i = n.nodes; i < n.nodes + n.leaves; ++i) {
    const auto self = static_cast<std::int32_t>(i);
    to.nodes[i] = {T(0), 0, {self, self}};
    to.lows[i] = T(0);
    to.nan_holds[i] = 0;
  }
  // Children lie behind their nodes.
  std::vector<std::int32_t> steps(n.nodes + n.leaves);
  for (std::size_t i = n.nodes; i-- > 0;) {
    const auto& next = to.nodes[i].next;
    steps[i] = 1 + std::min(steps[static_cast<std::size_t>(next[0])],
                            steps[static_cast<std::size_t>(next[1])]);
  }
  for (std::size_t t = 0; t < n.trees; ++t) {
    to.roots[t] = place(from.roots[t]);
    to.shortest[t] = steps[static_cast<std::size_t>(to.roots[t])];
  }
}

template struct WalkTrees<float>;
template struct WalkTrees<double>;
template void fill_walk(const TreeCounts&, const TreeLists<float>&, const WalkTrees<float>&);
template void fill_walk(const TreeCounts&, const TreeLists<double>&, const WalkTrees<double>&);

}  // namespace quern
