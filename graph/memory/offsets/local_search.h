// SPDX-License-Identifier: Apache-2.0
// Base of the searches over orders: an order, its plan, and the stopping rule.
#pragma once

#include <chrono>
#include <random>

#include "graph/memory/offsets/placer.h"

namespace quern {

class LocalSearch {
 public:
  LocalSearch(const MemoryProblem& problem, const PlanLimits& limits, std::uint64_t seed = 1);

  bool finished();  // counts a step
  // The current order with one of the buffers that end highest moved in front of another.
  Order neighbour();
  MemoryPlan place(const Order& order) { return placer_.place(order, Fit::lowest); }
  void accept(Order order, MemoryPlan plan);

  const MemoryPlan& current() const { return current_; }
  double progress() const;  // share of the time or steps used, 0 to 1
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  PlanAnswer answer() { return answered(placer_, std::move(best_)); }

 private:
  using Clock = std::chrono::steady_clock;

  Placer placer_;
  PlanLimits limits_;
  Clock::time_point begin_ = Clock::now();
  std::uint64_t steps_ = 0;
  std::mt19937_64 random_;  // reproducible if the step limit ends the search
  Order order_;
  MemoryPlan current_;
  MemoryPlan best_;
};

PlanAnswer anneal(const MemoryProblem& problem, const PlanLimits& limits, std::uint64_t seed);

}  // namespace quern
