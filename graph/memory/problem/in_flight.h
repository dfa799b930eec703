// SPDX-License-Identifier: Apache-2.0
// Several overlapping runs of one program in one arena: their steps alternate, as in a queue.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

struct InFlight {
  MemoryProblem problem;  // time is turns; the buffers of the first run, then the second's, ...
  std::vector<std::uint32_t> turns;  // index of the run that takes each step; the sequence repeats
  std::int64_t lag = 0;              // steps that each run is behind the previous one at the start
  std::int64_t period = 0;           // steps of one run
};

// Runs follow each other without end, so that time is a circle of runs x period turns: a life that
// passes its end continues at its beginning. The lag is the one with the smallest bound. One of two
// runs may wait, up to an eighth of the period, while the other needs much memory; three or more
// runs alternate strictly.
InFlight in_flight(const MemoryProblem& problem, std::size_t runs);

}  // namespace quern
