// SPDX-License-Identifier: Apache-2.0
// Orders in which buffers are placed; ties keep the order of the problem.
#pragma once

#include "graph/memory/offsets/placer.h"

namespace quern {

Order by_start(const MemoryProblem& problem);  // the earliest start first
Order by_size(const MemoryProblem& problem);   // the others: largest first
Order by_area(const MemoryProblem& problem);   // size x life
Order by_life(const MemoryProblem& problem);
Order by_breadth(const MemoryProblem& problem);  // steps with many live bytes, then size
Order by_conflict(const Placer& placer);         // number of conflicts, then size

}  // namespace quern
