// SPDX-License-Identifier: Apache-2.0
// Repairs a plan of many buffers where it is too high: the buffers that live inside a time window
// around that place are searched again, with all others fixed.
#pragma once

#include "graph/memory/packing/exact.h"

namespace quern {

// Returns the plan with as many as possible of the buffers that end above `target` lowered below
// it. Each window is searched for a number of steps of `ends`; stops when no steps are left,
// whatever the time.
MemoryPlan lowered(const MemoryProblem& problem, MemoryPlan plan, std::uint64_t target,
                   SearchEnds& ends);

}  // namespace quern
