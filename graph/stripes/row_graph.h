// SPDX-License-Identifier: Apache-2.0
// The nodes that a run computes, in order, with their rules.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "graph/stripes/rows.h"

namespace quern::stripes {

// Nodes whose inputs are all constants are left out: they are computed before a run.
class RowGraph {
 public:
  // All dimensions of the graph must be numbers; it must outlive this object and stay as it is.
  explicit RowGraph(const Graph& graph);

  const Graph& graph() const { return graph_; }
  std::size_t size() const { return order_.size(); }
  NodeId id(std::size_t position) const { return order_[position]; }
  const Node& node(std::size_t position) const { return graph_.node(order_[position]); }
  // Null: the node needs all of its inputs.
  const RowRule* rule(std::size_t position) const {
    return rules_[position] ? &*rules_[position] : nullptr;
  }
  // The position of a node; size() for one that is left out.
  std::size_t position(NodeId id) const;
  bool is_constant(ValueId v) const { return constant_[index(v)]; }

 private:
  bool is_computed_before(const Node& node) const;

  const Graph& graph_;
  std::vector<NodeId> order_;
  std::unordered_map<std::uint32_t, std::size_t> positions_;
  std::vector<std::optional<RowRule>> rules_;  // by position
  std::vector<std::uint8_t> constant_;         // by value
  std::vector<std::uint8_t> axes_;             // by value: RowAxes
};

}  // namespace quern::stripes
