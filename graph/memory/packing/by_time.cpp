// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/packing/by_time.h"

#include <algorithm>
#include <unordered_set>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/order/orders.h"
#include "graph/memory/packing/random.h"

namespace quern {
namespace {

class ByTime {
 public:
  ByTime(const MemoryProblem& problem, std::uint64_t capacity, SearchEnds& ends)
      : problem_(problem),
        capacity_(static_cast<std::int64_t>(capacity)),
        ends_(ends),
        offsets_(problem.intervals.size(), -1) {
    Placer placer(problem);
    if (!placer.conflicts().listed()) return;
    order_ = by_start(problem);
    // Not of std::ranges: clang 14 cannot read gcc 12's subranges.
    std::stable_partition(order_.begin(), order_.end(), [&](std::uint32_t i) {
      return problem.intervals[i].fixed_offset.has_value();
    });
    find_neighbours(placer);
  }

  bool run() { return !order_.empty() && place(0); }

  MemoryPlan plan() const {
    MemoryPlan plan{std::vector<std::uint64_t>(offsets_.size()), 0};
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      plan.offsets[i] = static_cast<std::uint64_t>(offsets_[i]);
      plan.size = std::max(plan.size, plan.offsets[i] + problem_.intervals[i].size);
    }
    return plan;
  }

 private:
  struct Neighbour {
    std::uint32_t buffer;  // placed before
    std::int64_t below;    // how far above it at least,
    std::int64_t above;    // and how far under it
  };
  struct Range {
    std::int64_t first, end;  // between them, both left out, nothing may be
  };

  void find_neighbours(const Placer& placer) {
    std::vector<std::size_t> rank(order_.size());
    for (std::size_t k = 0; k < order_.size(); ++k) rank[order_[k]] = k;
    neighbours_.resize(order_.size());
    open_.resize(order_.size());
    std::vector<std::size_t> last(order_.size());
    for (std::uint32_t i : order_)
      for (std::uint32_t j : placer.conflicts()[i]) {
        last[i] = std::max(last[i], rank[j]);
        if (rank[j] < rank[i])
          neighbours_[i].push_back({j, placer.separation(j, i), placer.separation(i, j)});
      }
    // open_[k]: the buffers placed before the k-th that conflict with it or a later one.
    for (std::uint32_t i : order_)
      for (std::size_t k = rank[i] + 1; k <= last[i]; ++k) open_[k].push_back(i);
  }

  std::uint64_t state(std::size_t k) const {
    std::uint64_t hash = mixed(k + 1);
    for (std::uint32_t i : open_[k])
      hash += mixed(static_cast<std::uint64_t>(offsets_[i]) * 0x9e3779b97f4a7c15U + i);
    return mixed(hash);
  }

  bool place(std::size_t k) {
    if (k == order_.size()) return true;
    if (ends_.reached()) return false;
    --ends_.steps;
    const std::uint64_t before = state(k);
    if (failed_.contains(before)) return false;
    const std::uint32_t i = order_[k];
    for (const std::int64_t offset : places_of(i)) {
      offsets_[i] = offset;
      if (place(k + 1)) return true;
    }
    offsets_[i] = -1;
    if (failed_.size() < most_states) failed_.insert(before);
    return false;
  }

  // From the lowest to the highest.
  std::vector<std::int64_t> places_of(std::uint32_t i) const {
    const Interval& b = problem_.intervals[i];
    const auto alignment = static_cast<std::int64_t>(b.alignment);
    const std::int64_t highest = capacity_ - static_cast<std::int64_t>(b.size);
    std::vector<std::int64_t> places;
    std::vector<Range> taken;
    const auto propose = [&](std::int64_t at) {
      if (at >= 0 && at <= highest) places.push_back(at);
    };
    for (const Neighbour& n : neighbours_[i]) {
      const std::int64_t at = offsets_[n.buffer];
      if (at - n.above >= at + n.below) continue;  // each in a gap of the other
      taken.push_back({at - n.above, at + n.below});
      propose(round_up(at + n.below, alignment));
      if (at >= n.above) propose((at - n.above) / alignment * alignment);
    }
    propose(0);
    if (highest >= 0) propose(highest / alignment * alignment);
    if (b.fixed_offset) places.assign(1, static_cast<std::int64_t>(*b.fixed_offset));
    std::erase_if(places, [&](std::int64_t at) {
      return std::ranges::any_of(taken, [&](const Range& r) { return r.first < at && at < r.end; });
    });
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
  }

  static constexpr std::size_t most_states = std::size_t{1} << 20;

  const MemoryProblem& problem_;
  std::int64_t capacity_;
  SearchEnds& ends_;
  Order order_;
  std::vector<std::vector<Neighbour>> neighbours_;  // of each buffer
  std::vector<std::vector<std::uint32_t>> open_;    // when the k-th is placed
  std::vector<std::int64_t> offsets_;
  std::unordered_set<std::uint64_t> failed_;
};

}  // namespace

std::optional<MemoryPlan> fit_by_time(const MemoryProblem& problem, std::uint64_t capacity,
                                      SearchEnds& ends) {
  ByTime search(problem, capacity, ends);
  if (!search.run()) return std::nullopt;
  return search.plan();
}

}  // namespace quern
