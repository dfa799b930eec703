// SPDX-License-Identifier: Apache-2.0
// The exact search for the smallest plan, from a plan that is there.
#pragma once

#include <chrono>
#include <memory>

#include "graph/memory/problem/plan.h"

namespace quern {

// What several searches share.
struct SearchEnds {
  explicit SearchEnds(const PlanLimits& limits);
  bool reached() const;
  double seconds() const;  // that are left

  std::chrono::steady_clock::time_point deadline;
  std::int64_t steps;  // that are left
};

class PlanSearch {
 public:
  virtual ~PlanSearch() = default;
  // Searches for a plan smaller than `below`, in each round for twice as long. False: that was the
  // last, as there is nothing to find any more or no time left.
  virtual bool round(std::uint64_t below) = 0;
  virtual const PlanAnswer& answer() const = 0;  // the best so far, maybe not smaller than `below`
};
// Problem and ends outlive it.
std::unique_ptr<PlanSearch> make_plan_search(const MemoryProblem& problem, MemoryPlan plan,
                                             std::uint64_t capacity, SearchEnds& ends);

// As many rounds as the limits allow.
PlanAnswer improved(const MemoryProblem& problem, MemoryPlan plan, const PlanLimits& limits);

}  // namespace quern
