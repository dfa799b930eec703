// SPDX-License-Identifier: Apache-2.0
#include "graph/stripes/search.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/vocabulary/stop.h"
#include "graph/ops/slice.h"
#include "graph/ops/split.h"
#include "graph/stripes/lives.h"

namespace quern::stripes {

namespace {

// Actions of chains that are looked at; some 50 ns each.
constexpr std::uint64_t most_work = 20'000'000;
constexpr std::int64_t most_actions = 30'000;  // of one chain: each becomes a node
constexpr std::size_t most_nodes = 256;        // of a chain
constexpr std::size_t most_crossing = 3;       // values that are live where a chain begins or ends

// Seconds of a node with an operand that is too large: more than all else that is weighed.
constexpr double too_large = 1e3;

// The bytes of the largest value that a node reads or makes. Views move nothing.
std::uint64_t largest_operand(const RowGraph& rows, std::size_t at) {
  const Node& n = rows.node(at);
  if (n.op.def().is(OpTrait::view) || n.op.is<Slice>() || n.op.is<Split>()) return 0;
  std::uint64_t most = 0;
  const auto add = [&](ValueId v) {
    if (v == no_value || rows.is_constant(v)) return;
    const ValueType& known = rows.graph().type(v);
    most = std::max<std::uint64_t>(most, TensorType{known.dtype, *known.shape()}.bytes());
  };
  for (ValueId v : n.reads()) add(v);
  for (ValueId v : n.outputs) add(v);
  return most;
}

}  // namespace

Search::Search(const RowGraph& graph, std::span<const std::uint64_t> scratch, const Stop* stop,
               std::uint64_t most_operand)
    : graph_(graph),
      most_operand_(most_operand),
      whole_(graph.size() + 1, 0),
      whole_seconds_(graph.size(), 0),
      ending_at_(graph.size() + 1) {
  const std::vector<Life> lives = lives_of(graph_);
  std::vector<std::uint64_t> crossing(graph.size() + 2, 0);  // values made before and read behind
  for (const Life& life : lives) {
    whole_[life.made] += life.bytes;
    whole_[life.last + 1] -= life.bytes;
    ++crossing[life.made + 1];
    --crossing[life.last + 1];
  }
  std::partial_sum(whole_.begin(), whole_.end(), whole_.begin());
  std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
  whole_.pop_back();
  for (std::size_t at = 0; at < graph.size(); ++at) {
    if (const std::size_t node = index(graph.id(at)); node < scratch.size())
      whole_[at] += scratch[node];
    if (largest_operand(graph, at) > most_operand_) whole_seconds_[at] = too_large;
  }
  const auto may_cut = [&](std::size_t at) { return crossing[at] <= most_crossing; };
  std::uint64_t work = 0;
  for (std::size_t length = 2; length <= std::min(most_nodes, graph.size()); ++length)
    for (std::size_t first = 0; first + length <= graph.size(); ++first) {
      if (!may_cut(first) || !may_cut(first + length)) continue;
      if (work > most_work || (stop && stop->is_reached())) return;
      work += add_candidates(first, first + length, lives);
    }
}

// Returns the work that it took.
std::uint64_t Search::add_candidates(std::size_t first, std::size_t last,
                                     std::span<const Life> lives) {
  const std::size_t length = last - first;
  const auto model = ChainModel::make(graph_, first, last);
  if (!model) return length;
  std::uint64_t through = 0;  // bytes that are live before it and read in it or behind it
  for (const Life& life : lives)
    if (life.made < first && life.last >= first) through += life.bytes;
  std::uint64_t work = length + lives.size() / 8;
  for (std::int64_t rows = 1; rows < model->most_steps(); rows *= 2) {
    const std::int64_t steps = (model->most_steps() + rows - 1) / rows;
    if (steps > most_actions / static_cast<std::int64_t>(length)) continue;
    ChainCost cost = model->cost(steps);
    cost.peak += through;
    work += static_cast<std::uint64_t>(steps) * length;
    if (cost.largest > most_operand_) cost.seconds += too_large * static_cast<double>(length);
    ending_at_[last].push_back({{first, last, steps}, cost});
  }
  return work;
}

std::optional<Choice> Search::cheapest(std::uint64_t bytes) const {
  const std::size_t n = graph_.size();
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<double> best(n + 1, never);
  std::vector<const Candidate*> taken(n + 1, nullptr);
  best[0] = 0;
  for (std::size_t at = 1; at <= n; ++at) {
    if (whole_[at - 1] <= bytes) best[at] = best[at - 1] + whole_seconds_[at - 1];
    for (const Candidate& c : ending_at_[at]) {
      const double seconds = best[c.chain.first] + c.cost.seconds;
      if (c.cost.peak > bytes || seconds >= best[at]) continue;
      best[at] = seconds;
      taken[at] = &c;
    }
  }
  if (best[n] == never) return std::nullopt;
  Choice choice{.seconds = best[n]};
  for (std::size_t at = n; at > 0;) {
    const Candidate* c = taken[at];
    choice.peak = std::max(choice.peak, c ? c->cost.peak : whole_[at - 1]);
    if (c) choice.chains.insert(choice.chains.begin(), c->chain);
    at = c ? c->chain.first : at - 1;
  }
  return choice;
}

std::vector<std::uint64_t> Search::peaks() const {
  std::vector<std::uint64_t> all = whole_;
  for (const auto& candidates : ending_at_)
    for (const Candidate& c : candidates) all.push_back(c.cost.peak);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Choice Search::smallest() const {
  const std::vector<std::uint64_t> all = peaks();
  if (all.empty()) return {};
  const auto at = std::ranges::partition_point(
      all, [&](std::uint64_t bytes) { return !cheapest(bytes).has_value(); });
  return *cheapest(at == all.end() ? all.back() : *at);
}

}  // namespace quern::stripes
