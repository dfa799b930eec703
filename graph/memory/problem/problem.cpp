// SPDX-License-Identifier: Apache-2.0
// Properties of a problem: pieces of life, bounds, peaks.
#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "engine/vocabulary/text_util.h"
#include "graph/memory/problem/bank_rules.h"
#include "graph/memory/problem/plan.h"
#include "graph/memory/problem/stable_sort.h"
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

// In a memory with this alignment.
Status check_total(const MemoryProblem& problem, std::uint64_t alignment) {
  std::uint64_t total = 0;
  for (const Interval& i : problem.intervals) {
    const std::uint64_t padding = common_multiple(i.alignment, alignment);
    for (const std::uint64_t n : {i.size, padding, i.fixed_offset.value_or(0)}) {
      if (n > max_total - total)
        return wrong(i,
                     "the sizes, alignments and offsets up to it add up to more than 2^60 bytes");
      total += n;
    }
  }
  return {};
}

// Fixed buffers as a plan of their own, which is judged like any other. Where there are banks,
// those of one bank that are pinned to it.
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

// Bytes that live pieces take up at the least. Offsets are multiples of what all alignments have in
// common, the unit. A piece that begins on a unit leaves the rest of its last unit to pieces that
// do not, to the one byte range of each before its own first unit boundary; the highest piece
// leaves nothing behind.
class LiveBytes {
 public:
  explicit LiveBytes(std::uint64_t unit) : unit_(unit) {}

  void begin(const Piece& p) {
    bytes_ += p.to - p.from;
    fill_ += fill_of(p);
    if (const std::uint64_t n = padding_of(p); n != 0) {
      padding_ += n;
      paddings_.insert(n);
    }
  }
  void end(const Piece& p) {
    bytes_ -= p.to - p.from;
    fill_ -= fill_of(p);
    if (const std::uint64_t n = padding_of(p); n != 0) {
      padding_ -= n;
      paddings_.erase(paddings_.find(n));
    }
  }
  std::uint64_t least() const {
    const std::uint64_t inner = padding_ - (paddings_.empty() ? 0 : *paddings_.rbegin());
    return bytes_ + (inner > fill_ ? inner - fill_ : 0);
  }

 private:
  std::uint64_t padding_of(const Piece& p) const {
    return p.from % unit_ == 0 ? (unit_ - (p.to - p.from) % unit_) % unit_ : 0;
  }
  std::uint64_t fill_of(const Piece& p) const {
    return p.from % unit_ == 0 ? 0 : std::min(p.to - p.from, unit_ - p.from % unit_);
  }

  std::uint64_t unit_;
  std::uint64_t bytes_ = 0;
  std::uint64_t padding_ = 0;
  std::uint64_t fill_ = 0;
  std::multiset<std::uint64_t> paddings_;
};

// Each of several banks leaves the padding of its highest piece behind: none is counted then.
std::uint64_t common_alignment(const MemoryProblem& problem) {
  std::uint64_t g = problem.banks.size() > 1 ? 1 : 0;
  const std::uint64_t banks = problem.banks.size() == 1 ? problem.banks[0].alignment : 1;
  for (const Interval& i : problem.intervals) g = std::gcd(g, common_multiple(i.alignment, banks));
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

bool has_parts(const Interval& interval) {
  return std::ranges::any_of(interval.gaps, [](const Gap& g) { return g.from < g.to; });
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
  QUERN_TRY(check_total(problem, 1));
  if (problem.banks.empty() && problem.choices.empty()) return check_fixed(problem);
  QUERN_TRY(check_banks(problem));
  for (std::uint32_t b = 0; b < problem.banks.size(); ++b) {
    std::vector<std::uint32_t> pinned;
    for (std::uint32_t i = 0; i < problem.choices.size(); ++i)
      if (problem.choices[i].banks == std::vector{b}) pinned.push_back(i);
    QUERN_TRY(check_total(problem, problem.banks[b].alignment));
    QUERN_TRY(check_fixed(bank_problem(problem, b, pinned)));
  }
  return {};
}

std::uint64_t lower_bound(const MemoryProblem& problem) {
  const std::vector<Piece> pieces = pieces_of(problem);
  LiveBytes live(common_alignment(problem));
  std::uint64_t bound = 0;
  for (const Event& e : events_of(pieces)) {
    if (e.begins)
      live.begin(pieces[e.piece]);
    else
      live.end(pieces[e.piece]);
    bound = std::max(bound, live.least());
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
  sort_stably(peak.intervals, std::greater<>(),
              [&](std::size_t i) { return problem.intervals[i].size; });
  return peak;
}

double fragmentation(const MemoryProblem& problem, const MemoryPlan& plan) {
  if (plan.size == 0) return 0;
  return 1 - static_cast<double>(peak_of(problem).bytes) / static_cast<double>(plan.size);
}

PlanStatus status_of(const PlanAnswer& answer, std::uint64_t capacity) {
  if (answer.bound > capacity || answer.found == Found::no_plans) return PlanStatus::infeasible;
  if (answer.found == Found::nothing) return PlanStatus::unknown;
  if (answer.plan.size <= answer.bound && answer.cost <= answer.cost_bound)
    return PlanStatus::optimal;
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
