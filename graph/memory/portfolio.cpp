// SPDX-License-Identifier: Apache-2.0
// The default: list strategies until one reaches the bound, then the exact search.
#include "graph/memory/exact.h"
#include "graph/memory/orders.h"
#include "graph/memory/strategies.h"

namespace quern {

PlanAnswer plan_auto(const MemoryProblem& problem, const PlanLimits& limits) {
  Placer placer(problem);
  MemoryPlan best = placer.place(by_size(problem), Fit::tightest);
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
      if (best.size <= placer.bound()) break;
      MemoryPlan plan = placer.place(order(placer), fit);
      if (plan.size < best.size) best = std::move(plan);
    }
  }
  if (best.size <= placer.bound()) return answered(placer, std::move(best));
  return improved(problem, std::move(best), limits);
}

}  // namespace quern
