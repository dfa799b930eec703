// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/banks/bank_packing.h"

#include <algorithm>

#include "graph/memory/packing/exact.h"
#include "graph/memory/problem/bank_rules.h"

namespace quern {

bool costs_less(const PlanAnswer& a, const PlanAnswer& b) {
  if (a.found != Found::plan || b.found != Found::plan)
    return a.found == Found::plan && b.found != Found::plan;
  return a.cost != b.cost ? a.cost < b.cost : a.plan.size < b.plan.size;
}

PlanAnswer judged_by_bounds(const MemoryProblem& problem, MemoryPlan plan) {
  PlanAnswer answer;
  answer.cost = cost_of(problem, plan);
  answer.plan = std::move(plan);
  answer.bound = lower_bound(problem);
  answer.cost_bound = cost_bound(problem).value_or(0);
  return answer;
}

MemoryProblem bank_problem_without_reuse(const MemoryProblem& problem, std::uint32_t bank,
                                         std::span<const std::uint32_t> members,
                                         std::span<const char> unused) {
  MemoryProblem part = bank_problem(problem, bank, members);
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const Interval& i : part.intervals) first = std::min(first, i.first);
  for (std::size_t k = 0; k < members.size(); ++k) {
    Interval& i = part.intervals[k];
    if (!unused[members[k]] || i.first == i.end || i.must_be_zero) continue;
    while (!i.gaps.empty() && i.gaps.back().end == i.end &&
           i.gaps.back().from == i.gaps.back().to) {
      i.end = i.gaps.back().first;  // it holds nothing from then on
      i.gaps.pop_back();
    }
    if (i.first == i.end) continue;  // never live
    i.first = first;
    i.gaps.clear();
  }
  return part;
}

PlanAnswer packed_part(const MemoryProblem& part, PackFn pack, const PlanLimits& limits) {
  const auto is_fixed = [](const Interval& i) { return i.fixed_offset.has_value(); };
  if (std::ranges::any_of(part.intervals, is_fixed) && !check(part).ok())
    return {.plan = {{}, any_capacity}, .bound = any_capacity};
  return pack(part, limits);
}

MemoryPlan packed_again(const MemoryProblem& problem, MemoryPlan plan, PackFn pack,
                        const PlanLimits& limits) {
  SearchEnds ends(limits);
  std::vector<char> unused = reused_buffers(problem, plan);
  for (char& u : unused) u = u ? 0 : 1;
  const auto members = members_of_banks(problem, plan.banks);
  for (std::uint32_t b = 0; b < problem.banks.size() && !ends.reached(); ++b) {
    if (members[b].empty()) continue;
    const bool pays = problem.banks[b].reuse > 0;
    const MemoryProblem part = pays ? bank_problem_without_reuse(problem, b, members[b], unused)
                                    : bank_problem(problem, b, members[b]);
    if (lower_bound(part) >= plan.bank_sizes[b]) continue;
    // Each of the banks that are left has the same share of the time.
    const auto left = static_cast<double>(problem.banks.size() - b);
    const MemoryPlan made = packed_part(part, pack,
                                        {.seconds = ends.seconds() / left,
                                         .steps = limits.steps / problem.banks.size() + 1,
                                         .stop = limits.stop})
                                .plan;
    if (made.size >= plan.bank_sizes[b]) continue;
    for (std::size_t k = 0; k < members[b].size(); ++k)
      plan.offsets[members[b][k]] = made.offsets[k];
    plan.size -= plan.bank_sizes[b] - made.size;
    plan.bank_sizes[b] = made.size;
  }
  return plan;
}

}  // namespace quern
