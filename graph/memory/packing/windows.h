// SPDX-License-Identifier: Apache-2.0
// Repairs a plan of many buffers where it reaches too high: what lives inside of a window of time
// around that place is searched again, among all else where it lies.
#pragma once

#include "graph/memory/packing/exact.h"

namespace quern {

// The plan with as many as possible of its ends above `target` brought down to it; each window is
// searched for some steps of `ends`, of which it stops at the last, whatever the time.
MemoryPlan lowered(const MemoryProblem& problem, MemoryPlan plan, std::uint64_t target,
                   SearchEnds& ends);

}  // namespace quern
