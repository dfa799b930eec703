// SPDX-License-Identifier: Apache-2.0
#include "graph/stripes/row_graph.h"

#include <algorithm>

namespace quern::stripes {

RowGraph::RowGraph(const Graph& graph)
    : graph_(graph), constant_(graph.value_count(), 0), axes_(graph.value_count(), no_rows) {
  for (std::uint32_t i = 0; i < graph.value_count(); ++i)
    constant_[i] = graph.value(ValueId{i}).is_constant();
  for (NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    if (is_computed_before(n)) {
      for (ValueId v : n.outputs)
        if (v != no_value) constant_[index(v)] = 1;
      continue;
    }
    positions_.emplace(index(id), order_.size());
    order_.push_back(id);
    rules_.push_back(row_rule(graph, n, axes_));
    if (!rules_.back()) continue;
    for (ValueId v : n.outputs) axes_[index(v)] = rules_.back()->axis;
  }
}

std::size_t RowGraph::position(NodeId id) const {
  const auto at = positions_.find(index(id));
  return at == positions_.end() ? size() : at->second;
}

bool RowGraph::is_computed_before(const Node& n) const {
  if (n.op.def().is(OpTrait::random) || n.op.def().is(OpTrait::structural) || !n.bodies.empty())
    return false;
  return std::ranges::all_of(n.reads(),
                             [&](ValueId v) { return v == no_value || constant_[index(v)]; });
}

}  // namespace quern::stripes
