// SPDX-License-Identifier: Apache-2.0
// Reduces a problem for a search: buffers that fit together without waste become one box.
//
// Two buffers of equal size, of which the second begins as the first ends, are joined in time; two
// with equal lives are stacked. Boxes keep their shape and can be joined again. A plan for the
// boxes gives one for the buffers; the converse does not hold in general.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

enum class Joining : std::uint8_t {
  in_time,   // only in time, where no other buffer would do
  matching,  // also stacks that then have a partner in time
  all,       // also all buffers of equal lives, the shortest lives first
  filling    // also buffers of equal size across a pause that has room to spare
};

struct Boxes {
  MemoryProblem problem;
  std::vector<std::uint32_t> box;     // the box of each buffer
  std::vector<std::uint64_t> within;  // the offset of each buffer in its box
};

Boxes boxes_of(const MemoryProblem& problem, Joining joining);
MemoryPlan unpacked(const MemoryProblem& problem, const Boxes& boxes, const MemoryPlan& plan);

}  // namespace quern
