// SPDX-License-Identifier: Apache-2.0
// What is given a bank as a whole: a buffer, or all buffers of a colocation.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

struct BankItem {
  std::vector<std::uint32_t> members;      // intervals, ascending
  std::vector<std::uint32_t> banks;        // where it may lie, in order of preference: by cost
  std::vector<std::uint32_t> separations;  // groups of its members, each once, ascending
  std::uint64_t bytes = 0;                 // of all members

  std::uint64_t cost_in(const Bank& bank) const { return bytes * bank.cost; }
};

struct BankItems {
  std::vector<BankItem> items;
  std::vector<std::uint32_t> item_of;              // of the intervals
  std::vector<std::vector<std::uint32_t>> groups;  // items of the separations
  // No plan can keep the choices, separations and colocations: known without a search.
  bool is_impossible = false;
};

BankItems bank_items(const MemoryProblem& problem);

// The intervals of `order` as items, each where its first member stands.
std::vector<std::uint32_t> item_order(const BankItems& items, std::span<const std::uint32_t> order);

}  // namespace quern
