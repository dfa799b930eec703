// SPDX-License-Identifier: Apache-2.0
// Static placement of buffers in one arena: the problem and the plan as values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <span>
#include <vector>

#include <quern/status.h>

namespace quern {

// A buffer that is live in the steps [first, end) and keeps one place all that time.
struct Interval {
  std::string name;  // for messages and pictures
  std::uint64_t size = 0;  // bytes, padding of its layout included
  std::uint64_t alignment = 64;
  std::int64_t first = 0;
  std::int64_t end = 0;

  bool operator==(const Interval&) const = default;
};

struct MemoryProblem {
  std::vector<Interval> intervals;

  bool operator==(const MemoryProblem&) const = default;
};

struct MemoryPlan {
  std::vector<std::uint64_t> offsets;  // of the intervals, in their order
  std::uint64_t size = 0;              // of the arena

  bool operator==(const MemoryPlan&) const = default;
};

// Maximum over time of the bytes that are live: no plan is smaller.
std::uint64_t lower_bound(const MemoryProblem& problem);

// Whether no two live buffers overlap, every offset is aligned and `size` holds them all; knows no
// planner. An error names the buffers.
Status validate(const MemoryProblem& problem, const MemoryPlan& plan);

using PlanFn = MemoryPlan (*)(const MemoryProblem&);
struct Strategy {
  std::string_view name;
  std::string_view summary;
  PlanFn plan;
};
std::span<const Strategy> strategies();
const Strategy* find_strategy(std::string_view name);  // null: no such one

MemoryPlan plan_none(const MemoryProblem& problem);
MemoryPlan plan_greedy_by_size(const MemoryProblem& problem);

}  // namespace quern
