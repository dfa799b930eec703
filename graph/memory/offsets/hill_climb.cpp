// SPDX-License-Identifier: Apache-2.0
// Hill climbing over the order in which buffers are placed: a change is kept unless it is worse.
#include "graph/memory/offsets/local_search.h"
#include "graph/memory/strategies.h"

namespace quern {

PlanAnswer plan_hill_climb(const MemoryProblem& problem, const PlanLimits& limits) {
  LocalSearch search(problem, limits);
  while (!search.finished()) {
    Order order = search.neighbour();
    MemoryPlan plan = search.place(order);
    if (plan.size <= search.current().size) search.accept(std::move(order), std::move(plan));
  }
  return search.answer();
}

}  // namespace quern
