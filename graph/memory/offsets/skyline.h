// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "graph/memory/problem/plan.h"

namespace quern {

// Returns nothing if buffers have fixed offsets or the search would take too long.
std::optional<MemoryPlan> skyline_plan(const MemoryProblem& problem);

}  // namespace quern
