// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

struct Planted {
  std::size_t buffers = 100;
  std::uint64_t seed = 1;
  double drop = 0;  // share of the pieces that is left out
  std::int64_t steps = 200;
  std::uint64_t capacity = 65536;
};

// A problem whose optimum is `capacity`: a rectangle of steps x capacity is cut in two, one piece
// after the other right through, and the places of the pieces are forgotten. Those that live in one
// step chosen by lot are never left out, so that the bound is the capacity, too. The same numbers,
// the same problem.
MemoryProblem planted_problem(const Planted& wanted);

}  // namespace quern
