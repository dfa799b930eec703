// SPDX-License-Identifier: Apache-2.0
// Fits buffers into a capacity in order of time, and takes back what leads nowhere.
//
// Each buffer goes to the bottom, to the top, or next to one that is live with it. What comes later
// sees only the places of those that still live, so that a state that failed is not tried again:
// long programs in which few buffers live at one time are soon done. Buffers of which at times only
// a part is live are taken as they are. It finds plans and proves nothing.
#pragma once

#include "graph/memory/packing/exact.h"

namespace quern {

// Empty: none was found.
std::optional<MemoryPlan> fit_by_time(const MemoryProblem& problem, std::uint64_t capacity,
                                      SearchEnds& ends);

}  // namespace quern
