// SPDX-License-Identifier: Apache-2.0
// Fits buffers into a capacity in order of time, with backtracking.
//
// Each buffer goes to the bottom, to the top, or next to one that is live with it. Later buffers
// depend only on the places of those still live, so that a failed state need not be tried again:
// long programs with few buffers live at a time are solved quickly. Buffers that at times are only
// partly live are taken as they are. It finds plans and proves nothing.
#pragma once

#include "graph/memory/packing/exact.h"

namespace quern {

// Returns nothing if it finds no plan.
std::optional<MemoryPlan> fit_by_time(const MemoryProblem& problem, std::uint64_t capacity,
                                      SearchEnds& ends);

}  // namespace quern
