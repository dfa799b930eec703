// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/bank_rules.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

constexpr std::uint64_t most_alignment = std::uint64_t{1} << 60;
constexpr std::uint64_t most_cost = std::uint64_t{1} << 62;  // of a plan

Status wrong_bank(const Bank& b, std::string_view what) {
  return {Code::invalid_argument, cat("bank '", printable(b.name), "': ", what)};
}

Status wrong_choice(const MemoryProblem& problem, std::size_t i, std::string_view what) {
  return {Code::invalid_argument,
          cat("buffer '", printable(problem.intervals[i].name), "': ", what)};
}

Status check_names(const MemoryProblem& problem) {
  for (std::size_t b = 0; b < problem.banks.size(); ++b) {
    const Bank& bank = problem.banks[b];
    if (bank.name.empty())
      return {Code::invalid_argument, cat("bank ", b, " has no name, wanted one")};
    if (bank.name.find_first_of(" ,\t\r\n=:#") != std::string::npos)
      return wrong_bank(bank, "its name has a blank, a comma, '=', ':' or '#', wanted none");
    for (std::size_t other = 0; other < b; ++other)
      if (problem.banks[other].name == bank.name)
        return wrong_bank(bank, "two banks have this name, wanted one");
  }
  return {};
}

// What all buffers cost in the dearest bank.
Status check_costs(const MemoryProblem& problem) {
  std::uint64_t bytes = 0;  // below 2^60
  for (const Interval& i : problem.intervals) bytes += i.size;
  const auto count = static_cast<std::uint64_t>(problem.intervals.size());
  for (const Bank& b : problem.banks) {
    const bool is_high = (b.cost != 0 && bytes > most_cost / 2 / b.cost) ||
                         (b.reuse != 0 && count > most_cost / 2 / b.reuse);
    if (is_high)
      return wrong_bank(b, cat("with cost ", b.cost, " and price of reuse ", b.reuse,
                               " a plan may cost more than 2^62"));
  }
  return {};
}

Status check_choice(const MemoryProblem& problem, std::size_t i) {
  const std::vector<std::uint32_t>& banks = problem.choices[i].banks;
  for (std::size_t k = 0; k < banks.size(); ++k) {
    if (banks[k] >= problem.banks.size())
      return wrong_choice(problem, i, cat("bank ", banks[k], ", there are ", problem.banks.size()));
    if (k > 0 && banks[k] <= banks[k - 1])
      return wrong_choice(problem, i,
                          cat("bank ", banks[k], " stands after bank ", banks[k - 1],
                              ", wanted each once and ascending"));
  }
  return {};
}

Status broken(const MemoryProblem& problem, std::size_t a, std::size_t b, std::string_view what) {
  return {Code::internal, cat("memory plan: buffers '", printable(problem.intervals[a].name),
                              "' and '", printable(problem.intervals[b].name), "' ", what)};
}

// Separations and colocations.
Status validate_groups(const MemoryProblem& problem, const MemoryPlan& plan) {
  std::unordered_map<std::uint64_t, std::size_t> separated;  // by group and bank
  std::unordered_map<std::uint32_t, std::size_t> together;
  for (std::size_t i = 0; i < problem.choices.size(); ++i) {
    const BankChoice& c = problem.choices[i];
    if (c.separation != 0) {
      const std::uint64_t key = std::uint64_t{c.separation} << 32 | plan.banks[i];
      const auto [at, is_new] = separated.emplace(key, i);
      if (!is_new) return broken(problem, at->second, i, "are separated and lie in one bank");
    }
    if (c.colocation == 0) continue;
    const auto [at, is_new] = together.emplace(c.colocation, i);
    if (!is_new && plan.banks[at->second] != plan.banks[i])
      return broken(problem, at->second, i, "belong together and lie in two banks");
  }
  return {};
}

}  // namespace

std::uint64_t common_multiple(std::uint64_t a, std::uint64_t b) {
  if (a == 0 || b == 0) return 0;
  const std::uint64_t part = a / std::gcd(a, b);
  return part > any_capacity / b ? any_capacity : part * b;
}

const BankChoice& choice_of(const MemoryProblem& problem, std::size_t interval) {
  static const BankChoice any;
  return problem.choices.empty() ? any : problem.choices[interval];
}

Status check_banks(const MemoryProblem& problem) {
  const auto number = [](std::size_t n) { return std::to_string(n); };
  if (problem.banks.size() > max_banks)
    return {Code::invalid_argument,
            cat(number(problem.banks.size()), " banks, wanted at most ", number(max_banks))};
  if (problem.banks.empty())
    return {Code::invalid_argument, "the problem has choices of banks and no banks"};
  if (!problem.choices.empty() && problem.choices.size() != problem.intervals.size())
    return {Code::invalid_argument,
            cat(number(problem.choices.size()), " choices of banks for ",
                number(problem.intervals.size()), " buffers, wanted one for each or none")};
  QUERN_TRY(check_names(problem));
  for (const Bank& b : problem.banks)
    if (b.alignment == 0 || b.alignment > most_alignment)
      return wrong_bank(b, cat("alignment ", b.alignment, ", wanted 1 to 2^60"));
  QUERN_TRY(check_costs(problem));
  for (std::size_t i = 0; i < problem.choices.size(); ++i) QUERN_TRY(check_choice(problem, i));
  return {};
}

Status validate_banks(const MemoryProblem& problem, const MemoryPlan& plan) {
  if (plan.banks.size() != problem.intervals.size() ||
      plan.bank_sizes.size() != problem.banks.size())
    return {Code::internal, "memory plan: wrong number of banks or of their sizes"};
  for (std::size_t i = 0; i < plan.banks.size(); ++i) {
    const std::vector<std::uint32_t>& may = choice_of(problem, i).banks;
    const bool is_right = plan.banks[i] < problem.banks.size() &&
                          (may.empty() || std::ranges::binary_search(may, plan.banks[i]));
    if (!is_right)
      return {Code::internal, cat("memory plan: buffer '", printable(problem.intervals[i].name),
                                  "' lies in bank ", plan.banks[i], ", which it may not")};
  }
  QUERN_TRY(validate_groups(problem, plan));
  const auto members = members_of_banks(problem, plan.banks);
  std::uint64_t size = 0;
  for (std::uint32_t b = 0; b < problem.banks.size(); ++b) {
    if (plan.bank_sizes[b] > problem.banks[b].capacity)
      return {Code::internal,
              cat("memory plan: bank '", printable(problem.banks[b].name), "' takes ",
                  plan.bank_sizes[b], " bytes of ", problem.banks[b].capacity)};
    MemoryPlan part{{}, plan.bank_sizes[b]};
    for (std::uint32_t i : members[b]) part.offsets.push_back(plan.offsets[i]);
    if (Status s = validate(bank_problem(problem, b, members[b]), part); !s.ok())
      return {s.code(), cat("bank '", printable(problem.banks[b].name), "': ", s.message())};
    size += plan.bank_sizes[b];
  }
  if (size != plan.size)
    return {Code::internal, cat("memory plan: its size is ", plan.size, ", its banks' ", size)};
  return {};
}

std::vector<std::vector<std::uint32_t>> members_of_banks(const MemoryProblem& problem,
                                                         std::span<const std::uint32_t> banks) {
  std::vector<std::vector<std::uint32_t>> members(problem.banks.size());
  for (std::uint32_t i = 0; i < banks.size(); ++i) members[banks[i]].push_back(i);
  return members;
}

MemoryProblem bank_problem(const MemoryProblem& problem, std::uint32_t bank,
                           std::span<const std::uint32_t> members) {
  MemoryProblem part;
  part.intervals.reserve(members.size());
  for (std::uint32_t i : members) {
    Interval& own = part.intervals.emplace_back(problem.intervals[i]);
    own.alignment = common_multiple(own.alignment, problem.banks[bank].alignment);
  }
  return part;
}

}  // namespace quern
