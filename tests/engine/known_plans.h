// SPDX-License-Identifier: Apache-2.0
// Plans of memories that are searched once for all programs that ask the same: of graphs with small
// changes most do, and the search takes longer than all else.
#pragma once

#include <map>
#include <string>

#include "graph/memory/problem/plan.h"

namespace quern::testing {

// All that a plan may depend on, as bytes: not the names of buffers.
inline std::string question_of(const MemoryProblem& problem, const PlanLimits& limits) {
  std::string bytes;
  const auto add = [&](auto... numbers) {
    for (const std::uint64_t n : {static_cast<std::uint64_t>(numbers)...})
      bytes.append(reinterpret_cast<const char*>(&n), sizeof n);
  };
  add(limits.capacity, limits.steps, problem.intervals.size());
  for (const Interval& i : problem.intervals) {
    add(i.size, i.alignment, i.first, i.end, i.must_be_zero);
    add(i.fixed_offset.has_value(), i.fixed_offset.value_or(0), i.gaps.size());
    for (const Gap& g : i.gaps) add(g.first, g.end, g.from, g.to);
  }
  return bytes;
}

// The default strategy, or what it has found for the same before in this process; of problems
// without banks.
inline const Strategy& known_plans() {
  static const Strategy strategy{
      "known", "as the default strategy has planned it before",
      [](const MemoryProblem& problem, const PlanLimits& limits) -> PlanAnswer {
        if (!problem.banks.empty()) return default_strategy().plan(problem, limits);
        static std::map<std::string, PlanAnswer> known;
        const auto [at, is_new] = known.try_emplace(question_of(problem, limits));
        if (is_new) at->second = default_strategy().plan(problem, limits);
        return at->second;
      }};
  return strategy;
}

}  // namespace quern::testing
