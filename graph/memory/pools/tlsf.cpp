// SPDX-License-Identifier: Apache-2.0
// What a two-level segregated fit pool (Masmano et al., ECRTS 2004) would do: buffers in the order
// in which they begin to live, each into a gap of the smallest class of sizes that always fits.
#include "graph/memory/order/orders.h"
#include "graph/memory/strategies.h"

namespace quern {

PlanAnswer plan_tlsf(const MemoryProblem& problem, const PlanLimits&) {
  Placer placer(problem);
  return answered(placer, placer.place(by_start(problem), Fit::size_class));
}

}  // namespace quern
