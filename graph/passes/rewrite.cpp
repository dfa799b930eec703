// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/rewrite.h"

#include <algorithm>
#include <unordered_map>

#include "engine/vocabulary/text_util.h"
#include "graph/verify.h"

namespace quern::passes {
namespace {

constexpr std::size_t stage_count = 3;
// A graph settles after two or three rounds; rules that undo each other would never let it.
constexpr int max_rounds = 16;
constexpr std::size_t rewrites_per_node = 64;

class Fixpoint {
 public:
  Fixpoint(std::span<const Pass> table, const PassOptions& options)
      : table_(table), options_(options), fired_(table.size(), 0) {}

  Status prepare() {
    for (const std::string& name : options_.disabled)
      if (std::ranges::find(table_, name, &Pass::name) == table_.end())
        return {Code::not_found, cat("no pass is called '", printable(name), "'")};
    for (std::size_t i = 0; i < table_.size(); ++i) {
      if (std::ranges::find(options_.disabled, table_[i].name) != options_.disabled.end()) continue;
      const auto stage = static_cast<std::size_t>(table_[i].stage);
      if (table_[i].over_graph) over_graph_[stage].push_back(i);
      for (const OpDef* def : all_ops())
        if (table_[i].at_node && table_[i].roots(*def)) at_node_[stage][def].push_back(i);
    }
    return {};
  }

  // Bodies come second: the graph around them may have given them constants.
  Status run(Graph& g) {
    QUERN_TRY(run_stages(g));
    std::vector<NodeId> with_bodies;
    for (NodeId id : g.order())
      if (!g.node(id).bodies.empty()) with_bodies.push_back(id);
    const std::size_t before = total_ + erased_;
    ++depth_;
    for (NodeId id : with_bodies)
      for (std::size_t i = 0; i < g.node(id).bodies.size(); ++i) QUERN_TRY(run(g.body(id, i)));
    --depth_;
    return total_ + erased_ == before ? Status() : run_stages(g);
  }

  void report(std::vector<PassCount>& counts) const {
    counts.clear();
    for (std::size_t i = 0; i < table_.size(); ++i) counts.push_back({table_[i].name, fired_[i]});
  }

 private:
  Status run_stages(Graph& g) {
    // First, so that nothing is asked of what nobody wants.
    const std::vector<NodeId> nodes(g.order().begin(), g.order().end());
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) erase_if_dead(g, *id);
    const std::size_t end = options_.fuse ? stage_count : stage_count - 1;
    for (std::size_t stage = 0; stage < end; ++stage) {
      // Rules that grow a graph, or undo each other, end here.
      budget_ = total_ + rewrites_per_node * (g.order().size() + 16);
      bool changed = true;
      for (int round = 0; changed && round < max_rounds && total_ < budget_; ++round) {
        QUERN_ASSIGN(changed, run_round(g, stage));
      }
      if (changed && options_.verify)
        return {Code::internal, cat("graph '", printable(g.name), "': rules undo each other")};
    }
    return {};
  }

  Result<bool> run_round(Graph& g, std::size_t stage) {
    const std::size_t before = total_;
    for (std::size_t rule : over_graph_[stage]) {
      QUERN_ASSIGN(const bool changed, table_[rule].over_graph(g));
      if (changed) QUERN_TRY(count(g, rule));
    }
    std::vector<NodeId> touched;
    g.watch(&touched);
    Status s = sweep(g, stage, touched);
    g.watch(nullptr);
    QUERN_TRY(std::move(s));
    return total_ != before;
  }

  // All nodes in order, then those that a change has touched, in the order of the changes.
  Status sweep(Graph& g, std::size_t stage, std::vector<NodeId>& touched) {
    std::vector<NodeId> queue(g.order().begin(), g.order().end());
    std::vector<bool> waits(queue.size(), false);
    const auto set_waiting = [&](NodeId id) {
      if (index(id) >= waits.size()) waits.resize(index(id) + 1, false);
      waits[index(id)] = true;
    };
    for (NodeId id : queue) set_waiting(id);
    for (std::size_t next = 0; next < queue.size() && total_ < budget_; ++next) {
      const NodeId id = queue[next];
      waits[index(id)] = false;
      if (options_.stop) QUERN_TRY(options_.stop->check());
      QUERN_TRY(visit(g, stage, id));
      for (NodeId t : touched) {
        if (t == id || (index(t) < waits.size() && waits[index(t)])) continue;
        set_waiting(t);
        queue.push_back(t);
      }
      touched.clear();
    }
    return {};
  }

  // Rules in their order, from the first one again after each that fires.
  Status visit(Graph& g, std::size_t stage, NodeId id) {
    for (std::size_t left = rewrites_per_node; left > 0 && g.alive(id); --left) {
      // A body may never run.
      if (depth_ == 0 && g.node(id).is_refused && is_dead(g, id)) return refusal(g, id);
      if (erase_if_dead(g, id)) return {};
      g.refine_types(id);
      QUERN_ASSIGN(const bool changed, apply_first(g, stage, id));
      if (!changed) return {};
    }
    return {};
  }

  Result<bool> apply_first(Graph& g, std::size_t stage, NodeId id) {
    // A node that a run will reject stays, so that the run reports the error.
    if (total_ >= options_.max_rewrites || g.node(id).is_refused) return false;
    for (std::size_t rule : at_node_[stage][&g.def(id)]) {
      QUERN_ASSIGN(const bool changed, table_[rule].at_node(g, id));
      if (!changed) continue;
      QUERN_TRY(count(g, rule));
      return true;
    }
    return false;
  }

  // The error of a node of which only the type was read, but which no run could have computed.
  static Status refusal(const Graph& g, NodeId id) {
    const Node& n = g.node(id);
    auto types = g.infer(n.op, n.inputs, n.outputs.size(), n.name);
    if (!types) return std::move(types).error();
    return {Code::invalid_model, cat("node '", printable(n.name), "' (", g.def(id).name,
                                     "): its inputs do not go with the type of its result")};
  }

  static bool is_dead(const Graph& g, NodeId id) {
    return std::ranges::all_of(g.node(id).outputs, [&](ValueId v) {
      return v == no_value || (g.value(v).uses.empty() && !g.is_output(v));
    });
  }

  // Every rule leaves dead nodes behind, so this is no rule.
  bool erase_if_dead(Graph& g, NodeId id) {
    if (!is_dead(g, id)) return false;
    g.erase(id);
    ++erased_;
    return true;
  }

  Status count(const Graph& g, std::size_t rule) {
    ++fired_[rule];
    ++total_;
    return options_.verify ? verify(g).in(cat("after ", table_[rule].name)) : Status();
  }

  std::span<const Pass> table_;
  const PassOptions& options_;
  using Rules = std::vector<std::size_t>;
  std::array<std::unordered_map<const OpDef*, Rules>, stage_count> at_node_;
  std::array<std::vector<std::size_t>, stage_count> over_graph_;
  std::vector<std::size_t> fired_;
  std::size_t total_ = 0;
  std::size_t budget_ = 0;  // of the stage: where total_ ends
  std::size_t erased_ = 0;
  int depth_ = 0;  // of bodies
};

}  // namespace

Status rewrite(Graph& graph, std::span<const Pass> table, const PassOptions& options) {
  Fixpoint fixpoint(table, options);
  QUERN_TRY(fixpoint.prepare());
  Status s = fixpoint.run(graph);
  if (options.counts) fixpoint.report(*options.counts);
  return s;
}

}  // namespace quern::passes
