// SPDX-License-Identifier: Apache-2.0
// The exact strategy, anytime: from a plan to better ones by asking whether a capacity can be met.
//
// Time splits where nothing is live; the parts that are larger than the bound are searched. Each
// round asks at the bound first (little slack prunes best, and a plan there is proven), then
// between the bound and the best plan, in several canonical orders, with a budget that doubles.
#include "graph/memory/packing/exact.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/stop.h"
#include "graph/memory/order/beam_search.h"
#include "graph/memory/packing/exact_search.h"
#include "graph/memory/problem/stable_sort.h"
#include "graph/memory/problem/sweep.h"
#include "graph/memory/strategies.h"

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
// And by the beam, the narrowest of which is this wide.
constexpr std::array beam_levels = {0.0, 0.01, 0.025};
constexpr std::int64_t beam_width = 64;
constexpr std::int64_t max_width = 1 << 20;
std::uint64_t level_above(std::uint64_t bound, double share) {
  return bound + static_cast<std::uint64_t>(static_cast<double>(bound) * share);
}

// The largest unit in which all offsets of canonical placements count.
std::uint64_t unit_of(const MemoryProblem& problem, std::uint64_t granularity) {
  std::uint64_t unit = 0;
  for (const Interval& i : problem.intervals) {
    if (i.size == 0) continue;
    unit = std::gcd(unit, round_up(i.size, granularity));
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

// Decides whether a capacity can be met: one search per style, continued from round to round.
struct CapacityProof {
  std::uint64_t capacity = any_capacity;
  std::array<std::unique_ptr<ExactSearch>, std::tuple_size_v<Styles>> searches;
  bool closed = false;  // infeasible by rules that are stricter than the problem's
};

// A stretch of time that no buffer leaves, as a problem of its own.
struct Part {
  std::vector<std::uint32_t> members;
  std::vector<SearchBuffer> buffers;
  std::int32_t sections = 0;
  std::uint64_t size = 0;   // of the best plan
  std::uint64_t bound = 0;  // beyond the bound of the problem
  CapacityProof at_bound;
  std::array<CapacityProof, levels.size()> above;
  std::unique_ptr<BeamSearch> beam;
  bool beam_fits = true;  // no buffer has a fixed offset
};

class Improver final : public PlanSearch {
 public:
  Improver(const MemoryProblem& problem, MemoryPlan plan, std::uint64_t capacity, SearchEnds& ends)
      : problem_(problem),
        capacity_(capacity),
        ends_(ends),
        answer_{std::move(plan), lower_bound(problem)} {
    if (!done()) split();
  }

  bool round(std::uint64_t below) override {
    if (done() || ends_.reached()) return false;
    below_ = below;
    searched_ = false;
    for (Part& p : parts_) search(p);
    settle();
    budget_ = std::min(2 * budget_, max_budget >> 20);
    return searched_ && !done();
  }

  const PlanAnswer& answer() const override { return answer_; }

 private:
  bool done() const {
    const PlanStatus status = status_of(answer_, capacity_);
    return answer_.plan.size <= answer_.bound || status == PlanStatus::infeasible ||
           (capacity_ != any_capacity && status == PlanStatus::feasible);
  }

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
    sort_stably(buffers, {}, [&](std::uint32_t i) { return spans[i].first; });
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
    b.size = static_cast<std::int64_t>(round_up(i.size, granularity_) / unit_);
    b.alignment = static_cast<std::int64_t>(std::max<std::uint64_t>(i.alignment / unit_, 1));
    if (i.fixed_offset) b.fixed = static_cast<std::int64_t>(*i.fixed_offset / unit_);
    b.life = static_cast<double>(i.end) - static_cast<double>(i.first);
    return b;
  }

  // The highest offset at which a buffer keeps the capacity.
  std::int64_t highest(const Part& part, std::size_t k, std::uint64_t capacity) const {
    const std::uint64_t size = problem_.intervals[part.members[k]].size;
    return static_cast<std::int64_t>((capacity - size) / unit_);
  }

  // The capacity, in which what is padded may end above it.
  std::int64_t units(const Part& part, std::uint64_t capacity) const {
    std::int64_t most = 0;
    for (std::size_t k = 0; k < part.members.size(); ++k)
      most = std::max(most, highest(part, k, capacity) + part.buffers[k].size);
    return most;
  }

  std::unique_ptr<ExactSearch> make_search(Part& part, std::uint64_t capacity,
                                           const SearchStyle& style) const {
    for (std::size_t k = 0; k < part.members.size(); ++k)
      part.buffers[k].highest = highest(part, k, capacity);
    return make_exact_search(part.buffers, part.sections, units(part, capacity), style);
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

  // False if it is no better.
  bool adopt(Part& part, const std::vector<std::int64_t>& offsets) {
    std::uint64_t size = 0;
    for (std::size_t k = 0; k < offsets.size(); ++k)
      size = std::max(size, static_cast<std::uint64_t>(offsets[k]) * unit_ +
                                problem_.intervals[part.members[k]].size);
    if (size >= part.size) return false;
    part.size = size;
    for (std::size_t k = 0; k < offsets.size(); ++k)
      answer_.plan.offsets[part.members[k]] = static_cast<std::uint64_t>(offsets[k]) * unit_;
    return true;
  }

  // Adopts a plan that is found, raises the part's bound where there is none.
  SearchResult ask(Part& part, CapacityProof& question, const Styles& styles,
                   std::uint64_t capacity, std::int64_t budget) {
    if (question.capacity != capacity) question = {capacity, {}, false};
    if (question.closed) return SearchResult::out_of_budget;
    for (std::size_t k = 0; k < styles.size() && !ends_.reached(); ++k) {
      auto& search = question.searches[k];
      if (!search) search = make_search(part, capacity, styles[k]);
      searched_ = true;
      const std::int64_t before = search->steps();
      const SearchResult result = search->run(ends_.budget(std::min(budget, ends_.steps)));
      ends_.steps -= search->steps() - before;
      if (result == SearchResult::out_of_budget) continue;
      if (result == SearchResult::feasible) {
        adopt(part, search->offsets());
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
  void search(Part& part) {
    if (part.members.size() > max_buffers) return;
    const std::uint64_t enough =
        capacity_ == any_capacity ? goal(part) : std::max(goal(part), capacity_);
    if (ceiling(part) <= enough) return;
    const auto attempt = static_cast<std::int64_t>(3 * part.members.size() + 200);
    const std::int64_t steps = std::min(attempt * budget_, max_budget);
    const std::int64_t before = ends_.steps;
    // At first something much better than lists find, which takes few steps.
    if (budget_ == 1) search_above(part, steps);
    if (ask(part, part.at_bound, at_bound, goal(part), 2 * steps) != SearchResult::out_of_budget)
      return;
    if (budget_ == 1) return;
    search_above(part, steps);
    if (ends_.steps < before) search_beam(part);  // there are open questions
  }

  // At the bound, then with more and more room: much is found near the bound that is not below the
  // best plan, as what leads nowhere is seen early.
  void search_beam(Part& part) {
    if (!part.beam && part.beam_fits) {
      part.beam = make_beam_search(part.buffers, part.sections);
      part.beam_fits = part.beam != nullptr;
    }
    if (!part.beam_fits || ceiling(part) <= goal(part)) return;
    for (const double share : beam_levels) {
      const std::uint64_t capacity = level_above(goal(part), share);
      if (capacity >= ceiling(part) || ends_.reached()) return;
      searched_ = true;
      const std::int64_t before = part.beam->steps();
      const SearchResult result = part.beam->run(
          {.width = static_cast<std::size_t>(std::min(beam_width * budget_, max_width)),
           .bound = units(part, goal(part)),
           .capacity = units(part, capacity)},
          ends_.budget(ends_.steps));
      ends_.steps -= part.beam->steps() - before;
      if (result == SearchResult::feasible && adopt(part, part.beam->offsets())) return;
    }
  }

  std::uint64_t goal(const Part& part) const { return std::max(answer_.bound, part.bound); }
  // The size that a better plan must stay below.
  std::uint64_t ceiling(const Part& part) const { return std::min(part.size, below_); }

  // From far above the bound towards it, until two questions in a row stay open.
  void search_above(Part& part, std::int64_t budget) {
    const std::uint64_t low = goal(part);
    if (capacity_ > low && capacity_ < ceiling(part)) {
      ask(part, part.above[0], above_bound, capacity_, budget);
      return;
    }
    int open = 0;
    for (std::size_t level = 0; level < levels.size() && open < 2 && !ends_.reached(); ++level) {
      const std::uint64_t capacity = level_above(low, levels[level]);
      if (capacity >= ceiling(part) || capacity <= low) continue;
      const SearchResult result = ask(part, part.above[level], above_bound, capacity, budget);
      open = result == SearchResult::out_of_budget ? open + 1 : 0;
    }
  }

  const MemoryProblem& problem_;
  std::uint64_t capacity_;
  SearchEnds& ends_;
  PlanAnswer answer_;
  std::int64_t budget_ = 1;             // of this round, in attempts
  std::uint64_t below_ = any_capacity;  // what is wanted, in this round
  std::vector<Part> parts_;
  std::uint64_t granularity_ = 1;
  std::uint64_t unit_ = 1;
  std::uint64_t lowest_size_ = 0;
  bool searched_ = false;  // in this round
  bool complete_ = true;   // "infeasible" holds for the problem as it was given
};

}  // namespace

SearchEnds::SearchEnds(const PlanLimits& limits)
    : deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(std::min(limits.seconds, 1e6)))),
      steps(static_cast<std::int64_t>(std::min<std::uint64_t>(limits.steps, 1ULL << 62))),
      stop(limits.stop) {}

SearchBudget SearchEnds::budget(std::int64_t most) const {
  return {most, deadline, stop};
}

bool SearchEnds::reached() const {
  return steps <= 0 || budget(steps).is_late();
}

double SearchEnds::seconds() const {
  return std::max(std::chrono::duration<double>(deadline - Clock::now()).count(), 0.0);
}

std::unique_ptr<PlanSearch> make_plan_search(const MemoryProblem& problem, MemoryPlan plan,
                                             std::uint64_t capacity, SearchEnds& ends) {
  return std::make_unique<Improver>(problem, std::move(plan), capacity, ends);
}

PlanAnswer improved(const MemoryProblem& problem, MemoryPlan plan, const PlanLimits& limits) {
  SearchEnds ends(limits);
  Improver search(problem, std::move(plan), limits.capacity, ends);
  while (search.round(any_capacity)) {
  }
  return search.answer();
}

PlanAnswer plan_exact(const MemoryProblem& problem, const PlanLimits& limits) {
  return improved(problem, plan_greedy_by_size(problem, limits).plan, limits);
}

}  // namespace quern
