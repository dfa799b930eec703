// SPDX-License-Identifier: Apache-2.0
// A sweep over time: the live buffers lie in a map by offset, in which only neighbours can overlap.
#include <algorithm>
#include <map>

#include "graph/memory/plan.h"
#include "graph/text_util.h"

namespace quern {
namespace {

struct Event {
  std::int64_t time;
  bool begins;  // ends sort before beginnings of the same time: lifetimes are half-open
  std::size_t interval;
};

std::vector<Event> events_of(const MemoryProblem& problem) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < problem.intervals.size(); ++i) {
    const Interval& interval = problem.intervals[i];
    if (interval.size == 0 || interval.first >= interval.end) continue;
    events.push_back({interval.first, true, i});
    events.push_back({interval.end, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.begins < b.begins;
  });
  return events;
}

Status overlap(const MemoryProblem& problem, std::size_t a, std::size_t b) {
  return {Code::internal, cat("memory plan: buffers '", problem.intervals[a].name, "' and '",
                              problem.intervals[b].name, "' are live at once and overlap")};
}

}  // namespace

std::uint64_t lower_bound(const MemoryProblem& problem) {
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  for (const Event& e : events_of(problem)) {
    const std::uint64_t size = problem.intervals[e.interval].size;
    live = e.begins ? live + size : live - size;
    peak = std::max(peak, live);
  }
  return peak;
}

Status validate(const MemoryProblem& problem, const MemoryPlan& plan) {
  if (plan.offsets.size() != problem.intervals.size())
    return {Code::internal, "memory plan: wrong number of offsets"};
  for (std::size_t i = 0; i < plan.offsets.size(); ++i) {
    const Interval& interval = problem.intervals[i];
    const bool fits = interval.size <= plan.size && plan.offsets[i] <= plan.size - interval.size;
    if (!fits || plan.offsets[i] % interval.alignment != 0)
      return {Code::internal, cat("memory plan: buffer '", interval.name, "' at ", plan.offsets[i],
                                  " is misaligned or ends outside of ", plan.size, " bytes")};
  }
  std::map<std::uint64_t, std::size_t> live;
  for (const Event& e : events_of(problem)) {
    const std::uint64_t begin = plan.offsets[e.interval];
    if (!e.begins) {
      live.erase(begin);
      continue;
    }
    const auto [at, is_new] = live.emplace(begin, e.interval);
    if (!is_new) return overlap(problem, at->second, e.interval);
    if (const auto next = std::next(at);
        next != live.end() && next->first < begin + problem.intervals[e.interval].size)
      return overlap(problem, e.interval, next->second);
    if (at != live.begin()) {
      const auto before = std::prev(at);
      if (before->first + problem.intervals[before->second].size > begin)
        return overlap(problem, before->second, e.interval);
    }
  }
  return {};
}

}  // namespace quern
