// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/banks/bank_placer.h"

#include <algorithm>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/problem/bank_rules.h"
#include "graph/memory/problem/spill.h"

namespace quern {
namespace {

constexpr char mark_of(std::uint32_t bank) {
  return static_cast<char>(bank + 1);
}

}  // namespace

BankPlacer::BankPlacer(const MemoryProblem& problem, const BankItems& items)
    : problem_(problem),
      items_(items),
      placer_(problem),
      bank_of_(problem.intervals.size(), no_bank),
      offsets_(problem.intervals.size()),
      tops_(problem.banks.size()),
      top_is_known_(problem.banks.size(), 1),
      members_(problem.banks.size()),
      place_in_bank_(problem.intervals.size()) {}

bool BankPlacer::is_placed(std::uint32_t item) const {
  return bank_of(item) != no_bank;
}

void BankPlacer::set(std::uint32_t i, std::uint32_t bank, std::uint64_t offset) {
  bank_of_[i] = bank;
  offsets_[i] = offset;
  placer_.mark(i, mark_of(bank));
  place_in_bank_[i] = members_[bank].size();
  members_[bank].push_back(i);
  tops_[bank] = std::max(tops_[bank], offset + problem_.intervals[i].size);
  byte_cost_ += problem_.banks[bank].cost * problem_.intervals[i].size;
}

void BankPlacer::unset(std::uint32_t i) {
  const std::uint32_t bank = bank_of_[i];
  std::vector<std::uint32_t>& members = members_[bank];
  members[place_in_bank_[i]] = members.back();
  place_in_bank_[members.back()] = place_in_bank_[i];
  members.pop_back();
  if (offsets_[i] + problem_.intervals[i].size == tops_[bank]) top_is_known_[bank] = 0;
  byte_cost_ -= problem_.banks[bank].cost * problem_.intervals[i].size;
  placer_.mark(i, 0);
  bank_of_[i] = no_bank;
}

std::uint64_t BankPlacer::top(std::uint32_t bank) const {
  if (top_is_known_[bank]) return tops_[bank];
  tops_[bank] = 0;
  for (std::uint32_t i : members_[bank])
    tops_[bank] = std::max(tops_[bank], offsets_[i] + problem_.intervals[i].size);
  top_is_known_[bank] = 1;
  return tops_[bank];
}

bool BankPlacer::overlaps_at(std::uint32_t i, std::uint32_t bank, std::uint64_t offset) const {
  const auto at = static_cast<std::int64_t>(offset);
  const auto overlaps = [&](std::uint32_t j) {
    const auto other = static_cast<std::int64_t>(offsets_[j]);
    return bank_of_[j] == bank && at + placer_.separation(i, j) > other &&
           other + placer_.separation(j, i) > at;
  };
  if (placer_.conflicts().listed()) return std::ranges::any_of(placer_.conflicts()[i], overlaps);
  return std::ranges::any_of(members_[bank], [&](std::uint32_t j) {
    return offset < offsets_[j] + problem_.intervals[j].size &&
           offsets_[j] < offset + problem_.intervals[i].size;
  });
}

std::optional<std::uint64_t> BankPlacer::offset_for(std::uint32_t i, std::uint32_t bank, Fit fit,
                                                    Memory memory) {
  const Interval& interval = problem_.intervals[i];
  if (interval.fixed_offset) {
    if (overlaps_at(i, bank, *interval.fixed_offset)) return std::nullopt;
    return interval.fixed_offset;
  }
  const std::uint64_t alignment =
      common_multiple(interval.alignment, problem_.banks[bank].alignment);
  // Where conflicts are not listed each buffer goes on top of the others.
  if (memory == Memory::unused || !placer_.conflicts().listed())
    return round_up(top(bank), alignment);
  return static_cast<std::uint64_t>(
      placer_.offset_in_gap(i, fit, offsets_, {mark_of(bank), alignment}));
}

bool BankPlacer::put_member(std::uint32_t i, std::uint32_t bank, Fit fit, Memory memory) {
  const std::optional<std::uint64_t> offset = offset_for(i, bank, fit, memory);
  const std::uint64_t size = problem_.intervals[i].size;
  const std::uint64_t capacity = problem_.banks[bank].capacity;
  if (!offset || size > capacity || *offset > capacity - size) return false;
  set(i, bank, *offset);
  return true;
}

bool BankPlacer::is_separated(const BankItem& item, std::uint32_t bank) const {
  for (std::uint32_t group : item.separations)
    for (std::uint32_t other : items_.groups[group])
      if (bank_of(other) == bank) return true;
  return false;
}

bool BankPlacer::put_in(std::uint32_t item, std::uint32_t bank, Fit fit, Memory memory) {
  const BankItem& what = items_.items[item];
  if (is_separated(what, bank)) return false;
  for (std::size_t k = 0; k < what.members.size(); ++k) {
    if (put_member(what.members[k], bank, fit, memory)) continue;
    while (k-- > 0) unset(what.members[k]);
    return false;
  }
  return true;
}

bool BankPlacer::put_in(std::uint32_t item, std::uint32_t bank, Fit fit) {
  return (problem_.banks[bank].reuse > 0 && put_in(item, bank, fit, Memory::unused)) ||
         put_in(item, bank, fit, Memory::any);
}

bool BankPlacer::put(std::uint32_t item, Fit fit) {
  const BankItem& what = items_.items[item];
  if (std::ranges::all_of(what.banks, [&](auto b) { return problem_.banks[b].reuse == 0; }))
    return std::ranges::any_of(what.banks, [&](auto b) { return put_in(item, b, fit); });
  // Memory that nobody held, or memory whose reuse is paid.
  struct Way {
    std::uint64_t cost;
    std::uint32_t bank;
    Memory memory;
  };
  std::vector<Way> ways;
  for (std::uint32_t b : what.banks) {
    const Bank& bank = problem_.banks[b];
    if (bank.reuse > 0) ways.push_back({what.cost_in(bank), b, Memory::unused});
    ways.push_back({what.cost_in(bank) + bank.reuse * what.members.size(), b, Memory::any});
  }
  std::ranges::stable_sort(ways, {}, &Way::cost);
  return std::ranges::any_of(ways,
                             [&](const Way& w) { return put_in(item, w.bank, fit, w.memory); });
}

void BankPlacer::remove(std::uint32_t item) {
  for (std::uint32_t i : items_.items[item].members) unset(i);
}

BankPlacer::Place BankPlacer::place(std::uint32_t item) const {
  Place place{bank_of(item), {}};
  for (std::uint32_t i : items_.items[item].members) place.offsets.push_back(offsets_[i]);
  return place;
}

void BankPlacer::restore(std::uint32_t item, const Place& place) {
  const std::vector<std::uint32_t>& members = items_.items[item].members;
  for (std::size_t k = 0; k < members.size(); ++k) set(members[k], place.bank, place.offsets[k]);
}

MemoryPlan BankPlacer::plan() const {
  MemoryPlan plan{offsets_, 0, bank_of_, {}};
  for (std::uint32_t b = 0; b < problem_.banks.size(); ++b) {
    plan.bank_sizes.push_back(top(b));
    plan.size += top(b);
  }
  return plan;
}

std::optional<MemoryPlan> place_over_banks(BankPlacer& placer, const BankItems& items,
                                           std::span<const std::uint32_t> order, Fit fit) {
  for (std::uint32_t item = 0; item < items.items.size(); ++item)
    if (placer.is_placed(item)) placer.remove(item);
  const auto& intervals = placer.placer().problem().intervals;
  const auto is_fixed = [&](std::uint32_t item) {
    return std::ranges::any_of(items.items[item].members,
                               [&](auto i) { return intervals[i].fixed_offset.has_value(); });
  };
  std::vector<std::uint32_t> all = item_order(items, order);
  std::stable_partition(all.begin(), all.end(), is_fixed);
  for (std::uint32_t item : all)
    if (!placer.put(item, fit)) return std::nullopt;
  return placer.plan();
}

}  // namespace quern
