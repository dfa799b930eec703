// SPDX-License-Identifier: Apache-2.0
// Strategies of one memory on problems with banks. Every row of the table of strategies is one of
// these, so that a caller of a strategy need not know whether a problem has banks.
#pragma once

#include "graph/memory/banks/bank_packing.h"
#include "graph/memory/offsets/placer.h"

namespace quern {

using OrderFn = Order (*)(const Placer&);

// A list strategy is an order and a fit: over banks, each buffer goes into the first bank, by cost,
// in which a gap holds it. With the order by size and the smallest gap this is what ExecuTorch does
// (greedy_by_size_for_offset_calculation_with_hierarchy in
// backends/cadence/aot/memory_planning.py).
PlanAnswer list_over_banks(const MemoryProblem& problem, OrderFn order, Fit fit);

// The banks of the best list, packed again by a planner of one memory, which also moves buffers
// into cheaper banks where it packs what lies there around them.
PlanAnswer packed_over_banks(const MemoryProblem& problem, const PlanLimits& limits, PackFn pack);

// No two buffers share memory.
PlanAnswer unshared_over_banks(const MemoryProblem& problem, const PlanLimits& limits);

// `exact`: the best list, then the exact search over banks.
PlanAnswer exact_over_banks(const MemoryProblem& problem, const PlanLimits& limits);
// `auto`: all lists, exchanges, moves, the exact search where there are few buffers, and the bytes
// of each bank at the end.
PlanAnswer auto_over_banks(const MemoryProblem& problem, const PlanLimits& limits);

// ---- for the table of strategies ---------------------------------------------------------------

template <PackFn plan, PackFn over_banks>
PlanAnswer with_banks(const MemoryProblem& problem, const PlanLimits& limits) {
  return problem.banks.empty() ? plan(problem, limits) : over_banks(problem, limits);
}

template <PackFn plan, OrderFn order, Fit fit>
PlanAnswer with_list(const MemoryProblem& problem, const PlanLimits& limits) {
  return problem.banks.empty() ? plan(problem, limits) : list_over_banks(problem, order, fit);
}

template <PackFn plan>
PlanAnswer with_packing(const MemoryProblem& problem, const PlanLimits& limits) {
  return problem.banks.empty() ? plan(problem, limits) : packed_over_banks(problem, limits, plan);
}

}  // namespace quern
