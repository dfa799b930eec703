// SPDX-License-Identifier: Apache-2.0
// A plan over banks that is made, and changed, item by item: each in a gap of a bank.
#pragma once

#include "graph/memory/banks/items.h"
#include "graph/memory/offsets/placer.h"

namespace quern {

class BankPlacer {
 public:
  // Both must outlive this. Items that may lie nowhere are not expected.
  BankPlacer(const MemoryProblem& problem, const BankItems& items);

  const Placer& placer() const { return placer_; }

  // Places an item in the first of its banks, by cost, in which it fits; false if in none.
  bool put(std::uint32_t item, Fit fit);
  // The same in this bank alone; false, and the item is nowhere, if it does not fit.
  bool put_in(std::uint32_t item, std::uint32_t bank, Fit fit);
  void remove(std::uint32_t item);
  // Puts an item where it was, in memory that is known to be free.
  struct Place {
    std::uint32_t bank = 0;
    std::vector<std::uint64_t> offsets;  // of the members
  };
  Place place(std::uint32_t item) const;
  void restore(std::uint32_t item, const Place& place);

  bool is_placed(std::uint32_t item) const;
  std::uint32_t bank_of(std::uint32_t item) const {
    return bank_of_[items_.items[item].members[0]];
  }
  // Of what is placed: bytes by the costs of banks, without reuse.
  std::uint64_t byte_cost() const { return byte_cost_; }

  // All items are placed.
  MemoryPlan plan() const;

 private:
  // Where a buffer goes; each is tried where the one before does not fit.
  enum class Memory : std::uint8_t { any, unused };
  bool put_in(std::uint32_t item, std::uint32_t bank, Fit fit, Memory memory);
  bool put_member(std::uint32_t i, std::uint32_t bank, Fit fit, Memory memory);
  std::optional<std::uint64_t> offset_for(std::uint32_t i, std::uint32_t bank, Fit fit,
                                          Memory memory);
  bool overlaps_at(std::uint32_t i, std::uint32_t bank, std::uint64_t offset) const;
  bool is_separated(const BankItem& item, std::uint32_t bank) const;
  void set(std::uint32_t i, std::uint32_t bank, std::uint64_t offset);
  void unset(std::uint32_t i);
  std::uint64_t top(std::uint32_t bank) const;

  const MemoryProblem& problem_;
  const BankItems& items_;
  Placer placer_;
  std::vector<std::uint32_t> bank_of_;  // of the intervals
  std::vector<std::uint64_t> offsets_;
  // The highest ends in the banks, found again once that of a buffer was one that is removed.
  mutable std::vector<std::uint64_t> tops_;
  mutable std::vector<char> top_is_known_;
  std::vector<std::vector<std::uint32_t>> members_;  // of the banks
  std::vector<std::size_t> place_in_bank_;
  std::uint64_t byte_cost_ = 0;
};

// Buffers in an order, each with all that belongs to it into the first bank, by cost, in which it
// fits; buffers with fixed offsets first. No plan if one fits nowhere.
std::optional<MemoryPlan> place_over_banks(BankPlacer& placer, const BankItems& items,
                                           std::span<const std::uint32_t> order, Fit fit);

}  // namespace quern
