// SPDX-License-Identifier: Apache-2.0
// One memory of an unallocated program: the order of the steps that it wants, what lies in whose
// place there, and where.
#pragma once

#include "engine/lowering/unallocated_program.h"
#include "graph/memory/order/step_graph.h"
#include "graph/memory/problem/plan.h"

namespace quern::lowering {

// What the steps do with the buffers that are planned in this memory, by the numbers that the
// unallocated program gives both; other buffers are not its business.
StepGraph step_graph(const UnallocatedProgram& unallocated, Space space, std::uint64_t alignment);

// Of buffers and of what steps take for the length of their work.
struct PlacedMemory {
  ScheduleAnswer answer;
  ScheduledMemory memory;
  MemoryPlan plan;

  std::uint64_t offset_of_root(BufferId b) const { return plan.offsets[memory.interval_of[b]]; }
  std::uint64_t offset_of_scratch(std::size_t step) const {
    return plan.offsets[memory.scratch_of[step]];
  }
};
// By the options, or without aliases where the strategy places that in less.
Result<PlacedMemory> place(const StepGraph& graph, const ScheduleOptions& options,
                           const Strategy& strategy);

}  // namespace quern::lowering
