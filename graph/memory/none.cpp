// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/plan.h"

namespace quern {

MemoryPlan plan_none(const MemoryProblem& problem) {
  MemoryPlan plan;
  for (const Interval& i : problem.intervals) {
    const std::uint64_t offset = (plan.size + i.alignment - 1) / i.alignment * i.alignment;
    plan.offsets.push_back(offset);
    plan.size = offset + i.size;
  }
  return plan;
}

}  // namespace quern
