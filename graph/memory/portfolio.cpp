// SPDX-License-Identifier: Apache-2.0
// The default: list strategies until one reaches the bound, then the exact search.
#include <algorithm>
#include <chrono>

#include "graph/memory/exact.h"
#include "graph/memory/orders.h"
#include "graph/memory/strategies.h"

namespace quern {

PlanAnswer plan_auto(const MemoryProblem& problem, const PlanLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const auto spent = [begin = Clock::now()] {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  Placer placer(problem);
  // Of very many buffers only what is tried first is sure to be.
  constexpr std::size_t many = 5000;
  MemoryPlan best = problem.intervals.size() > many ? placer.place(by_life(problem), Fit::lowest)
                                                    : placer.place(by_size(problem), Fit::tightest);
  using MakeOrder = Order (*)(const Placer&);
  constexpr MakeOrder orders[] = {
      [](const Placer& p) { return by_area(p.problem()); },
      [](const Placer& p) { return by_breadth(p.problem()); },
      [](const Placer& p) { return by_conflict(p); },
      [](const Placer& p) { return by_life(p.problem()); },
      [](const Placer& p) { return by_start(p.problem()); },
      [](const Placer& p) { return by_size(p.problem()); },
  };
  for (const Fit fit : {Fit::lowest, Fit::tightest}) {
    for (const MakeOrder order : orders) {
      if (best.size <= placer.bound() || spent() > limits.seconds) break;
      MemoryPlan plan = placer.place(order(placer), fit);
      if (plan.size < best.size) best = std::move(plan);
    }
  }
  if (best.size > placer.bound() && spent() < limits.seconds) {
    MemoryPlan plan = plan_skyline(problem, limits).plan;
    if (plan.size < best.size) best = std::move(plan);
  }
  if (best.size <= placer.bound()) return answered(placer, std::move(best));
  PlanLimits rest = limits;
  rest.seconds = std::max(limits.seconds - spent(), 0.0);
  return improved(problem, std::move(best), rest);
}

}  // namespace quern
