// SPDX-License-Identifier: Apache-2.0
#include "graph/stripes/cached.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "graph/ops/concat.h"
#include "graph/ops/conv.h"
#include "graph/ops/pool.h"
#include "graph/stripes/lives.h"

namespace quern::stripes {
namespace {

constexpr std::size_t most_nodes = 64;         // of a chain
constexpr std::int64_t most_stripes = 32;      // of a chain
constexpr std::int64_t most_work = 1'000'000;  // actions that are looked at in all chains

// Shares of the cache. Where less than `crossing` is live between two nodes a chain ends, since
// that stays in the cache anyway; `filled` is what rows and weights of a chain may take.
constexpr double crossing = 0.25;
constexpr double filled = 0.8;
constexpr double weights = 0.25;  // of one node: each stripe reads them again

// Kernels with more flops a byte wait for no memory, and take somewhat longer for few rows.
constexpr double busy = 60;
constexpr double slower = 0.05;
constexpr double whole_call = 1.5e-6;  // seconds, as in ChainCost
// Of one core, for the time of a run.
constexpr double flops_a_second = 150e9;
constexpr double bytes_a_second = 12e9;

class Chooser {
 public:
  Chooser(const RowGraph& graph, std::span<const NodeWork> works, const CacheModel& cache)
      : graph_(graph),
        works_(works),
        cache_(cache),
        made_(graph.graph().value_count(), graph.size()),
        live_(graph.size() + 2, 0) {
    for (std::size_t at = 0; at < graph.size(); ++at)
      for (ValueId v : graph.node(at).outputs)
        if (v != no_value) made_[index(v)] = at;
    for (const Life& life : lives_of(graph)) {
      live_[life.made + 1] += life.bytes;
      live_[life.last + 1] -= life.bytes;
    }
    std::partial_sum(live_.begin(), live_.end(), live_.begin());
  }

  std::vector<Chain> all() {
    std::vector<Chain> chains;
    double gain = 0;
    for (std::size_t first = 0; first < graph_.size() && work_ < most_work;) {
      const std::size_t last = end_of_chain(first);
      if (last - first >= 2)
        if (const auto chain = in_stripes(first, last, gain)) chains.push_back(*chain);
      first = std::max(last, first + 1);
    }
    const bool is_enough = cache_.least_gain == 0 || gain >= cache_.least_gain * seconds();
    return is_enough ? chains : std::vector<Chain>();
  }

 private:
  double share(double of) const { return of * static_cast<double>(cache_.bytes); }
  double bytes_of(ValueId v) const {
    const ValueType& known = graph_.graph().type(v);
    return static_cast<double>(TensorType{known.dtype, *known.shape()}.bytes());
  }

  double weights_of(std::size_t at) const {
    double bytes = 0;
    for (ValueId v : graph_.node(at).reads())
      if (v != no_value && graph_.is_constant(v)) bytes += bytes_of(v);
    return bytes;
  }

  // Seconds of a run, estimated.
  double seconds() const {
    double all = 0;
    for (const NodeWork& w : works_)
      all += std::max(w.flops / flops_a_second, w.bytes / bytes_a_second);
    return all;
  }

  bool is_busy(std::size_t at) const { return works_[at].flops > busy * works_[at].bytes; }

  // True for nodes of which chains were measured to be faster.
  bool may_be_in(std::size_t at) const {
    const Node& n = graph_.node(at);
    const bool is_known = n.op.is<Conv>() || n.op.is<Pool>() || n.op.is<Concat>() ||
                          n.op.def().is(OpTrait::elementwise);
    const DType dtype = graph_.graph().type(n.outputs[0]).dtype;
    return graph_.rule(at) && is_known && (dtype == DType::f32 || dtype == DType::f16) &&
           !works_[at].is_for_whole && weights_of(at) <= share(weights);
  }

  // True if each value of the chain from `first` on is read by its rows.
  bool joins(std::size_t first, std::size_t at) const {
    const Node& n = graph_.node(at);
    for (std::size_t i = 0; i < n.read_count(); ++i) {
      const ValueId v = n.read(i);
      const std::size_t made = v == no_value ? graph_.size() : made_[index(v)];
      if (made < first || made >= at) continue;
      const auto& read = graph_.rule(at)->reads[i];
      if (!read || read->axis != graph_.rule(made)->axis) return false;
    }
    return true;
  }

  // The position after the last node of the longest chain, which begins with a convolution.
  std::size_t end_of_chain(std::size_t first) const {
    if (!graph_.node(first).op.is<Conv>() || !may_be_in(first)) return first;
    std::size_t last = first + 1;
    while (last < graph_.size() && last - first < most_nodes && may_be_in(last) &&
           static_cast<double>(live_[last]) > share(crossing) && joins(first, last))
      ++last;
    return last;
  }

  // Seconds that a value of a chain saves, by being read from the cache that it was written to.
  double saved_by(std::size_t at, ValueId v) const {
    double largest = 0;  // result of a reader: the value leaves the cache while it is made
    double accesses = is_busy(at) ? 0 : 1;
    for (const Use& use : graph_.graph().value(v).uses) {
      const std::size_t reader = graph_.position(use.node);
      if (reader == graph_.size()) continue;
      for (ValueId result : graph_.node(reader).outputs)
        if (result != no_value) largest = std::max(largest, bytes_of(result));
      if (!is_busy(reader)) accesses += 1;
    }
    const bool leaves = static_cast<double>(live_[at + 1]) + largest > share(1);
    return leaves ? accesses * bytes_of(v) * cache_.moved : 0;
  }

  // What one chain does whatever the number of its stripes.
  struct Fixed {
    double saved = 0;    // seconds
    double slower = 0;   // seconds
    double weights = 0;  // bytes
    double whole = 0;    // bytes of values that are needed as a whole, but for results
    double through = 0;  // bytes that stripes read or write beyond the chain, of all stripes
  };
  Fixed fixed_of(const ChainModel& model, std::size_t first, std::size_t last) const {
    Fixed f;
    for (std::size_t at = first; at < last; ++at) {
      const Node& n = graph_.node(at);
      f.weights += weights_of(at);
      if (is_busy(at)) f.slower += slower * works_[at].flops / flops_a_second;
      double outside = 0;
      for (ValueId v : n.reads())
        if (v != no_value && !graph_.is_constant(v) && !model.is_inside(v)) outside += bytes_of(v);
      for (ValueId v : n.outputs) {
        if (!model.is_whole(v)) {
          if (!n.op.def().is(OpTrait::view)) f.saved += saved_by(at, v);
          continue;
        }
        outside += bytes_of(v);
        if (!graph_.graph().is_output(v)) f.whole += bytes_of(v);
      }
      f.through = std::max(f.through, outside);
    }
    return f;
  }

  // The chain in as few stripes as the cache holds; adds the seconds that it gains.
  std::optional<Chain> in_stripes(std::size_t first, std::size_t last, double& gain) {
    const auto model = ChainModel::make(graph_, first, last);
    if (!model) return std::nullopt;
    const Fixed f = fixed_of(*model, first, last);
    if (f.saved <= 0) return std::nullopt;
    const auto nodes = static_cast<double>(last - first);
    for (std::int64_t steps = 2; steps <= most_stripes && work_ < most_work;) {
      if (model->most_steps() / steps < cache_.least_rows) return std::nullopt;
      work_ += steps * static_cast<std::int64_t>(last - first);
      const ChainCost c = model->cost(steps);
      const auto count = static_cast<double>(steps);
      const double bytes = static_cast<double>(c.peak) - f.whole + f.through / count + f.weights;
      if (bytes > share(filled)) {
        const double wanted = std::ceil(count * bytes / share(filled));
        steps = std::max(steps + 1, static_cast<std::int64_t>(std::min(wanted, 1e6)));
        continue;
      }
      // The calls of whole tensors are saved.
      const double calls = (count - 1) * nodes * cache_.call - nodes * whole_call;
      const double cost = c.seconds + f.slower + calls;
      if (f.saved < cache_.least_ratio * cost) return std::nullopt;
      gain += f.saved - cost;
      return Chain{first, last, steps};
    }
    return std::nullopt;
  }

  const RowGraph& graph_;
  std::span<const NodeWork> works_;
  const CacheModel& cache_;
  std::vector<std::size_t> made_;  // by value: the position of its node
  std::vector<std::uint64_t>
      live_;  // by position: bytes made before it that are read from there on
  std::int64_t work_ = 0;
};

}  // namespace

std::vector<Chain> chains_for_cache(const RowGraph& graph, std::span<const NodeWork> works,
                                    const CacheModel& cache) {
  return Chooser(graph, works, cache).all();
}

}  // namespace quern::stripes
