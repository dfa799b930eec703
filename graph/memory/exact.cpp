// SPDX-License-Identifier: Apache-2.0
// The exact strategy, anytime: from a plan to better ones by asking whether a capacity can be met.
//
// Time splits where nothing is live; the parts that are larger than the bound are searched. Each
// round asks at the bound first (little slack prunes best, and a plan there is proven), then
// between the bound and the best plan, in several canonical orders, with a budget that doubles.
#include "graph/memory/exact.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include "graph/memory/exact_search.h"
#include "graph/memory/orders.h"
#include "graph/memory/strategies.h"
#include "graph/memory/sweep.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t max_budget = std::int64_t{1} << 40;
constexpr std::size_t max_buffers = 4096;  // of a part: the search goes as deep
// Together they solve what no single one does: some need one order for long, some the right one of
// many.
constexpr SearchStyle by_offset{Branching::by_offset, false, "TLA"};
constexpr SearchStyle by_offset_again{Branching::by_offset, true, "TLABCS"};
constexpr SearchStyle by_section_again{Branching::by_section, true, "SLACBT"};
using Styles = std::array<SearchStyle, 2>;
constexpr Styles at_bound = {by_offset, by_section_again};
constexpr Styles above_bound = {by_offset_again, by_section_again};

// Capacities above the bound that are asked for, as shares of it.
constexpr std::array levels = {0.2, 0.14, 0.1, 0.07, 0.05, 0.035, 0.025, 0.017, 0.012, 0.005};
std::uint64_t level_above(std::uint64_t bound, double share) {
  return bound + static_cast<std::uint64_t>(static_cast<double>(bound) * share);
}

bool has_parts(const Interval& i) {
  return std::ranges::any_of(i.gaps, [](const Gap& g) { return g.from < g.to; });
}

// The largest unit in which all offsets of canonical placements count.
std::uint64_t unit_of(const MemoryProblem& problem, std::uint64_t granularity) {
  std::uint64_t unit = 0;
  for (const Interval& i : problem.intervals) {
    if (i.size == 0) continue;
    unit = std::gcd(unit, (i.size + granularity - 1) / granularity * granularity);
    if (i.fixed_offset) unit = std::gcd(unit, *i.fixed_offset);
  }
  unit = std::max<std::uint64_t>(unit, 1);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Interval& i : problem.intervals) {
      if (unit % i.alignment == 0 || i.alignment % unit == 0) continue;
      unit = std::gcd(unit, i.alignment);
      changed = true;
    }
  }
  return unit;
}

// Whether a capacity can be met: a search per style, which goes on from round to round.
struct Question {
  std::uint64_t capacity = any_capacity;
  std::array<std::unique_ptr<ExactSearch>, std::tuple_size_v<Styles>> searches;
  bool closed = false;  // it cannot, by rules that are stricter than the problem's
};

// A stretch of time that no buffer leaves, as a problem of its own.
struct Part {
  std::vector<std::uint32_t> members;
  std::vector<SearchBuffer> buffers;
  std::int32_t sections = 0;
  std::uint64_t size = 0;   // of the best plan
  std::uint64_t bound = 0;  // beyond the bound of the problem
  Question at_bound;
  std::array<Question, levels.size()> above;
};

class Improver {
 public:
  Improver(const MemoryProblem& problem, MemoryPlan plan, const PlanLimits& limits)
      : problem_(problem),
        limits_(limits),
        deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(std::min(limits.seconds, 1e6)))),
        left_(static_cast<std::int64_t>(std::min<std::uint64_t>(limits.steps, 1ULL << 62))),
        answer_{std::move(plan), lower_bound(problem)} {}

  PlanAnswer run() {
    if (done()) return std::move(answer_);
    split();
    std::int64_t budget = 1;  // in attempts
    for (searched_ = true; searched_ && !done() && !out_of_time();) {
      searched_ = false;
      for (Part& p : parts_) search(p, budget);
      settle();
      budget = std::min(2 * budget, max_budget >> 20);
    }
    return std::move(answer_);
  }

 private:
  bool done() const {
    const PlanStatus status = status_of(answer_, limits_.capacity);
    return answer_.plan.size <= answer_.bound || status == PlanStatus::infeasible ||
           (limits_.capacity != any_capacity && status == PlanStatus::feasible);
  }
  bool out_of_time() const { return left_ <= 0 || Clock::now() > deadline_; }

  // Size and bound of the whole from those of the parts.
  void settle() {
    answer_.plan.size = lowest_size_;
    for (const Part& p : parts_) answer_.plan.size = std::max(answer_.plan.size, p.size);
    for (const Part& p : parts_) answer_.bound = std::max(answer_.bound, p.bound);
  }

  void split() {
    MemoryProblem whole = problem_;
    for (Interval& i : whole.intervals) {
      if (!has_parts(i)) continue;
      i.gaps.clear();  // stricter: what fits then fits, what does not may
      complete_ = false;
    }
    std::uint64_t granularity = 0;
    for (const Interval& i : whole.intervals) granularity = std::gcd(granularity, i.alignment);
    granularity_ = std::max<std::uint64_t>(granularity, 1);
    unit_ = unit_of(whole, granularity_);
    const std::vector<Piece> pieces = pieces_of(whole);
    make_parts(pieces, sections_of(pieces));
  }

  using Range = SearchBuffer::Range;

  // Maximal sets of buffers that are live at one time are the sections; of each piece, which.
  static std::vector<Range> sections_of(std::span<const Piece> pieces) {
    std::vector<Range> ranges(pieces.size());
    std::int32_t section = 0;
    bool grew = false;
    for (const Event& e : events_of(pieces)) {
      if (e.begins) {
        ranges[e.piece].first = section;
        grew = true;
        continue;
      }
      if (std::exchange(grew, false)) ++section;
      ranges[e.piece].end = section;
    }
    return ranges;
  }

  void make_parts(std::span<const Piece> pieces, std::span<const Range> ranges) {
    std::vector<std::size_t> order(pieces.size());
    std::iota(order.begin(), order.end(), 0);
    // Pieces of one buffer are neighbours in `pieces`: the buffer goes by its first.
    std::vector<Range> spans(problem_.intervals.size(), {-1, -1});
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      Range& span = spans[pieces[p].interval];
      if (span.first < 0) span.first = ranges[p].first;
      span.end = ranges[p].end;
    }
    std::vector<std::uint32_t> buffers;
    for (std::uint32_t i = 0; i < spans.size(); ++i) {
      if (spans[i].first >= 0)
        buffers.push_back(i);
      else
        place_unused(i);
    }
    std::ranges::stable_sort(buffers, {}, [&](std::uint32_t i) { return spans[i].first; });
    std::vector<std::size_t> first_piece(spans.size() + 1, pieces.size());
    for (std::size_t p = pieces.size(); p-- > 0;) first_piece[pieces[p].interval] = p;
    std::int32_t end = -1;
    std::int32_t base = 0;
    for (std::uint32_t i : buffers) {
      if (spans[i].first >= end) {
        parts_.emplace_back();
        base = spans[i].first;
      }
      end = std::max(end, spans[i].end);
      Part& part = parts_.back();
      part.sections = end - base;
      part.members.push_back(i);
      SearchBuffer b = search_buffer(problem_.intervals[i]);
      for (std::size_t p = first_piece[i]; p < pieces.size() && pieces[p].interval == i; ++p)
        b.live.push_back({ranges[p].first - base, ranges[p].end - base});
      part.buffers.push_back(std::move(b));
      part.size = std::max(part.size, answer_.plan.offsets[i] + problem_.intervals[i].size);
    }
  }

  // A buffer that is never live or empty only has to end inside of the arena.
  void place_unused(std::uint32_t i) {
    answer_.plan.offsets[i] = problem_.intervals[i].fixed_offset.value_or(0);
    lowest_size_ = std::max(lowest_size_, answer_.plan.offsets[i] + problem_.intervals[i].size);
  }

  SearchBuffer search_buffer(const Interval& i) const {
    SearchBuffer b;
    b.size = static_cast<std::int64_t>((i.size + granularity_ - 1) / granularity_ * granularity_ /
                                       unit_);
    b.alignment = static_cast<std::int64_t>(std::max<std::uint64_t>(i.alignment / unit_, 1));
    if (i.fixed_offset) b.fixed = static_cast<std::int64_t>(*i.fixed_offset / unit_);
    b.life = static_cast<double>(i.end) - static_cast<double>(i.first);
    return b;
  }

  std::unique_ptr<ExactSearch> make_search(Part& part, std::uint64_t capacity,
                                           const SearchStyle& style) const {
    std::int64_t units = 0;
    for (std::size_t k = 0; k < part.members.size(); ++k) {
      SearchBuffer& b = part.buffers[k];
      b.highest =
          static_cast<std::int64_t>((capacity - problem_.intervals[part.members[k]].size) / unit_);
      units = std::max(units, b.highest + b.size);
    }
    return make_exact_search(part.buffers, part.sections, units, style);
  }

  // The least capacity above `capacity` that makes a difference.
  std::uint64_t next_capacity(const Part& part, std::uint64_t capacity) const {
    std::uint64_t next = any_capacity;
    for (std::uint32_t i : part.members) {
      const std::uint64_t size = problem_.intervals[i].size;
      next = std::min(next, size + ((capacity - size) / unit_ + 1) * unit_);
    }
    return next;
  }

  void adopt(Part& part, const ExactSearch& search) {
    const std::vector<std::int64_t> offsets = search.offsets();
    part.size = 0;
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      const std::uint32_t i = part.members[k];
      answer_.plan.offsets[i] = static_cast<std::uint64_t>(offsets[k]) * unit_;
      part.size = std::max(part.size, answer_.plan.offsets[i] + problem_.intervals[i].size);
    }
  }

  // Adopts a plan that is found, raises the part's bound where there is none.
  SearchResult ask(Part& part, Question& question, const Styles& styles, std::uint64_t capacity,
                   std::int64_t budget) {
    if (question.capacity != capacity) question = {capacity, {}, false};
    if (question.closed) return SearchResult::out_of_budget;
    for (std::size_t k = 0; k < styles.size() && !out_of_time(); ++k) {
      auto& search = question.searches[k];
      if (!search) search = make_search(part, capacity, styles[k]);
      searched_ = true;
      const std::int64_t before = search->steps();
      const SearchResult result = search->run({std::min(budget, left_), deadline_});
      left_ -= search->steps() - before;
      if (result == SearchResult::out_of_budget) continue;
      if (result == SearchResult::feasible) {
        adopt(part, *search);
        return result;
      }
      question.closed = !complete_;
      if (question.closed) break;
      part.bound = next_capacity(part, capacity);
      return result;
    }
    return SearchResult::out_of_budget;
  }

  // One round.
  void search(Part& part, std::int64_t budget) {
    if (part.members.size() > max_buffers) return;
    const std::uint64_t enough =
        limits_.capacity == any_capacity ? goal(part) : std::max(goal(part), limits_.capacity);
    if (part.size <= enough) return;
    const auto attempt = static_cast<std::int64_t>(3 * part.members.size() + 200);
    const std::int64_t steps = std::min(attempt * budget, max_budget);
    // At first something much better than lists find, which takes few steps.
    if (budget == 1) search_above(part, steps);
    if (ask(part, part.at_bound, at_bound, goal(part), 2 * steps) != SearchResult::out_of_budget)
      return;
    if (budget > 1) search_above(part, steps);
  }

  std::uint64_t goal(const Part& part) const { return std::max(answer_.bound, part.bound); }

  // From far above the bound towards it, until two questions in a row stay open.
  void search_above(Part& part, std::int64_t budget) {
    const std::uint64_t low = goal(part);
    if (limits_.capacity > low && limits_.capacity < part.size) {
      ask(part, part.above[0], above_bound, limits_.capacity, budget);
      return;
    }
    int open = 0;
    for (std::size_t level = 0; level < levels.size() && open < 2 && !out_of_time(); ++level) {
      const std::uint64_t capacity = level_above(low, levels[level]);
      if (capacity >= part.size || capacity <= low) continue;
      const SearchResult result = ask(part, part.above[level], above_bound, capacity, budget);
      open = result == SearchResult::out_of_budget ? open + 1 : 0;
    }
  }

  const MemoryProblem& problem_;
  PlanLimits limits_;
  Clock::time_point deadline_;
  std::int64_t left_;  // steps
  PlanAnswer answer_;
  std::vector<Part> parts_;
  std::uint64_t granularity_ = 1;
  std::uint64_t unit_ = 1;
  std::uint64_t lowest_size_ = 0;
  bool searched_ = false;  // in this round
  bool complete_ = true;   // "infeasible" holds for the problem as it was given
};

}  // namespace

PlanAnswer improved(const MemoryProblem& problem, MemoryPlan plan, const PlanLimits& limits) {
  return Improver(problem, std::move(plan), limits).run();
}

PlanAnswer plan_exact(const MemoryProblem& problem, const PlanLimits& limits) {
  return improved(problem, plan_greedy_by_size(problem, limits).plan, limits);
}

}  // namespace quern
