// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

struct Planted {
  std::size_t buffers = 100;
  std::uint64_t seed = 1;
  double drop = 0;  // share of the pieces to leave out
  std::int64_t steps = 200;
  std::uint64_t capacity = 65536;
};

// A problem whose optimum is `capacity`: a rectangle of steps x capacity is cut into pieces by
// guillotine cuts, one at a time, and the places of the pieces are forgotten. The pieces that are
// live in one randomly chosen step are never left out, so that the lower bound is the capacity,
// too. Equal parameters give equal problems.
MemoryProblem planted_problem(const Planted& wanted);

}  // namespace quern
