// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/trace.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <unordered_map>

#include "engine/vocabulary/text_util.h"

namespace quern {

std::span<const TraceEvent> MemoryTrace::run(std::size_t r) const {
  const std::size_t end = r + 1 < runs.size() ? runs[r + 1] : events.size();
  return std::span(events).subspan(runs[r], end - runs[r]);
}

MemoryProblem problem_of_run(const MemoryTrace& trace, std::size_t run) {
  const auto events = trace.run(run);
  const auto end = static_cast<std::int64_t>(events.size());
  MemoryProblem problem;
  std::unordered_map<std::uint32_t, std::size_t> interval_of;
  const auto interval = [&](std::uint32_t block) -> Interval& {
    const auto [at, is_new] = interval_of.emplace(block, problem.intervals.size());
    if (is_new)
      problem.intervals.push_back({.name = cat(block),
                                   .size = trace.blocks[block].bytes,
                                   .alignment = trace.blocks[block].alignment,
                                   .first = 0,
                                   .end = end});
    return problem.intervals[at->second];
  };
  for (std::int64_t t = 0; t < end; ++t) {
    const TraceEvent& e = events[static_cast<std::size_t>(t)];
    Interval& i = interval(e.block);
    (e.kind == TraceEvent::Kind::allocate ? i.first : i.end) = t;
  }
  return problem;
}

namespace {

// The requests of a run, independent of the numbers of its blocks.
std::vector<std::uint64_t> signature(const MemoryTrace& trace, std::size_t run) {
  std::vector<std::uint64_t> words;
  std::unordered_map<std::uint32_t, std::uint64_t> seen;
  for (const TraceEvent& e : trace.run(run)) {
    words.push_back(seen.emplace(e.block, seen.size()).first->second << 1 |
                    (e.kind == TraceEvent::Kind::free ? 1 : 0));
    words.push_back(trace.blocks[e.block].bytes);
    words.push_back(trace.blocks[e.block].alignment);
  }
  return words;
}

}  // namespace

StaticPeak static_peak(const MemoryTrace& trace, const Strategy& strategy,
                       const PlanLimits& limits) {
  constexpr std::size_t most_planned = 50'000;
  std::map<std::vector<std::uint64_t>, std::size_t> distinct;
  for (std::size_t r = 0; r < trace.runs.size(); ++r) distinct.emplace(signature(trace, r), r);
  StaticPeak peak{.plans = distinct.size()};
  PlanLimits each = limits;
  each.seconds /= static_cast<double>(std::max<std::size_t>(distinct.size(), 1));
  for (const auto& [words, run] : distinct) {
    const MemoryProblem problem = problem_of_run(trace, run);
    if (!check(problem).ok())  // more bytes than there are numbers
      return {std::numeric_limits<std::uint64_t>::max(), distinct.size(), true};
    const std::uint64_t bound = lower_bound(problem);
    if (bound <= peak.bytes && problem.intervals.size() > most_planned) continue;
    const bool is_planned = problem.intervals.size() <= most_planned;
    const std::uint64_t bytes = is_planned ? strategy.plan(problem, each).plan.size : bound;
    if (bytes <= peak.bytes) continue;
    peak.bytes = bytes;
    peak.is_bound = !is_planned;
  }
  return peak;
}

Replay replay(const MemoryTrace& trace, MemoryPool& pool, double seconds_limit) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t between_looks = 1024;
  const auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  Replay result;
  std::vector<PoolBlock> blocks(trace.blocks.size());
  for (const TraceEvent& e : trace.events) {
    if (result.events % between_looks == 0 && elapsed() > seconds_limit) {
      result.status = Status(Code::busy, "the time is up");
      break;
    }
    if (e.kind == TraceEvent::Kind::free) {
      pool.free(blocks[e.block]);
    } else {
      const TraceBlock& b = trace.blocks[e.block];
      auto block = pool.allocate(b.bytes, b.alignment);
      if (!block) {
        result.status = std::move(block).error();
        break;
      }
      blocks[e.block] = *block;
    }
    ++result.events;
  }
  result.seconds = elapsed();
  result.stats = pool.stats();
  return result;
}

}  // namespace quern
