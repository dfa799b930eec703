// SPDX-License-Identifier: Apache-2.0
// Best fit: buffers in the order in which they begin to live, each into the smallest gap.
#include "graph/memory/order/orders.h"
#include "graph/memory/strategies.h"

namespace quern {

PlanAnswer plan_best_fit(const MemoryProblem& problem, const PlanLimits&) {
  Placer placer(problem);
  return answered(placer, placer.place(by_start(problem), Fit::tightest));
}

}  // namespace quern
