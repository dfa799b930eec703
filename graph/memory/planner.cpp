// SPDX-License-Identifier: Apache-2.0
// The table of strategies: a new one is a file and a row.
#include "graph/memory/problem/plan.h"
#include "graph/memory/strategies.h"

namespace quern {
namespace {

constexpr Strategy strategy_table[] = {
    // the default first
    {"auto", "list strategies until one reaches the bound, then the exact search", plan_auto},
    {"exact", "a search that proves its plan the smallest, or the best in the time given",
     plan_exact},
    {"annealing", "random changes of the order, at first also for the worse", plan_annealing},
    {"hill-climb", "random changes of the order, none for the worse", plan_hill_climb},
    {"skyline", "the lowest free place next, by what lives longest", plan_skyline},
    {"greedy-by-size", "largest first, each into the smallest gap", plan_greedy_by_size},
    {"greedy-by-breadth", "the fullest step first, each into the smallest gap",
     plan_greedy_by_breadth},
    {"greedy-by-conflict", "most conflicts first, each at the lowest address",
     plan_greedy_by_conflict},
    {"first-fit", "in order of time, each at the lowest address", plan_first_fit},
    {"best-fit", "in order of time, each into the smallest gap", plan_best_fit},
    {"tlsf", "in order of time, each into a gap of the smallest class of sizes", plan_tlsf},
    {"none", "no two buffers share memory: for bisecting faults of drivers and kernels", plan_none},
};

}  // namespace

std::span<const Strategy> strategies() {
  return strategy_table;
}

const Strategy& default_strategy() {
  return strategy_table[0];
}

const Strategy* find_strategy(std::string_view name) {
  for (const Strategy& s : strategy_table)
    if (s.name == name) return &s;
  return nullptr;
}

}  // namespace quern
