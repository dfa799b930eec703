// SPDX-License-Identifier: Apache-2.0
// The trees of a model during its import, and what classical models have behind their sums.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx-parser/node_import.h"
#include "graph/ops/trees.h"

namespace quern::onnx {

// A child, and a root: a node by its number, or -1 - l for leaf l.
using TreeChild = std::int64_t;

struct ForestNode {
  std::int64_t feature = 0;
  TreeTest test = TreeTest::less_equal;
  bool missing_is_yes = false;
  double split = 0;
  TreeChild yes = 0;
  TreeChild no = 0;
};

// In any order, nodes that no root leads to among them. The entries of leaf l go up to those of the
// next one.
struct Forest {
  std::vector<ForestNode> nodes;
  std::vector<TreeChild> roots;
  std::vector<std::int64_t> leaves;  // where the entries of each begin
  std::vector<std::int64_t> targets;
  std::vector<double> weights;
  std::function<std::string(std::int64_t)> node_name;  // for messages
};

// The sums [rows, targets] of x [rows, features], f32 or f64. Fails where nodes form a cycle; what
// is out of range the operator refuses.
ValueId add_trees(NodeImport& n, ValueId x, const Forest& forest, const TreeEnsemble& op);

}  // namespace quern::onnx
