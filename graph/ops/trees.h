// SPDX-License-Identifier: Apache-2.0
// Ensembles of decision trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

// What is done with the weights of the leaves that a row reaches, target by target.
enum class TreeAggregate : std::uint8_t { sum, average, min, max };
std::span<const std::string_view> enum_names(TreeAggregate);

// The comparison of a feature (left) with the split of a node (right).
enum class TreeTest : std::int32_t {
  less_equal,
  less,
  greater_equal,
  greater,
  equal,
  not_equal,
};
inline constexpr std::int32_t tree_tests = 6;
// Added to the test of a node that takes a missing value (NaN) for a yes.
inline constexpr std::int32_t tree_missing_is_yes = 8;

// A row of the operand `nodes`. A child that is not negative is a node further down in the list, so
// that no path has a cycle; child -1 - l is leaf l.
struct TreeNode {
  std::int32_t feature;
  std::int32_t test;  // a TreeTest, with tree_missing_is_yes or without
  std::int32_t yes;
  std::int32_t no;
};

// (x T [rows, features], nodes i32 [n, 4], splits T [n], roots i32 [trees], leaves i32 [l + 1],
// targets i32 [k], weights T [k]) -> T [rows, targets]; T is f32 or f64. Each tree leads a row from
// its root, a node or a leaf as a child is, to one leaf; leaf l has the entries from leaves[l] up
// to leaves[l + 1]: weights for targets. They are summed in f64 in the order of the trees and
// rounded once; an average is the sum by the number of trees. A target without an entry is 0, and
// min and max pass over weights that are NaN.
struct TreeEnsemble {
  TreeAggregate aggregate = TreeAggregate::sum;
  std::int64_t targets = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("aggregate", s.aggregate), f("targets", s.targets);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const TreeEnsemble&) const = default;
};

// The inputs of a TreeEnsemble.
namespace tree_input {
enum : std::size_t { x, nodes, splits, roots, leaves, targets, weights, count };
}

using TreesOps = OpList<TreeEnsemble>;

}  // namespace quern
