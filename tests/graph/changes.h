// SPDX-License-Identifier: Apache-2.0
// Graphs with one small change: what is almost a pattern, or almost what a kernel takes.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace quern::testing {

// One change of a graph while it is built once more.
struct GraphChange {
  std::string name;
  bool has_symbols = false;  // for all dimensions of inputs: the same for the same number
  std::function<ValueType(ValueType)> type = nullptr;  // of every input
  std::function<Tensor(std::size_t at, const Tensor&)> constant = nullptr;
  // Asked of the node at this place in the order; false: the node is left out, and its first
  // operand stands for its first output.
  std::function<bool(std::size_t at, Op&, std::vector<ValueId>&, const Graph& made)> node = nullptr;
  std::size_t handed_out = static_cast<std::size_t>(-1);  // the node whose first output is one more
};

// Another number in a constant, another operand, attribute, type or shape, a node less, a reader
// more: always the same for the same graph.
std::vector<GraphChange> changes_of(const Graph& graph);
// Nothing where a node does not take what it is given then.
std::optional<Graph> with_change(const Graph& graph, const GraphChange& change);

}  // namespace quern::testing
