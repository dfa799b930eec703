// SPDX-License-Identifier: Apache-2.0
// Skyline: the lowest place that is free is filled next, by what lives longest of all that fits
// there; where nothing does, its floor is raised to the lowest that will. Of places as low, the one
// with the most still to carry comes first.
#include "graph/memory/offsets/skyline.h"

#include <algorithm>
#include <set>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/order/orders.h"
#include "graph/memory/problem/sweep.h"
#include "graph/memory/strategies.h"

namespace quern {
namespace {

constexpr std::size_t most_cells = std::size_t{1} << 24;  // sections of all buffers together
constexpr std::size_t most_skyline_work = std::size_t{1}
                                          << 31;  // sections that are looked at, in all
constexpr std::size_t most_level = 64;            // places as low that are compared

class Skyline {
 public:
  explicit Skyline(const MemoryProblem& problem) : problem_(problem) {
    const std::vector<Piece> pieces = pieces_of(problem);
    spans_.resize(problem.intervals.size());
    std::size_t section = 0;
    bool grew = false;
    for (const Event& e : events_of(pieces)) {
      Span& span = spans_[pieces[e.piece].interval];
      if (e.begins) {
        if (span.end == 0) span.first = section;
        span.end = section + 1;
        grew = true;
        continue;
      }
      if (std::exchange(grew, false)) ++section;
      span.end = std::max(span.end, section);
    }
    for (const Span& s : spans_) cells_ += s.end - s.first;
    floor_.resize(section);
    waiting_.resize(section);
    live_.resize(section);
  }

  // The search does not respect fixed offsets, and too many sections would take too long.
  bool suits() const {
    return cells_ <= most_cells && std::ranges::none_of(problem_.intervals, [](const Interval& i) {
             return i.fixed_offset.has_value();
           });
  }

  // Returns nothing if it takes too long.
  std::optional<MemoryPlan> run() {
    MemoryPlan plan{std::vector<std::uint64_t>(spans_.size(), 0), 0};
    for (std::uint32_t i = 0; i < spans_.size(); ++i) {
      plan.size = std::max(plan.size, problem_.intervals[i].size);
      for (std::size_t s = spans_[i].first; s < spans_[i].end; ++s) {
        waiting_[s].push_back(i);
        live_[s] += problem_.intervals[i].size;
      }
    }
    for (std::size_t s = 0; s < floor_.size(); ++s)
      if (!waiting_[s].empty()) lowest_.insert({0, s});
    std::vector<char> placed(spans_.size());
    while (!lowest_.empty()) {
      if (work_ > most_skyline_work) return std::nullopt;
      fill(fullest_of_lowest(), plan, placed);
    }
    return plan;
  }

 private:
  struct Span {
    std::size_t first = 0;
    std::size_t end = 0;
  };

  std::size_t fullest_of_lowest() const {
    std::size_t best = lowest_.begin()->second;
    std::size_t seen = 0;
    for (const auto& [floor, section] : lowest_) {
      if (floor != lowest_.begin()->first || ++seen > most_level) break;
      if (live_[section] > live_[best]) best = section;
    }
    return best;
  }

  void fill(std::size_t section, MemoryPlan& plan, std::vector<char>& placed) {
    auto& waiting = waiting_[section];
    std::erase_if(waiting, [&](std::uint32_t i) { return placed[i] != 0; });
    std::uint64_t next = std::numeric_limits<std::uint64_t>::max();
    std::uint32_t chosen = 0;
    std::pair<std::size_t, std::uint64_t> most;
    for (std::uint32_t i : waiting) {
      const std::uint64_t offset = lowest_offset(i, next);
      const Span& span = spans_[i];
      work_ += span.end - span.first;
      const std::pair key(span.end - span.first, problem_.intervals[i].size);
      if (offset > next || (offset == next && key <= most)) continue;
      next = offset;
      most = key;
      chosen = i;
    }
    if (next > floor_[section] && !waiting.empty() && next > aligned_floor(section, chosen)) {
      raise(section, next);
      return;
    }
    if (waiting.empty()) {
      lowest_.erase({floor_[section], section});
      return;
    }
    placed[chosen] = 1;
    plan.offsets[chosen] = next;
    const std::uint64_t end = next + problem_.intervals[chosen].size;
    plan.size = std::max(plan.size, end);
    for (std::size_t s = spans_[chosen].first; s < spans_[chosen].end; ++s) {
      live_[s] -= problem_.intervals[chosen].size;
      raise(s, end);
    }
  }

  std::uint64_t aligned(std::uint64_t n, std::uint32_t i) const {
    return round_up(n, problem_.intervals[i].alignment);
  }
  std::uint64_t aligned_floor(std::size_t section, std::uint32_t i) const {
    return aligned(floor_[section], i);
  }
  // Where that is above `most`, any offset above it.
  std::uint64_t lowest_offset(std::uint32_t i, std::uint64_t most) const {
    constexpr std::size_t at_once = 16;
    const Span& span = spans_[i];
    std::uint64_t highest = 0;
    for (std::size_t s = span.first; s < span.end && highest <= most;)
      for (const std::size_t end = std::min(span.end, s + at_once); s < end; ++s)
        highest = std::max(highest, floor_[s]);
    return aligned(highest, i);
  }
  void raise(std::size_t section, std::uint64_t to) {
    lowest_.erase({floor_[section], section});
    floor_[section] = to;
    if (live_[section] > 0) lowest_.insert({to, section});
  }

  const MemoryProblem& problem_;
  std::vector<Span> spans_;  // sections of each buffer; none: it is never live
  std::size_t cells_ = 0;
  std::size_t work_ = 0;
  std::vector<std::uint64_t> floor_;
  std::vector<std::uint64_t> live_;                  // bytes still to be placed
  std::vector<std::vector<std::uint32_t>> waiting_;  // buffers still to be placed, and some others
  std::set<std::pair<std::uint64_t, std::size_t>> lowest_;
};

}  // namespace

std::optional<MemoryPlan> skyline_plan(const MemoryProblem& problem) {
  Skyline skyline(problem);
  if (!skyline.suits()) return std::nullopt;
  return skyline.run();
}

PlanAnswer plan_skyline(const MemoryProblem& problem, const PlanLimits&) {
  if (auto plan = skyline_plan(problem)) return {*std::move(plan), lower_bound(problem)};
  Placer placer(problem);
  return answered(placer, placer.place(by_life(problem), Fit::lowest));
}

}  // namespace quern
