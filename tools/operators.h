// SPDX-License-Identifier: Apache-2.0
// Operators by name: of a graph, and of the registry.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace quern::tools {

// "Unary.relu", "Conv"
std::string op_name(const Op& op);

struct GraphCounts {
  std::size_t nodes = 0;      // those of bodies included
  std::size_t constants = 0;  // no two of which share their bytes
  std::int64_t elements = 0;  // of the constants
  std::size_t bytes = 0;
  std::vector<std::pair<std::string, std::size_t>> operators;  // most frequent first
};
GraphCounts count_graph(const Graph& graph);

// docs/operators.md: every IR family and every ONNX operator.
std::string operators_markdown();

}  // namespace quern::tools
