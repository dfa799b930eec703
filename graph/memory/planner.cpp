// SPDX-License-Identifier: Apache-2.0
// The table of strategies: a new one is a file and a row.
#include "graph/memory/banks/over_banks.h"
#include "graph/memory/order/orders.h"
#include "graph/memory/problem/plan.h"
#include "graph/memory/strategies.h"

namespace quern {
namespace {

// The orders of the list strategies, by which they place over banks, too.
constexpr OrderFn size_first = [](const Placer& p) { return by_size(p.problem()); };
constexpr OrderFn breadth_first = [](const Placer& p) { return by_breadth(p.problem()); };
constexpr OrderFn start_first = [](const Placer& p) { return by_start(p.problem()); };

constexpr Strategy strategy_table[] = {
    // the default first
    {"auto", "list strategies until one reaches the bound, then the exact search",
     with_banks<plan_auto, auto_over_banks>},
    {"exact", "a search that proves its plan the smallest, or the best in the time given",
     with_banks<plan_exact, exact_over_banks>},
    {"annealing", "random changes of the order, at first also for the worse",
     with_packing<plan_annealing>},
    {"hill-climb", "random changes of the order, none for the worse",
     with_packing<plan_hill_climb>},
    {"skyline", "the lowest free place next, by what lives longest", with_packing<plan_skyline>},
    {"greedy-by-size", "largest first, each into the smallest gap",
     with_list<plan_greedy_by_size, size_first, Fit::tightest>},
    {"greedy-by-breadth", "the fullest step first, each into the smallest gap",
     with_list<plan_greedy_by_breadth, breadth_first, Fit::tightest>},
    {"greedy-by-conflict", "most conflicts first, each at the lowest address",
     with_list<plan_greedy_by_conflict, by_conflict, Fit::lowest>},
    {"first-fit", "in order of time, each at the lowest address",
     with_list<plan_first_fit, start_first, Fit::lowest>},
    {"best-fit", "in order of time, each into the smallest gap",
     with_list<plan_best_fit, start_first, Fit::tightest>},
    {"tlsf", "in order of time, each into a gap of the smallest class of sizes",
     with_list<plan_tlsf, start_first, Fit::size_class>},
    {"none", "no two buffers share memory: for bisecting faults of drivers and kernels",
     with_banks<plan_none, unshared_over_banks>},
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
