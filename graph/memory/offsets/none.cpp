// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/strategies.h"

namespace quern {

// Above the highest fixed buffer, one after the other.
PlanAnswer plan_none(const MemoryProblem& problem, const PlanLimits&) {
  MemoryPlan plan;
  for (const Interval& i : problem.intervals)
    if (i.fixed_offset) plan.size = std::max(plan.size, *i.fixed_offset + i.size);
  for (const Interval& i : problem.intervals) {
    if (i.fixed_offset) {
      plan.offsets.push_back(*i.fixed_offset);
      continue;
    }
    const std::uint64_t offset = round_up(plan.size, i.alignment);
    plan.offsets.push_back(offset);
    plan.size = offset + i.size;
  }
  return {std::move(plan), lower_bound(problem)};
}

}  // namespace quern
