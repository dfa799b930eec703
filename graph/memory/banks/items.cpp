// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/banks/items.h"

#include <algorithm>
#include <unordered_map>

#include "graph/memory/problem/bank_rules.h"
#include "graph/memory/problem/spill.h"

namespace quern {
namespace {

// Banks in which all members may lie.
std::vector<std::uint32_t> common_banks(const MemoryProblem& problem, const BankItem& item) {
  std::vector<std::uint32_t> banks;
  for (std::uint32_t b = 0; b < problem.banks.size(); ++b)
    if (std::ranges::all_of(item.members,
                            [&](std::uint32_t i) { return may_lie_in(problem, i, b); }))
      banks.push_back(b);
  std::ranges::stable_sort(banks, {}, [&](std::uint32_t b) { return problem.banks[b].cost; });
  return banks;
}

// Groups are numbered anew, from 0.
void add_separations(const MemoryProblem& problem, BankItems& made) {
  std::unordered_map<std::uint32_t, std::uint32_t> number;
  for (std::uint32_t i = 0; i < problem.choices.size(); ++i) {
    const std::uint32_t group = problem.choices[i].separation;
    if (group == 0) continue;
    const auto [at, is_new] = number.emplace(group, made.groups.size());
    if (is_new) made.groups.emplace_back();
    std::vector<std::uint32_t>& items = made.groups[at->second];
    const std::uint32_t item = made.item_of[i];
    // Colocated and separated, or more than there are banks.
    if (std::ranges::find(items, item) != items.end() || items.size() == problem.banks.size()) {
      made.is_impossible = true;
      return;
    }
    items.push_back(item);
    made.items[item].separations.push_back(at->second);
  }
  for (BankItem& item : made.items) std::ranges::sort(item.separations);
}

}  // namespace

BankItems bank_items(const MemoryProblem& problem) {
  BankItems made;
  std::unordered_map<std::uint32_t, std::uint32_t> colocated;
  for (std::uint32_t i = 0; i < problem.intervals.size(); ++i) {
    auto item = static_cast<std::uint32_t>(made.items.size());
    if (const std::uint32_t group = choice_of(problem, i).colocation; group != 0)
      item = colocated.emplace(group, item).first->second;
    if (item == made.items.size()) made.items.emplace_back();
    made.item_of.push_back(item);
    made.items[item].members.push_back(i);
    made.items[item].bytes += problem.intervals[i].size;
  }
  for (BankItem& item : made.items) {
    item.banks = common_banks(problem, item);
    made.is_impossible = made.is_impossible || item.banks.empty();
  }
  if (!made.is_impossible) add_separations(problem, made);
  return made;
}

std::vector<std::uint32_t> item_order(const BankItems& items,
                                      std::span<const std::uint32_t> order) {
  std::vector<std::uint32_t> made;
  std::vector<char> seen(items.items.size());
  for (std::uint32_t i : order)
    if (!std::exchange(seen[items.item_of[i]], 1)) made.push_back(items.item_of[i]);
  return made;
}

}  // namespace quern
