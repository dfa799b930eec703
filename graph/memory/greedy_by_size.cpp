// SPDX-License-Identifier: Apache-2.0
// Greedy by size (Pisarchyk and Lee, arXiv 2001.03288): buffers from the largest to the smallest,
// each at the lowest end of the smallest gap between the placed buffers that live at the same time.
#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/memory/plan.h"

namespace quern {
namespace {

std::uint64_t align_up(std::uint64_t n, std::uint64_t alignment) {
  return (n + alignment - 1) / alignment * alignment;
}

bool overlap_in_time(const Interval& a, const Interval& b) {
  return a.first < b.end && b.first < a.end;
}

// `placed` is sorted by offset.
std::uint64_t best_gap(const MemoryProblem& problem, const MemoryPlan& plan,
                       std::span<const std::size_t> placed, const Interval& interval) {
  std::uint64_t best = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t best_room = best;
  std::uint64_t end = 0;  // of the highest neighbour so far
  for (std::size_t i : placed) {
    const Interval& other = problem.intervals[i];
    if (!overlap_in_time(interval, other)) continue;
    const std::uint64_t at = align_up(end, interval.alignment);
    if (plan.offsets[i] >= at + interval.size && plan.offsets[i] - at < best_room) {
      best = at;
      best_room = plan.offsets[i] - at;
    }
    end = std::max(end, plan.offsets[i] + other.size);
  }
  return best_room == std::numeric_limits<std::uint64_t>::max()
             ? align_up(end, interval.alignment)
             : best;
}

}  // namespace

MemoryPlan plan_greedy_by_size(const MemoryProblem& problem) {
  const auto& intervals = problem.intervals;
  std::vector<std::size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return intervals[a].size > intervals[b].size;
  });
  MemoryPlan plan{std::vector<std::uint64_t>(intervals.size(), 0), 0};
  std::vector<std::size_t> placed;
  for (std::size_t i : order) {
    plan.offsets[i] = best_gap(problem, plan, placed, intervals[i]);
    plan.size = std::max(plan.size, plan.offsets[i] + intervals[i].size);
    const auto at = std::upper_bound(placed.begin(), placed.end(), i,
                                     [&](std::size_t a, std::size_t b) {
                                       return plan.offsets[a] < plan.offsets[b];
                                     });
    placed.insert(at, i);
  }
  return plan;
}

}  // namespace quern
