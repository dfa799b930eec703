// SPDX-License-Identifier: Apache-2.0
// Simulated annealing over the order in which buffers are placed: a change that is worse is kept
// with a chance that falls with the loss and with time.
#include <cmath>

#include "graph/memory/offsets/local_search.h"
#include "graph/memory/strategies.h"

namespace quern {

PlanAnswer anneal(const MemoryProblem& problem, const PlanLimits& limits, std::uint64_t seed) {
  constexpr double hottest = 0.02;  // losses as shares of the arena
  constexpr double coldest = 0.0005;
  LocalSearch search(problem, limits, seed);
  while (!search.finished()) {
    Order order = search.neighbour();
    MemoryPlan plan = search.place(order);
    const auto before = static_cast<double>(search.current().size);
    const double loss = (static_cast<double>(plan.size) - before) / before;
    const double heat = hottest * std::pow(coldest / hottest, search.progress());
    if (loss <= 0 || search.uniform() < std::exp(-loss / heat))
      search.accept(std::move(order), std::move(plan));
  }
  return search.answer();
}

PlanAnswer plan_annealing(const MemoryProblem& problem, const PlanLimits& limits) {
  return anneal(problem, limits, 1);
}

}  // namespace quern
