// SPDX-License-Identifier: Apache-2.0
// The default: list strategies until one reaches the bound, then the exact search.
#include "graph/memory/exact.h"
#include "graph/memory/orders.h"
#include "graph/memory/strategies.h"

namespace quern {

PlanAnswer plan_auto(const MemoryProblem& problem, const PlanLimits& limits) {
  Placer placer(problem);
  MemoryPlan best = placer.place(by_size(problem), Fit::tightest);
  const auto improve = [&](const Order& order, Fit fit) {
    if (best.size <= placer.bound()) return;
    MemoryPlan plan = placer.place(order, fit);
    if (plan.size < best.size) best = std::move(plan);
  };
  for (const Fit fit : {Fit::lowest, Fit::tightest}) {
    improve(by_area(problem), fit);
    improve(by_life(problem), fit);
    improve(by_breadth(problem), fit);
    improve(by_conflict(placer), fit);
    improve(by_size(problem), fit);
    improve(by_start(problem), fit);
  }
  if (best.size <= placer.bound()) return answered(placer, std::move(best));
  return improved(problem, std::move(best), limits);
}

}  // namespace quern
