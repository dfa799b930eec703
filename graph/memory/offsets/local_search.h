// SPDX-License-Identifier: Apache-2.0
// What the searches over orders share: an order, its plan, and when to stop.
#pragma once

#include <chrono>
#include <random>

#include "graph/memory/offsets/placer.h"

namespace quern {

class LocalSearch {
 public:
  LocalSearch(const MemoryProblem& problem, const PlanLimits& limits, std::uint64_t seed = 1);

  bool finished();  // counts a step
  // The current order with one buffer, of those that end highest, moved in front of another.
  Order neighbour();
  MemoryPlan place(const Order& order) { return placer_.place(order, Fit::lowest); }
  void accept(Order order, MemoryPlan plan);

  const MemoryPlan& current() const { return current_; }
  double progress() const;  // of the time or the steps, 0 to 1
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  PlanAnswer answer() { return answered(placer_, std::move(best_)); }

 private:
  using Clock = std::chrono::steady_clock;

  Placer placer_;
  PlanLimits limits_;
  Clock::time_point begin_ = Clock::now();
  std::uint64_t steps_ = 0;
  std::mt19937_64 random_;  // the same plan every time, if steps end the search
  Order order_;
  MemoryPlan current_;
  MemoryPlan best_;
};

PlanAnswer anneal(const MemoryProblem& problem, const PlanLimits& limits, std::uint64_t seed);

}  // namespace quern
