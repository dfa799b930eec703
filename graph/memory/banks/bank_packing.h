// SPDX-License-Identifier: Apache-2.0
// Offsets in each bank by a planner of one memory.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

// A planner of problems without banks.
using PackFn = PlanAnswer (*)(const MemoryProblem&, const PlanLimits&);

// Plans of one problem, by what is wanted of them.
bool costs_less(const PlanAnswer& a, const PlanAnswer& b);
// The answer that a plan is, with the bounds that need no search.
PlanAnswer judged_by_bounds(const MemoryProblem& problem, MemoryPlan plan);

// As bank_problem(); but the buffers whose `unused` is 1 lie in memory that no other buffer held
// before. They are treated as live from the first step of the problem on, and in their gaps. This
// is what it means, unless such a buffer is live in parts at its end: then it is stricter.
MemoryProblem bank_problem_without_reuse(const MemoryProblem& problem, std::uint32_t bank,
                                         std::span<const std::uint32_t> members,
                                         std::span<const char> unused);

// What `pack` answers; where fixed offsets of the part overlap, which its buffers need not have
// done in the banks where the problem was checked, no capacity is enough: the bound is
// any_capacity.
PlanAnswer packed_part(const MemoryProblem& part, PackFn pack, const PlanLimits& limits);

// The same banks and no greater cost, packed again by `pack`, bank by bank: the smaller of both.
MemoryPlan packed_again(const MemoryProblem& problem, MemoryPlan plan, PackFn pack,
                        const PlanLimits& limits);

}  // namespace quern
