// SPDX-License-Identifier: Apache-2.0
// Fewer and larger buffers for a search: those that fit each other without waste become one.
//
// Two of one size, the second of which begins to live as the first ends, lie end to end in time;
// two of one life lie on top of each other. What is joined keeps its shape from there on, and is
// joined again. A plan of the boxes is one of the buffers; the other way round holds only where
// the choice was right.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

enum class Joining : std::uint8_t {
  in_time,   // only end to end, where no other buffer would do
  matching,  // and what is a partner end to end once it lies on top of each other
  all,       // and, the shortest lives first, all buffers of one life
  filling    // and those of one size across a pause that has room to spare
};

struct Boxes {
  MemoryProblem problem;
  std::vector<std::uint32_t> box;     // of each buffer
  std::vector<std::uint64_t> within;  // the box: its offset
};

Boxes boxes_of(const MemoryProblem& problem, Joining joining);
MemoryPlan unpacked(const MemoryProblem& problem, const Boxes& boxes, const MemoryPlan& plan);

}  // namespace quern
