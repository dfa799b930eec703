// SPDX-License-Identifier: Apache-2.0
// What the steps of a program do with its buffers, and how order and sharing are decided from it:
// both lower the bound that every placement must keep, and neither is taken unless it does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/memory/order/order.h"
#include "graph/memory/problem/plan.h"

namespace quern {

struct StepGraph {
  struct Buffer {
    std::string name;
    std::uint64_t size = 0;
    std::uint64_t alignment = 64;
    // Read after the last step, where a run has bound it: others may lie in it, it lies in none.
    bool live_out = false;
  };
  // What a step allows: its result may lie where an operand lies.
  struct Share {
    std::uint32_t operand = 0;
    std::uint32_t result = 0;
    // False: the step may write over an operand of the result's size that nobody reads afterwards.
    // True: it copies the operand to `offset` in the result, and need not where it lies there.
    bool is_copy = false;
    std::uint64_t offset = 0;
  };
  struct Step {
    std::string name;
    std::vector<std::uint32_t> reads;  // a buffer that it reads twice is there twice
    std::vector<std::uint32_t> writes;
    std::uint64_t scratch = 0;
    std::vector<Share> shares;
    bool only_copies = false;  // nothing is left to do when all its operands lie in place
  };
  std::vector<Buffer> buffers;
  std::vector<Step> steps;  // in an order that works
  std::uint64_t scratch_alignment = 64;
};

struct Schedule {
  // A buffer lies `offset` bytes into another, its root, or is one itself.
  struct Alias {
    std::uint32_t root = 0;
    std::uint64_t offset = 0;

    bool operator==(const Alias&) const = default;
  };
  std::vector<std::uint32_t> order;  // of all steps
  std::vector<Alias> aliases;        // of the buffers

  bool operator==(const Schedule&) const = default;
};

// The order of the list, every buffer for itself.
Schedule plain_schedule(const StepGraph& graph);

// Whether every step finds in its operands what it would find if no two buffers shared bytes, and
// every buffer that is kept is a root.
bool holds(const StepGraph& graph, const Schedule& schedule);

// Whether the step has nothing to do.
bool is_void(const StepGraph& graph, const Schedule& schedule, std::uint32_t step);

// What the names of intervals that are scratch begin with.
inline constexpr std::string_view scratch_name = "scratch of ";

// The intervals of roots and of scratch over the steps that have something to do. A root of which
// at times only a part is in use has gaps.
struct ScheduledMemory {
  MemoryProblem problem;
  std::vector<std::uint32_t> steps;      // that are not void, in order
  std::vector<std::size_t> interval_of;  // of a root that is used
  std::vector<std::size_t> scratch_of;   // interval, by step
};
ScheduledMemory memory_of(const StepGraph& graph, const Schedule& schedule);

struct ScheduleOptions {
  bool order = true;         // other orders than that of the list
  bool alias = true;         // copies that are spared by making the operand in its place
  std::size_t steps = 4000;  // of the search for an order
};
struct ScheduleAnswer {
  Schedule schedule;
  std::uint64_t plain_bound = 0;  // in the order of the list, without copies spared
  std::uint64_t bound = 0;        // of the schedule; never larger
  bool order_is_optimal = false;  // no order of these steps and buffers needs less: proven
};
// In-place results are taken wherever that holds.
ScheduleAnswer best_schedule(const StepGraph& graph, const ScheduleOptions& options = {});

}  // namespace quern
