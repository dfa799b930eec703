// SPDX-License-Identifier: Apache-2.0
// Several runs of one program in one arena, each a constant number of steps behind the one before.
#pragma once

#include "graph/memory/plan.h"

namespace quern {

struct InFlight {
  MemoryProblem problem;  // the buffers of the first run, then those of the second, ...
  std::int64_t lag = 0;   // steps between two runs
  std::int64_t period = 0;
};

// Runs follow each other without end, so that time is a circle of `period` steps, as many as the
// problem has: a life that reaches over its end goes on at its beginning. Runs that step together
// would need n times the bytes; the lag is the one with the smallest bound.
InFlight in_flight(const MemoryProblem& problem, std::size_t runs);

}  // namespace quern
