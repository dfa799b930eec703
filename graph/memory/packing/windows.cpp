// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/packing/windows.h"

#include <algorithm>

namespace quern {
namespace {

// Buffers that a window has at least, in turns.
constexpr std::size_t fewest[] = {24, 60, 150, 400};
constexpr std::size_t most_buffers = 1500;
constexpr std::size_t most_window_looks = 200'000'000;  // at buffers, to find those of a window
constexpr std::int64_t first_window_steps = 20000;
constexpr std::size_t members_of_a_step = 200;
constexpr double window_seconds = 10;  // steps end it before

class Windows {
 public:
  Windows(const MemoryProblem& problem, MemoryPlan plan, std::uint64_t target, SearchEnds& ends)
      : problem_(problem), plan_(std::move(plan)), target_(target), ends_(ends) {}

  MemoryPlan run() {
    // Each round searches longer.
    for (steps_ = first_window_steps; is_high() && ends_.steps > 0 && looks_ < most_window_looks;
         steps_ *= 4) {
      const std::int64_t before = ends_.steps;
      for (std::size_t i = 0;
           i < problem_.intervals.size() && ends_.steps > 0 && looks_ < most_window_looks; ++i)
        if (end(i) > target_ && !problem_.intervals[i].fixed_offset) lower(i);
      if (ends_.steps == before) break;  // all windows are too full
    }
    plan_.size = 0;
    for (std::size_t i = 0; i < problem_.intervals.size(); ++i)
      plan_.size = std::max(plan_.size, end(i));
    return std::move(plan_);
  }

 private:
  struct Window {
    std::int64_t first, end;
  };

  std::uint64_t end(std::size_t i) const { return plan_.offsets[i] + problem_.intervals[i].size; }

  bool is_high() const {
    for (std::size_t i = 0; i < problem_.intervals.size(); ++i)
      if (end(i) > target_) return true;
    return false;
  }

  void lower(std::size_t i) {
    const Interval& high = problem_.intervals[i];
    Window w{high.first, high.end};
    std::size_t tried = 0;
    for (const std::size_t wanted : fewest) {
      std::vector<std::uint32_t> members = meeting(w);
      for (int k = 0; k < 40 && members.size() < wanted; ++k) {
        const std::int64_t more = std::max<std::int64_t>((w.end - w.first) / 4, 1);
        w = {w.first - more, w.end + more};
        members = meeting(w);
      }
      if (members.size() > most_buffers || members.size() == tried || ends_.steps <= 0) return;
      tried = members.size();
      if (search(w, members)) return;
    }
  }

  std::vector<std::uint32_t> meeting(const Window& w) {
    std::vector<std::uint32_t> members;
    looks_ += problem_.intervals.size();
    for (std::uint32_t i = 0; i < problem_.intervals.size(); ++i) {
      const Interval& b = problem_.intervals[i];
      if (b.size > 0 && b.first < b.end && b.first < w.end && w.first < b.end) members.push_back(i);
    }
    return members;
  }

  // False if it still reaches above the target.
  bool search(const Window& w, const std::vector<std::uint32_t>& members) {
    MemoryProblem part;
    MemoryPlan now;
    for (std::uint32_t i : members) {
      Interval b = problem_.intervals[i];
      b.gaps.clear();  // as if it lived through them: stricter
      if (b.first < w.first || b.end > w.end) b.fixed_offset = plan_.offsets[i];
      b.first = std::max(b.first, w.first);
      b.end = std::min(b.end, w.end);
      now.offsets.push_back(plan_.offsets[i]);
      now.size = std::max(now.size, end(i));
      part.intervals.push_back(std::move(b));
    }
    if (!check(part).ok()) return false;  // buffers that lie in gaps of each other
    // A step among many takes longer.
    const auto price = static_cast<std::int64_t>(1 + members.size() / members_of_a_step);
    const std::int64_t steps = std::min(steps_, ends_.steps / price);
    ends_.steps -= steps * price;
    if (steps == 0) return false;
    const std::uint64_t before = now.size;
    const PlanAnswer answer = improved(
        part, std::move(now), {target_, window_seconds, static_cast<std::uint64_t>(steps)});
    if (answer.plan.size >= before) return false;
    for (std::size_t k = 0; k < members.size(); ++k)
      plan_.offsets[members[k]] = answer.plan.offsets[k];
    return answer.plan.size <= target_;
  }

  const MemoryProblem& problem_;
  MemoryPlan plan_;
  std::uint64_t target_;
  SearchEnds& ends_;
  std::size_t looks_ = 0;
  std::int64_t steps_ = first_window_steps;  // of a window
};

}  // namespace

MemoryPlan lowered(const MemoryProblem& problem, MemoryPlan plan, std::uint64_t target,
                   SearchEnds& ends) {
  if (std::ranges::any_of(problem.intervals, [](const Interval& i) { return i.must_be_zero; }))
    return plan;
  return Windows(problem, std::move(plan), target, ends).run();
}

}  // namespace quern
