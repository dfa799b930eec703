// SPDX-License-Identifier: Apache-2.0
// The plan of a two-level segregated fit pool (Masmano et al., ECRTS 2004): buffers in order of
// their start, each into a gap of the smallest size class that always fits.
#include "graph/memory/order/orders.h"
#include "graph/memory/strategies.h"

namespace quern {

PlanAnswer plan_tlsf(const MemoryProblem& problem, const PlanLimits&) {
  Placer placer(problem);
  return answered(placer, placer.place(by_start(problem), Fit::size_class));
}

}  // namespace quern
