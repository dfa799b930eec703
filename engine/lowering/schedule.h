// SPDX-License-Identifier: Apache-2.0
// Plans one memory of an unallocated program: the order of the steps, the buffers that share bytes,
// and the offsets.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/lowering/unallocated_program.h"
#include "graph/memory/order/step_graph.h"
#include "graph/memory/problem/plan.h"

namespace quern::lowering {

// The reads and writes by the steps of the buffers that are planned in this memory. Steps and
// buffers have the numbers of the unallocated program; buffers in the other memory only keep steps
// in order.
StepGraph step_graph(const UnallocatedProgram& unallocated, Space space, std::uint64_t alignment);

// The placement of buffers and of the scratch memory of steps.
struct PlacedMemory {
  ScheduleAnswer answer;
  ScheduledMemory memory;
  MemoryPlan plan;
  bool is_searched = true;  // false: too large for all that is tried of smaller ones

  std::uint64_t offset_of_root(BufferId b) const { return plan.offsets[memory.interval_of[b]]; }
  std::uint64_t offset_of_scratch(std::size_t step) const {
    return plan.offsets[memory.scratch_of[step]];
  }
};
// What place() has found, by itself: an artefact keeps it, so that nothing is searched again.
struct MemoryChoice {
  Schedule schedule;
  std::vector<std::uint64_t> offsets;  // of the intervals of memory_of()
  std::uint64_t size = 0;
  std::uint64_t plain_bound = 0;
  std::uint64_t bound = 0;
  bool order_is_optimal = false;
  bool is_searched = true;
};
MemoryChoice choice_of(const PlacedMemory& placed);
// Placed as chosen before; nothing where that is no placement of this graph, or where to find out
// takes more than four times the work that a search may take.
std::optional<PlacedMemory> place_as_chosen(const StepGraph& graph, const MemoryChoice& choice,
                                            const Stop* stop);

// What finds a placement; a null strategy is its default. engine/planning/place.h searches.
using PlaceFn = Result<PlacedMemory> (*)(const StepGraph& graph, const ScheduleOptions& options,
                                         const Strategy* strategy);

// Without a search, whatever the options and the strategy: the given order, no buffer inside of
// another, the largest first at the lowest address that is free.
Result<PlacedMemory> place_plainly(const StepGraph& graph, const ScheduleOptions& options,
                                   const Strategy* strategy);

}  // namespace quern::lowering
