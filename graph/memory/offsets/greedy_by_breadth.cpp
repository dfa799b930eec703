// SPDX-License-Identifier: Apache-2.0
// Greedy by breadth (Pisarchyk and Lee, arXiv 2001.03288): the buffers of the step with the most
// live bytes first, among them the largest first, each into the smallest gap.
#include "graph/memory/order/orders.h"
#include "graph/memory/strategies.h"

namespace quern {

PlanAnswer plan_greedy_by_breadth(const MemoryProblem& problem, const PlanLimits&) {
  Placer placer(problem);
  return answered(placer, placer.place(by_breadth(problem), Fit::tightest));
}

}  // namespace quern
