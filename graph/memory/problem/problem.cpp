// SPDX-License-Identifier: Apache-2.0
// What a problem says by itself: pieces of life, bounds, peaks.
#include <algorithm>
#include <numeric>
#include <set>

#include "engine/vocabulary/text_util.h"
#include "graph/memory/problem/plan.h"
#include "graph/memory/problem/sweep.h"

namespace quern {
namespace {

// Sums of sizes and paddings stay far from the end of 64 bits.
constexpr std::uint64_t max_total = std::uint64_t{1} << 60;

struct Horizon {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
};

Horizon horizon_of(const MemoryProblem& problem) {
  Horizon h;
  for (const Interval& i : problem.intervals) {
    if (i.first == i.end) continue;
    h.first = std::min(h.first, i.first);
    h.end = std::max(h.end, i.end);
  }
  return h;
}

Status wrong(const Interval& i, std::string_view what) {
  return {Code::invalid_argument, cat("buffer '", printable(i.name), "': ", what)};
}

Status check_gaps(const Interval& i) {
  std::int64_t end = i.first;
  for (const Gap& g : i.gaps) {
    if (g.first < end || g.end <= g.first || g.end > i.end)
      return wrong(
          i, cat("gap ", g.first, " to ", g.end, " is empty, out of order or outside of its life"));
    if (g.from > g.to || g.to > i.size)
      return wrong(i, cat("gap with bytes ", g.from, " to ", g.to, " of ", i.size));
    end = g.end;
  }
  return {};
}

Status check(const Interval& i) {
  if (i.end < i.first) return wrong(i, cat("ends at ", i.end, ", before it begins at ", i.first));
  if (i.alignment == 0 || i.alignment > max_total)
    return wrong(i, cat("alignment ", i.alignment, ", wanted 1 to 2^60"));
  if (i.fixed_offset && *i.fixed_offset % i.alignment != 0)
    return wrong(i, cat("its fixed offset ", *i.fixed_offset, " is no multiple of its alignment ",
                        i.alignment));
  return check_gaps(i);
}

Status check_total(const MemoryProblem& problem) {
  std::uint64_t total = 0;
  for (const Interval& i : problem.intervals) {
    for (const std::uint64_t n : {i.size, i.alignment, i.fixed_offset.value_or(0)}) {
      if (n > max_total - total)
        return wrong(i,
                     "the sizes, alignments and offsets up to it add up to more than 2^60 bytes");
      total += n;
    }
  }
  return {};
}

// Fixed buffers as a plan of their own, which is judged like any other.
Status check_fixed(const MemoryProblem& problem) {
  MemoryProblem fixed;
  MemoryPlan plan;
  for (const Interval& i : problem.intervals) {
    if (!i.fixed_offset) continue;
    fixed.intervals.push_back(i);
    plan.offsets.push_back(*i.fixed_offset);
    plan.size = std::max(plan.size, *i.fixed_offset + i.size);
  }
  if (Status s = validate(fixed, plan); !s.ok())
    return {Code::invalid_argument, cat("fixed offsets: ", s.message())};
  return {};
}

// Offsets are multiples of the alignments' common divisor, and so each buffer but the highest
// takes up its size rounded up to it. Parts of buffers lie anywhere.
std::uint64_t granularity(const MemoryProblem& problem) {
  std::uint64_t g = 0;
  for (const Interval& i : problem.intervals) {
    g = std::gcd(g, i.alignment);
    if (std::ranges::any_of(i.gaps, [](const Gap& gap) { return gap.to > gap.from; })) return 1;
  }
  return std::max<std::uint64_t>(g, 1);
}

}  // namespace

std::vector<Event> events_of(std::span<const Piece> pieces) {
  std::vector<Event> events;
  events.reserve(2 * pieces.size());
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    events.push_back({pieces[p].first, true, p});
    events.push_back({pieces[p].end, false, p});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.begins < b.begins;
  });
  return events;
}

std::vector<Piece> pieces_of(const MemoryProblem& problem) {
  const Horizon horizon = horizon_of(problem);
  std::vector<Piece> pieces;
  for (std::size_t n = 0; n < problem.intervals.size(); ++n) {
    const Interval& i = problem.intervals[n];
    if (i.size == 0 || i.first >= i.end) continue;
    if (i.must_be_zero) {
      pieces.push_back({n, horizon.first, horizon.end, 0, i.size});
      continue;
    }
    std::int64_t first = i.first;
    for (const Gap& g : i.gaps) {
      if (first < g.first) pieces.push_back({n, first, g.first, 0, i.size});
      if (g.from < g.to) pieces.push_back({n, g.first, g.end, g.from, g.to});
      first = g.end;
    }
    if (first < i.end) pieces.push_back({n, first, i.end, 0, i.size});
  }
  return pieces;
}

Status check(const MemoryProblem& problem) {
  for (const Interval& i : problem.intervals) QUERN_TRY(check(i));
  QUERN_TRY(check_total(problem));
  return check_fixed(problem);
}

std::uint64_t lower_bound(const MemoryProblem& problem) {
  const std::vector<Piece> pieces = pieces_of(problem);
  const std::uint64_t unit = granularity(problem);
  std::multiset<std::uint64_t> paddings;  // of live pieces; the highest one needs none
  std::uint64_t live = 0;                 // with paddings
  std::uint64_t bound = 0;
  for (const Event& e : events_of(pieces)) {
    const std::uint64_t bytes = pieces[e.piece].to - pieces[e.piece].from;
    const std::uint64_t padding = (unit - bytes % unit) % unit;
    live = e.begins ? live + bytes + padding : live - bytes - padding;
    if (padding != 0 && e.begins) paddings.insert(padding);
    if (padding != 0 && !e.begins) paddings.erase(paddings.find(padding));
    bound = std::max(bound, live - (paddings.empty() ? 0 : *paddings.rbegin()));
  }
  for (const Interval& i : problem.intervals)
    bound = std::max({bound, i.size, i.fixed_offset ? *i.fixed_offset + i.size : 0});
  return bound;
}

Peak peak_of(const MemoryProblem& problem) {
  const std::vector<Piece> pieces = pieces_of(problem);
  Peak peak;
  std::uint64_t live = 0;
  for (const Event& e : events_of(pieces)) {
    const std::uint64_t bytes = pieces[e.piece].to - pieces[e.piece].from;
    live = e.begins ? live + bytes : live - bytes;
    if (live > peak.bytes) peak = {live, e.time, {}};
  }
  for (const Piece& p : pieces)
    if (p.first <= peak.step && peak.step < p.end) peak.intervals.push_back(p.interval);
  std::ranges::stable_sort(peak.intervals, std::greater<>(),
                           [&](std::size_t i) { return problem.intervals[i].size; });
  return peak;
}

double fragmentation(const MemoryProblem& problem, const MemoryPlan& plan) {
  if (plan.size == 0) return 0;
  return 1 - static_cast<double>(peak_of(problem).bytes) / static_cast<double>(plan.size);
}

PlanStatus status_of(const PlanAnswer& answer, std::uint64_t capacity) {
  if (answer.bound > capacity) return PlanStatus::infeasible;
  if (answer.plan.size <= answer.bound) return PlanStatus::optimal;
  return answer.plan.size <= capacity ? PlanStatus::feasible : PlanStatus::unknown;
}

std::string_view name_of(PlanStatus status) {
  switch (status) {
    case PlanStatus::optimal: return "optimal";
    case PlanStatus::feasible: return "feasible";
    case PlanStatus::infeasible: return "infeasible";
    case PlanStatus::unknown: return "unknown";
  }
  return "unknown";
}

}  // namespace quern
