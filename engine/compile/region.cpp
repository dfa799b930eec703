// SPDX-License-Identifier: Apache-2.0
#include "engine/compile/region.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>

#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

constexpr std::uint32_t outside = 0xffffffff;

// The nodes that make what `n` reads.
template <class F>
void for_each_producer(const Graph& graph, const Node& n, F&& f) {
  for (ValueId v : n.reads())
    if (v != no_value && graph.value(v).producer != no_node) f(graph.value(v).producer);
}

}  // namespace

bool fits_in_region(const Graph& graph, NodeId id) {
  const OpDef& def = graph.def(id);
  if (def.is(OpTrait::data_dependent) || def.is(OpTrait::structural)) return false;
  const auto is_text = [&](ValueId v) {
    return v != no_value && graph.type(v).dtype == DType::string;
  };
  const Node& n = graph.node(id);
  return std::ranges::none_of(n.outputs, is_text) &&
         std::none_of(n.reads().begin(), n.reads().end(), is_text);
}

RegionOperands operands_of(const Graph& graph, const Region& region) {
  std::vector<bool> is_inside(graph.value_count());
  for (NodeId id : region.nodes)
    for (ValueId v : graph.node(id).outputs)
      if (v != no_value) is_inside[index(v)] = true;
  RegionOperands found;
  std::vector<bool> is_input(graph.value_count());
  std::vector<std::uint32_t> inner_uses(graph.value_count());
  for (NodeId id : region.nodes)
    for (ValueId v : graph.node(id).reads()) {
      if (v == no_value) continue;
      ++inner_uses[index(v)];
      if (is_inside[index(v)] || is_input[index(v)]) continue;
      is_input[index(v)] = true;
      found.inputs.push_back(v);
    }
  for (NodeId id : region.nodes)
    for (ValueId v : graph.node(id).outputs) {
      if (v == no_value) continue;
      const Value& value = graph.value(v);
      if (value.handed_out > 0 || value.uses.size() > inner_uses[index(v)])
        found.outputs.push_back(v);
    }
  return found;
}

// Every node has a stage: the number of times that a path to it has gone from an accepted node to
// another one. Along a path stages never fall, so that the accepted nodes of a stage are convex.
std::vector<Region> convex_regions(const Graph& graph, const std::function<bool(NodeId)>& takes) {
  std::vector<Region> regions;
  std::vector<std::uint32_t> stages;
  std::vector<bool> taken;
  const auto grow = [&](NodeId id) {
    if (index(id) < stages.size()) return;
    stages.resize(index(id) + 1);
    taken.resize(index(id) + 1);
  };
  for (NodeId id : graph.order()) {
    grow(id);
    const bool is_taken = takes(id);
    std::uint32_t stage = 0;
    for_each_producer(graph, graph.node(id), [&](NodeId from) {
      const bool leaves = taken[index(from)] && !is_taken;
      stage = std::max(stage, stages[index(from)] + leaves);
    });
    stages[index(id)] = stage;
    taken[index(id)] = is_taken;
    if (!is_taken) continue;
    if (stage >= regions.size()) regions.resize(stage + 1);
    regions[stage].nodes.push_back(id);
  }
  std::erase_if(regions, [](const Region& r) { return r.nodes.empty(); });
  return regions;
}

Result<std::vector<GraphPiece>> pieces_in_order(const Graph& graph, std::vector<Region> regions) {
  std::vector<GraphPiece> pieces;
  std::vector<std::uint32_t> piece_of;  // by node
  const auto put = [&](NodeId id, std::size_t piece) {
    if (index(id) >= piece_of.size()) piece_of.resize(index(id) + 1, outside);
    if (piece_of[index(id)] != outside) return false;
    piece_of[index(id)] = static_cast<std::uint32_t>(piece);
    return true;
  };
  for (Region& r : regions) {
    if (r.nodes.empty()) continue;
    for (NodeId id : r.nodes)
      if (!put(id, pieces.size()))
        return Status(Code::internal,
                      cat("node '", printable(graph.node(id).name), "' is in two regions"));
    pieces.push_back({std::move(r), true});
  }
  for (NodeId id : graph.order())
    if (put(id, pieces.size())) pieces.push_back({{{id}}, false});

  // The next piece is the first in the graph among those whose operands are made.
  std::vector<std::uint32_t> missing(pieces.size());  // operands that are not made yet
  std::vector<std::vector<std::uint32_t>> readers(pieces.size());
  for (NodeId id : graph.order())
    for_each_producer(graph, graph.node(id), [&](NodeId from) {
      const std::uint32_t reader = piece_of[index(id)];
      const std::uint32_t maker = piece_of[index(from)];
      if (reader == maker) return;
      readers[maker].push_back(reader);
      ++missing[reader];
    });
  using Ready = std::pair<std::uint32_t, std::uint32_t>;  // position in the graph, piece
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto offer = [&](std::uint32_t piece) {
    if (missing[piece] == 0)
      ready.emplace(graph.position(pieces[piece].region.nodes.front()), piece);
  };
  for (std::uint32_t p = 0; p < pieces.size(); ++p) offer(p);
  std::vector<GraphPiece> ordered;
  while (!ready.empty()) {
    const std::uint32_t next = ready.top().second;
    ready.pop();
    ordered.push_back(std::move(pieces[next]));
    for (std::uint32_t reader : readers[next]) {
      --missing[reader];
      offer(reader);
    }
  }
  if (ordered.size() != pieces.size())
    return Status(Code::internal, "a device asked for regions that are not convex");
  return ordered;
}

Status add_node_by_node(const Region& region, const GpuTarget& target, RegionCompiler& compiler) {
  for (NodeId id : region.nodes) QUERN_TRY(compiler.add_dispatches(id, target));
  return {};
}

}  // namespace quern
