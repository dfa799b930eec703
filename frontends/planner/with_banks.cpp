// SPDX-License-Identifier: Apache-2.0
// Banks of the caller's problems and plans: what without_banks.cpp refuses in libquern_plan.so.
#include <algorithm>
#include <limits>
#include <span>

#include "engine/vocabulary/text_util.h"
#include "frontends/planner/handles.h"

namespace quern::planner {
namespace {

Result<Bank> bank_at(const quern_planner_buffers& b, std::size_t k) {
  const quern_planner_bank& given = b.banks[k];
  if (!given.name) return Status(Code::invalid_argument, cat("the name of bank ", k, " is null"));
  static_assert(QUERN_PLANNER_ANY_CAPACITY == any_capacity);
  return Bank{.name = given.name,
              .capacity = given.capacity,
              .alignment = given.alignment ? given.alignment : 1,
              .cost = given.cost,
              .reuse = given.reuse};
}

Result<BankChoice> choice_at(const quern_planner_buffers& b, std::size_t i) {
  BankChoice choice{.separation = b.separations ? b.separations[i] : 0,
                    .colocation = b.colocations ? b.colocations[i] : 0};
  const std::uint64_t allowed = b.allowed_banks ? b.allowed_banks[i] : 0;
  for (std::uint32_t k = 0; k < QUERN_PLANNER_MAX_BANKS; ++k) {
    if (!(allowed >> k & 1)) continue;
    if (k >= b.bank_count)
      return Status(Code::invalid_argument,
                    cat("buffer ", i, " may lie in bank ", k, ", there are ", b.bank_count));
    choice.banks.push_back(k);
  }
  return choice;
}

Result<MemoryPlan> plan_over_banks(const MemoryProblem& problem,
                                   std::span<const std::uint64_t> offsets,
                                   std::span<const std::uint32_t> banks) {
  MemoryPlan plan;
  plan.bank_sizes.resize(problem.banks.size());
  for (std::size_t i = 0; i < std::min(offsets.size(), problem.intervals.size()); ++i) {
    if (banks[i] >= plan.bank_sizes.size())
      return Status(Code::invalid_argument, cat("buffer ", i, " lies in bank ", banks[i],
                                                ", there are ", plan.bank_sizes.size()));
    std::uint64_t& size = plan.bank_sizes[banks[i]];
    const std::uint64_t bytes = problem.intervals[i].size;
    // One that ends beyond all numbers is outside of every bank.
    if (bytes <= std::numeric_limits<std::uint64_t>::max() - offsets[i])
      size = std::max(size, offsets[i] + bytes);
  }
  for (const std::uint64_t size : plan.bank_sizes) plan.size += size;
  plan.offsets.assign(offsets.begin(), offsets.end());
  plan.banks.assign(banks.begin(), banks.end());
  if (const Status s = validate(problem, plan); !s.ok())
    return Status(Code::invalid_argument, std::string(s.message()));
  return plan;
}

}  // namespace

Status read_banks(const quern_planner_buffers& b, MemoryProblem& problem) {
  static_assert(QUERN_PLANNER_MAX_BANKS == max_banks);
  if (b.bank_count > max_banks)
    return {Code::invalid_argument,
            cat(b.bank_count, " banks, at most ", max_banks, " are possible")};
  const bool has_choices = b.allowed_banks || b.separations || b.colocations;
  if (b.bank_count == 0 && has_choices)
    return {Code::invalid_argument, "choices of banks, and no banks"};
  for (std::size_t k = 0; k < b.bank_count; ++k) {
    QUERN_ASSIGN(problem.banks.emplace_back(), bank_at(b, k));
  }
  for (std::size_t i = 0; has_choices && i < b.count; ++i) {
    QUERN_ASSIGN(problem.choices.emplace_back(), choice_at(b, i));
  }
  return {};
}

Result<PlanAnswer> answer_over_banks(const MemoryProblem& problem,
                                     std::span<const std::uint64_t> offsets,
                                     std::span<const std::uint32_t> banks) {
  PlanAnswer answer;
  QUERN_ASSIGN(answer.plan, plan_over_banks(problem, offsets, banks));
  answer.bound = lower_bound(problem);
  answer.cost = cost_of(problem, answer.plan);
  answer.cost_bound = cost_bound(problem).value_or(0);
  return answer;
}

}  // namespace quern::planner
