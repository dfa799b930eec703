// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/memory/plan.h"

namespace quern {

// The best plan found from `plan` on by exact search, with the bound that was proven on the way.
// Parts of problems with more than 4,096 buffers that are never apart are left as they are.
PlanAnswer improved(const MemoryProblem& problem, MemoryPlan plan, const PlanLimits& limits);

}  // namespace quern
