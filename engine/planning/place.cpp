// SPDX-License-Identifier: Apache-2.0
// Searches for an order of steps and for places in memory.
#include "engine/planning/place.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "graph/memory/offsets/stacking.h"

namespace quern::lowering {
namespace {

struct Placement {
  MemoryPlan plan;
  bool is_searched = true;  // false: only lists were tried
};

// Searches are limited by steps rather than time, so that a model has the same plan everywhere.
PlanLimits limits_with(const Stop* stop) {
  return {.seconds = 0.5, .steps = 20000, .stop = stop};
}

// The best of the lists that look at each pair of buffers that live at one time, or `stacked`.
MemoryPlan best_listed(const MemoryProblem& problem, const PlanLimits& limits, MemoryPlan stacked) {
  MemoryPlan best = std::move(stacked);
  for (const char* name : {"greedy-by-size", "greedy-by-breadth", "first-fit"}) {
    PlanAnswer answer = find_strategy(name)->plan(problem, limits);
    if (answer.plan.size < best.size) best = std::move(answer.plan);
    if (best.size <= answer.bound) break;
  }
  return best;
}

// Large problems are stacked first, which often reaches the bound. Where it does not, very large
// ones are placed by lists, and so many pairs of buffers that live at one time that this would take
// more than some 20 us for each buffer are not looked at.
Placement placement_of(const MemoryProblem& problem, const Strategy& strategy,
                       const PlanLimits& limits) {
  constexpr std::size_t large = 256;        // buffers
  constexpr std::size_t very_large = 4096;  // buffers
  constexpr std::uint64_t pairs = 1U << 16;
  constexpr std::uint64_t pairs_a_buffer = 64;
  const std::size_t n = problem.intervals.size();
  if (n <= large || &strategy != &default_strategy()) return {strategy.plan(problem, limits).plan};
  MemoryPlan plan = best_stacked(problem);
  if (plan.size <= lower_bound(problem)) return {std::move(plan)};
  if (pairs_at_once(problem) > pairs + pairs_a_buffer * n) return {std::move(plan), false};
  if (n > very_large) return {best_listed(problem, limits, std::move(plan)), false};
  return {strategy.plan(problem, limits).plan};
}

Result<PlacedMemory> place_as_scheduled(const StepGraph& graph, const ScheduleOptions& options,
                                        const Strategy& strategy) {
  PlacedMemory p;
  p.answer = best_schedule(graph, options);
  if (options.stop) QUERN_TRY(options.stop->check());
  p.memory = memory_of(graph, p.answer.schedule);
  QUERN_TRY(check(p.memory.problem));
  Placement placement = placement_of(p.memory.problem, strategy, limits_with(options.stop));
  if (options.stop) QUERN_TRY(options.stop->check());
  QUERN_TRY(validate(p.memory.problem, placement.plan));
  p.plan = std::move(placement.plan);
  p.is_searched = placement.is_searched && p.answer.is_complete;
  return p;
}

}  // namespace

Result<PlacedMemory> place(const StepGraph& graph, const ScheduleOptions& options,
                           const Strategy* wanted) {
  const Strategy& strategy = wanted ? *wanted : default_strategy();
  QUERN_ASSIGN(PlacedMemory best, place_as_scheduled(graph, options, strategy));
  if (!options.alias || best.plan.size <= best.answer.bound) return best;
  // A schedule with a smaller bound may be harder to place: buffers with holes more than others.
  constexpr std::size_t most_wait = 6;  // steps
  ScheduleOptions prompt = options;
  prompt.most_wait = most_wait;
  ScheduleOptions plain = options;
  plain.alias = false;
  const bool has_holes = std::ranges::any_of(best.memory.problem.intervals,
                                             [](const Interval& i) { return !i.gaps.empty(); });
  for (const ScheduleOptions* other : {&prompt, &plain}) {
    if (other == &prompt && !has_holes) continue;
    QUERN_ASSIGN(PlacedMemory placed, place_as_scheduled(graph, *other, strategy));
    if (placed.plan.size < best.plan.size) best = std::move(placed);
  }
  return best;
}

}  // namespace quern::lowering
