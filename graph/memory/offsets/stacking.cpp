// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/offsets/stacking.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/order/orders.h"
#include "graph/memory/problem/stable_sort.h"
#include "graph/memory/problem/sweep.h"

namespace quern {
namespace {

// The top of what is placed, over time: ranges are raised, the highest of a range is asked for.
class PlacedLine {
 public:
  explicit PlacedLine(std::size_t steps) : size_(std::bit_ceil(std::max<std::size_t>(steps, 1))) {
    top_.resize(2 * size_);
    whole_.resize(2 * size_);
  }
  std::uint64_t highest(std::size_t first, std::size_t end) const {
    return highest(1, 0, size_, first, end);
  }
  void raise(std::size_t first, std::size_t end, std::uint64_t to) {
    raise(1, 0, size_, first, end, to);
  }

 private:
  std::uint64_t highest(std::size_t node, std::size_t lo, std::size_t hi, std::size_t first,
                        std::size_t end) const {
    if (end <= lo || hi <= first) return 0;
    if (first <= lo && hi <= end) return top_[node];
    const std::size_t mid = (lo + hi) / 2;
    return std::max({whole_[node], highest(2 * node, lo, mid, first, end),
                     highest(2 * node + 1, mid, hi, first, end)});
  }
  void raise(std::size_t node, std::size_t lo, std::size_t hi, std::size_t first, std::size_t end,
             std::uint64_t to) {
    if (end <= lo || hi <= first) return;
    top_[node] = std::max(top_[node], to);
    if (first <= lo && hi <= end) {
      whole_[node] = std::max(whole_[node], to);
      return;
    }
    const std::size_t mid = (lo + hi) / 2;
    raise(2 * node, lo, mid, first, end, to);
    raise(2 * node + 1, mid, hi, first, end, to);
  }

  std::size_t size_;
  std::vector<std::uint64_t> top_;    // highest in the node's range
  std::vector<std::uint64_t> whole_;  // what was raised over all of it
};

std::vector<std::int64_t> times_of(std::span<const Piece> pieces) {
  std::vector<std::int64_t> times;
  for (const Piece& p : pieces) {
    times.push_back(p.first);
    times.push_back(p.end);
  }
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

class Stacking {
 public:
  explicit Stacking(const MemoryProblem& problem)
      : problem_(problem),
        pieces_(pieces_of(problem)),
        first_piece_(problem.intervals.size() + 1, pieces_.size()),
        times_(times_of(pieces_)) {
    sort_stably(pieces_, {}, &Piece::interval);
    for (std::size_t p = pieces_.size(); p-- > 0;) first_piece_[pieces_[p].interval] = p;
    for (std::size_t i = problem.intervals.size(); i-- > 0;)
      first_piece_[i] = std::min(first_piece_[i], first_piece_[i + 1]);
  }

  MemoryPlan plan(std::span<const std::uint32_t> order,
                  std::span<const std::uint64_t> offsets) const {
    PlacedLine line(times_.size());
    const auto& intervals = problem_.intervals;
    MemoryPlan plan{std::vector<std::uint64_t>(intervals.size(), 0), 0};
    for (std::uint32_t i : order)
      if (intervals[i].fixed_offset) put(i, intervals[i].fixed_offset, line, plan);
    for (std::size_t k = 0; k < offsets.size(); ++k) put(order[k], offsets[k], line, plan);
    for (std::uint32_t i : order.subspan(offsets.size()))
      if (!intervals[i].fixed_offset) put(i, std::nullopt, line, plan);
    return plan;
  }

 private:
  std::size_t step(std::int64_t time) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(times_, time) - times_.begin());
  }

  void put(std::uint32_t i, std::optional<std::uint64_t> offset, PlacedLine& line,
           MemoryPlan& plan) const {
    std::uint64_t at = 0;
    for (std::size_t p = first_piece_[i]; p < first_piece_[i + 1]; ++p)
      at = std::max(at, line.highest(step(pieces_[p].first), step(pieces_[p].end)));
    const Interval& interval = problem_.intervals[i];
    at = round_up(at, interval.alignment);
    plan.offsets[i] = offset.value_or(at);
    const std::uint64_t end = plan.offsets[i] + interval.size;
    plan.size = std::max(plan.size, end);
    for (std::size_t p = first_piece_[i]; p < first_piece_[i + 1]; ++p)
      line.raise(step(pieces_[p].first), step(pieces_[p].end), end);
  }

  const MemoryProblem& problem_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> first_piece_;  // of each buffer, and one past the last
  std::vector<std::int64_t> times_;       // at which a piece begins or ends
};

}  // namespace

MemoryPlan stacked(const MemoryProblem& problem, std::span<const std::uint32_t> order,
                   std::span<const std::uint64_t> offsets) {
  return Stacking(problem).plan(order, offsets);
}

MemoryPlan best_stacked(const MemoryProblem& problem) {
  const Stacking stacking(problem);
  const std::uint64_t bound = lower_bound(problem);
  MemoryPlan best{{}, any_capacity};
  for (const auto order : {by_size, by_start, by_life, by_area, by_breadth}) {
    MemoryPlan plan = stacking.plan(order(problem), {});
    if (plan.size < best.size) best = std::move(plan);
    if (best.size <= bound) break;
  }
  return best;
}

std::uint64_t pairs_at_once(const MemoryProblem& problem) {
  std::uint64_t live = 0;
  std::uint64_t pairs = 0;
  for (const Event& e : events_of(pieces_of(problem))) {
    if (e.begins)
      pairs += live++;
    else
      --live;
  }
  return pairs;
}

}  // namespace quern
