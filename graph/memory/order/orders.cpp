// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/order/orders.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "graph/memory/problem/stable_sort.h"
#include "graph/memory/problem/sweep.h"

namespace quern {
namespace {

template <class Key>
Order sorted(const MemoryProblem& problem, Key key) {
  const std::size_t n = problem.intervals.size();
  std::vector<decltype(key(std::uint32_t{0}))> keys(n);
  Order order(n);
  std::iota(order.begin(), order.end(), 0);
  for (std::uint32_t i : order) keys[i] = key(i);
  sort_stably(order, {}, [&](std::uint32_t i) { return keys[i]; });
  return order;
}

double life(const Interval& i) {
  return static_cast<double>(i.end) - static_cast<double>(i.first);
}

double size(const Interval& i) {
  return static_cast<double>(i.size);
}

// Most bytes that are live at one time of each buffer's life.
std::vector<std::uint64_t> breadths(const MemoryProblem& problem) {
  const std::vector<Piece> pieces = pieces_of(problem);
  const std::vector<Event> events = events_of(pieces);
  std::vector<std::uint64_t> live(events.size());
  std::vector<std::size_t> first_event(pieces.size());
  std::uint64_t now = 0;
  for (std::size_t e = 0; e < events.size(); ++e) {
    const Piece& p = pieces[events[e].piece];
    now = events[e].begins ? now + (p.to - p.from) : now - (p.to - p.from);
    live[e] = now;
    if (events[e].begins) first_event[events[e].piece] = e;
  }
  // most[k][e]: over 2^k events from e on.
  std::vector<std::vector<std::uint64_t>> most = {live};
  for (std::size_t span = 1; 2 * span <= events.size(); span *= 2) {
    std::vector<std::uint64_t> next(events.size() - 2 * span + 1);
    for (std::size_t e = 0; e < next.size(); ++e)
      next[e] = std::max(most.back()[e], most.back()[e + span]);
    most.push_back(std::move(next));
  }
  std::vector<std::uint64_t> result(problem.intervals.size());
  for (std::size_t e = 0; e < events.size(); ++e) {
    if (events[e].begins) continue;
    const std::size_t begin = first_event[events[e].piece];
    const std::size_t span = std::bit_floor(e - begin);
    const auto k = static_cast<std::size_t>(std::countr_zero(span));
    std::uint64_t& breadth = result[pieces[events[e].piece].interval];
    breadth = std::max({breadth, most[k][begin], most[k][e - span]});
  }
  return result;
}

}  // namespace

Order by_start(const MemoryProblem& problem) {
  return sorted(problem, [&](std::uint32_t i) { return problem.intervals[i].first; });
}

Order by_size(const MemoryProblem& problem) {
  return sorted(problem, [&](std::uint32_t i) { return ~problem.intervals[i].size; });
}

Order by_area(const MemoryProblem& problem) {
  return sorted(problem, [&](std::uint32_t i) {
    return -size(problem.intervals[i]) * life(problem.intervals[i]);
  });
}

Order by_life(const MemoryProblem& problem) {
  return sorted(problem, [&](std::uint32_t i) {
    return std::pair(-life(problem.intervals[i]), -size(problem.intervals[i]));
  });
}

Order by_breadth(const MemoryProblem& problem) {
  const std::vector<std::uint64_t> breadth = breadths(problem);
  return sorted(
      problem, [&](std::uint32_t i) { return std::pair(~breadth[i], ~problem.intervals[i].size); });
}

Order by_conflict(const Placer& placer) {
  const Conflicts& conflicts = placer.conflicts();
  if (!conflicts.listed()) return by_life(placer.problem());
  return sorted(placer.problem(), [&](std::uint32_t i) {
    return std::pair(~conflicts[i].size(), ~placer.problem().intervals[i].size);
  });
}

}  // namespace quern
