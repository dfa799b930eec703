// SPDX-License-Identifier: Apache-2.0
// The trees of a TreeEnsemble as kernels walk them. Every test becomes "low <= x <= high", with the
// children exchanged where it is the other way round, and a leaf is a node that leads to itself: a
// step of a path has no branch, and paths of any length can be walked side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "graph/ops/trees.h"

namespace quern {

template <class T>
struct WalkNode {
  T high;
  std::uint32_t feature;
  std::int32_t next[2];  // where the test fails, where it holds
};

// Sizes in elements.
struct TreeCounts {
  std::size_t nodes = 0;
  std::size_t leaves = 0;
  std::size_t trees = 0;
};

// Leaf l is node `nodes` + l.
template <class T>
struct WalkTrees {
  std::span<WalkNode<T>> nodes;       // nodes, then leaves
  std::span<T> lows;                  // as long
  std::span<std::uint8_t> nan_holds;  // as long: 1 where the test holds for NaN
  std::span<std::int32_t> roots;      // a tree each
  std::span<std::int32_t> shortest;   // of each tree: the steps that every path takes

  static std::size_t bytes(const TreeCounts& n);
  // The lists in `bytes`, which are aligned to 64.
  static WalkTrees in(const TreeCounts& n, std::byte* bytes);
};

// The operands of the operator, which `infer` has checked.
template <class T>
struct TreeLists {
  const TreeNode* nodes;
  const T* splits;
  const std::int32_t* roots;
};

// True if some node tests for more than one side of a number, so that `lows` matter.
bool tests_intervals(std::span<const TreeNode> nodes);
template <class T>
void fill_walk(const TreeCounts& n, const TreeLists<T>& from, const WalkTrees<T>& to);

}  // namespace quern
