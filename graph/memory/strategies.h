// SPDX-License-Identifier: Apache-2.0
// Every strategy: a file, a line here and a row in planner.cpp. They are given problems that
// check() passes.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

PlanAnswer plan_skyline(const MemoryProblem& problem, const PlanLimits& limits);
PlanAnswer plan_none(const MemoryProblem& problem, const PlanLimits& limits);
PlanAnswer plan_hill_climb(const MemoryProblem& problem, const PlanLimits& limits);
PlanAnswer plan_annealing(const MemoryProblem& problem, const PlanLimits& limits);
PlanAnswer plan_exact(const MemoryProblem& problem, const PlanLimits& limits);
PlanAnswer plan_auto(const MemoryProblem& problem, const PlanLimits& limits);
PlanAnswer plan_first_fit(const MemoryProblem& problem, const PlanLimits& limits);
PlanAnswer plan_best_fit(const MemoryProblem& problem, const PlanLimits& limits);
PlanAnswer plan_tlsf(const MemoryProblem& problem, const PlanLimits& limits);
PlanAnswer plan_greedy_by_size(const MemoryProblem& problem, const PlanLimits& limits);
PlanAnswer plan_greedy_by_breadth(const MemoryProblem& problem, const PlanLimits& limits);
PlanAnswer plan_greedy_by_conflict(const MemoryProblem& problem, const PlanLimits& limits);

}  // namespace quern
