// SPDX-License-Identifier: Apache-2.0
// The use of buffers by the steps of a program, and the choice of an order and of in-place sharing.
// Both are changed only where that lowers the bound on every placement.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "engine/vocabulary/stop.h"
#include "engine/vocabulary/work.h"
#include "graph/memory/order/order.h"
#include "graph/memory/problem/plan.h"

namespace quern {

struct StepGraph {
  struct Buffer {
    std::string name;
    std::uint64_t size = 0;
    std::uint64_t alignment = 64;
    // Read after the last step, at the address that a run has bound: other buffers may lie in it,
    // it lies in none.
    bool live_out = false;
  };
  // An option of a step: its result may share memory with an operand.
  struct Share {
    std::uint32_t operand = 0;
    std::uint32_t result = 0;
    // False: the step may overwrite an operand of the result's size that is not read afterwards.
    // True: the step copies the operand to `offset` in the result, which is unnecessary if it
    // already lies there.
    bool is_copy = false;
    std::uint64_t offset = 0;
  };
  struct Step {
    std::string name;
    std::vector<std::uint32_t> reads;  // a buffer that it reads twice is listed twice
    std::vector<std::uint32_t> writes;
    std::uint64_t scratch = 0;
    std::vector<Share> shares;
    bool only_copies = false;  // has nothing to do if all its operands lie in place
    // Earlier steps that stay before it for reasons other than these buffers.
    std::vector<std::uint32_t> after;
  };
  std::vector<Buffer> buffers;
  std::vector<Step> steps;  // in a valid order
  std::uint64_t scratch_alignment = 64;
  // If not 0, operands of copies lie at multiples of this in a result, not of their alignments.
  std::uint64_t inner_alignment = 0;
  // Every write ends at a multiple of this, counted from the start of its buffer: what lies in the
  // rest of the last unit is spoiled. It divides every alignment; if it is not 1, buffers take
  // whole multiples of their alignments.
  std::uint64_t write_unit = 1;
};

struct Schedule {
  // A buffer lies `offset` bytes into its root, which may be itself.
  struct Alias {
    std::uint32_t root = 0;
    std::uint64_t offset = 0;

    bool operator==(const Alias&) const = default;
  };
  std::vector<std::uint32_t> order;  // of all steps
  std::vector<Alias> aliases;        // of the buffers

  bool operator==(const Schedule&) const = default;
};

// The given order, with every buffer its own root.
Schedule plain_schedule(const StepGraph& graph);

// True if every step reads the values that it would read if no two buffers shared bytes, and every
// live_out buffer is a root. False, too, once the work is spent.
bool holds(const StepGraph& graph, const Schedule& schedule, Work& work);

// True if it is a schedule of this graph at all, wherever it comes from: the order has each step
// once, after those whose buffers it reads or overwrites and those that it names, every buffer lies
// inside its root, and holds().
bool fits(const StepGraph& graph, const Schedule& schedule, Work& work);

// The work that a schedule of this graph is worth, in units of Work: four times what any model
// needs that we know, 30 ms and 8 us for each step.
std::uint64_t usual_work(const StepGraph& graph);

// True if the step has nothing to do.
bool is_void(const StepGraph& graph, const Schedule& schedule, std::uint32_t step);

// Prefix of the names of scratch intervals.
inline constexpr std::string_view scratch_name = "scratch of ";

// The intervals of roots and of scratch over the steps that have something to do. A root that at
// times is only partly in use has gaps.
struct ScheduledMemory {
  MemoryProblem problem;
  std::vector<std::uint32_t> steps;      // the non-void steps, in order
  std::vector<std::size_t> interval_of;  // by root, if it is used
  std::vector<std::size_t> scratch_of;   // interval, by step
};
ScheduledMemory memory_of(const StepGraph& graph, const Schedule& schedule);

struct ScheduleOptions {
  bool order = true;  // try other orders than the first one
  bool alias = true;  // avoid copies by computing the operand in place
  // Operands that were made longer before their copy, in steps, leave a hole in the result until
  // then, which is hard to fill: they are copied, unless they are half of the result or more.
  std::size_t most_wait = std::numeric_limits<std::size_t>::max();
  std::size_t steps = 4000;    // of the search for an order
  std::uint64_t work = 0;      // units of Work for all of it; 0: usual_work()
  const Stop* stop = nullptr;  // ends the search early
  // The order to begin with, of all steps; empty: the order in which the graph lists them.
  std::vector<std::uint32_t> first_order = {};
};
struct ScheduleAnswer {
  Schedule schedule;
  std::uint64_t plain_bound = 0;  // in the first order, with all copies
  std::uint64_t bound = 0;        // of the schedule; never larger
  bool order_is_optimal = false;  // proven: no order of these steps and buffers needs less
  bool is_complete = true;        // false: the work was spent before all was tried
};
// In-place results are used wherever holds() allows them.
ScheduleAnswer best_schedule(const StepGraph& graph, const ScheduleOptions& options = {});

}  // namespace quern
