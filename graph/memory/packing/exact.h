// SPDX-License-Identifier: Apache-2.0
// Exact search for the smallest plan, starting from a given plan.
#pragma once

#include <chrono>
#include <memory>

#include "graph/memory/packing/exact_search.h"
#include "graph/memory/problem/plan.h"

namespace quern {

// The limits of time and steps that several searches share.
struct SearchEnds {
  explicit SearchEnds(const PlanLimits& limits);
  bool reached() const;
  double seconds() const;                        // that are left
  SearchBudget budget(std::int64_t most) const;  // of so many steps

  std::chrono::steady_clock::time_point deadline;
  std::int64_t steps;  // that are left
  const Stop* stop;
};

class PlanSearch {
 public:
  virtual ~PlanSearch() = default;
  // Searches for a plan smaller than `below`, in each round for twice as long. False if this was
  // the last round: nothing is left to find, or no time.
  virtual bool round(std::uint64_t below) = 0;
  virtual const PlanAnswer& answer() const = 0;  // the best so far, maybe not smaller than `below`
};
// `problem` and `ends` must outlive the search.
std::unique_ptr<PlanSearch> make_plan_search(const MemoryProblem& problem, MemoryPlan plan,
                                             std::uint64_t capacity, SearchEnds& ends);

// Runs as many rounds as the limits allow.
PlanAnswer improved(const MemoryProblem& problem, MemoryPlan plan, const PlanLimits& limits);

}  // namespace quern
