// SPDX-License-Identifier: Apache-2.0
// Greedy by size (Pisarchyk and Lee, arXiv 2001.03288): buffers from the largest to the smallest,
// each at the lowest end of the smallest gap between the placed buffers that live at the same time.
#include "graph/memory/order/orders.h"
#include "graph/memory/strategies.h"

namespace quern {

PlanAnswer plan_greedy_by_size(const MemoryProblem& problem, const PlanLimits&) {
  Placer placer(problem);
  return answered(placer, placer.place(by_size(problem), Fit::tightest));
}

}  // namespace quern
