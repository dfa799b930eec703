// SPDX-License-Identifier: Apache-2.0
// First fit: buffers in the order in which they begin to live, each at the lowest address that is
// free all its life; what a run-time pool does that hands out the first free block.
#include "graph/memory/order/orders.h"
#include "graph/memory/strategies.h"

namespace quern {

PlanAnswer plan_first_fit(const MemoryProblem& problem, const PlanLimits&) {
  Placer placer(problem);
  return answered(placer, placer.place(by_start(problem), Fit::lowest));
}

}  // namespace quern
