// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <quern/artefact.h>

#include "engine/artefact/load.h"
#include "engine/vocabulary/guarded.h"
#include "graph/graph.h"

namespace quern {
namespace {

template <class T>
void add(std::vector<T>& list, const T& item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

void add_graph(const Graph& graph, std::vector<std::string>& operators, ArtefactNeeds& needs) {
  for (std::uint32_t v = 0; v < graph.value_count(); ++v)
    add(needs.types, graph.type(ValueId{v}).dtype);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    add(operators, std::string(graph.def(id).name));
    for (const PostOp& post_op : node.post_ops) {
      const auto* binary = std::get_if<BinaryPostOp>(&post_op);
      const Op op = binary ? operator_of(*binary) : std::get<Op>(post_op);
      add(operators, std::string(op.def().name));
    }
    for (const Graph& body : node.bodies) add_graph(body, operators, needs);
  }
}

}  // namespace

Result<ArtefactNeeds> needs_of(std::span<const std::byte> bytes) {
  return guarded([&]() -> Result<ArtefactNeeds> {
    QUERN_ASSIGN(const std::vector<Graph> graphs, artefact::graphs_of(bytes));
    ArtefactNeeds needs;
    needs.types.push_back(DType::f32);  // of loops that no type chooses
    std::vector<std::string> of_plans;
    for (std::size_t i = 1; i < graphs.size(); ++i) add_graph(graphs[i], of_plans, needs);
    needs.operators = of_plans;
    add_graph(graphs[0], needs.operators, needs);
    needs.kernels = graphs.size() > 1 ? of_plans : needs.operators;
    return needs;
  });
}

}  // namespace quern
