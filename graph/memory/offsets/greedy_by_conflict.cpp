// SPDX-License-Identifier: Apache-2.0
// Greedy by conflicts: buffers that meet the most others first, each at the lowest address.
#include "graph/memory/order/orders.h"
#include "graph/memory/strategies.h"

namespace quern {

PlanAnswer plan_greedy_by_conflict(const MemoryProblem& problem, const PlanLimits&) {
  Placer placer(problem);
  return answered(placer, placer.place(by_conflict(placer), Fit::lowest));
}

}  // namespace quern
