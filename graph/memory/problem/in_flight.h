// SPDX-License-Identifier: Apache-2.0
// Several runs of one program in one arena, one behind the other, in turns: steps of this run and
// of that, as a queue runs them.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

struct InFlight {
  MemoryProblem problem;  // time is turns; the buffers of the first run, then the second's, ...
  std::vector<std::uint32_t> turns;  // whose step is next, until it begins again
  std::int64_t lag = 0;              // steps that each run is behind the one before when it does
  std::int64_t period = 0;           // steps of one run
};

// Runs follow each other without end, so that time is a circle of runs x period turns: a life that
// reaches over its end goes on at its beginning. The lag is the one with the smallest bound. Two
// runs may wait for each other, up to an eighth of the period, where the other needs much; more
// take turns strictly.
InFlight in_flight(const MemoryProblem& problem, std::size_t runs);

}  // namespace quern
