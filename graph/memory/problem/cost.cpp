// SPDX-License-Identifier: Apache-2.0
// What plans over banks cost: the cost of one, and what all cost at the least.
#include <algorithm>
#include <map>

#include "graph/memory/problem/bank_rules.h"
#include "graph/memory/problem/spill.h"
#include "graph/memory/problem/sweep.h"

namespace quern {
namespace {

// Which bytes of a bank were held before, and by whom.
class HeldBytes {
 public:
  // True if a byte in [from, to) was held by another buffer than `owner`.
  bool by_others(std::uint64_t from, std::uint64_t to, std::size_t owner) const {
    for (auto at = first_over(from); at != ranges_.end() && at->first < to; ++at)
      if (at->second.owner != owner) return true;
    return false;
  }

  void hold(std::uint64_t from, std::uint64_t to, std::size_t owner) {
    split(from);
    split(to);
    // Stretches inside that others held belong to several from now on; those between them are new.
    std::uint64_t at = from;
    auto next = ranges_.lower_bound(from);
    std::vector<std::pair<std::uint64_t, Range>> now;
    const auto add = [&](std::uint64_t first, std::uint64_t end, std::size_t by) {
      if (first == end) return;
      if (!now.empty() && now.back().second.owner == by && now.back().second.end == first)
        now.back().second.end = end;
      else
        now.push_back({first, {end, by}});
    };
    for (; next != ranges_.end() && next->first < to; next = ranges_.erase(next)) {
      add(at, next->first, owner);
      add(next->first, next->second.end, next->second.owner == owner ? owner : several);
      at = next->second.end;
    }
    add(at, to, owner);
    for (const auto& [first, range] : now) ranges_[first] = range;
  }

 private:
  static constexpr std::size_t several = ~std::size_t{0};
  struct Range {
    std::uint64_t end = 0;
    std::size_t owner = 0;
  };
  using Ranges = std::map<std::uint64_t, Range>;  // by first address; none overlaps another

  Ranges::const_iterator first_over(std::uint64_t from) const {
    auto at = ranges_.upper_bound(from);
    if (at != ranges_.begin() && std::prev(at)->second.end > from) --at;
    return at;
  }
  void split(std::uint64_t address) {
    auto at = ranges_.lower_bound(address);
    if (at == ranges_.begin()) return;
    --at;
    if (at->second.end <= address) return;
    ranges_[address] = at->second;
    at->second.end = address;
  }

  Ranges ranges_;
};

// Marks them in `reused`, in which `members` are the part's intervals.
void mark_reused(const MemoryProblem& part, std::span<const std::uint32_t> members,
                 const MemoryPlan& plan, std::vector<char>& reused) {
  const std::vector<Piece> pieces = pieces_of(part);
  HeldBytes held;
  for (const Event& e : events_of(pieces)) {
    const Piece& p = pieces[e.piece];
    const std::uint32_t i = members[p.interval];
    const std::uint64_t from = plan.offsets[i] + p.from;
    const std::uint64_t to = plan.offsets[i] + p.to;
    if (!e.begins)
      held.hold(from, to, i);
    else if (!reused[i] && held.by_others(from, to, i))
      reused[i] = 1;
  }
}

}  // namespace

std::vector<char> reused_buffers(const MemoryProblem& problem, const MemoryPlan& plan) {
  std::vector<char> reused(problem.intervals.size());
  const auto members = members_of_banks(problem, plan.banks);
  for (std::uint32_t b = 0; b < problem.banks.size(); ++b)
    if (problem.banks[b].reuse > 0)
      mark_reused(bank_problem(problem, b, members[b]), members[b], plan, reused);
  return reused;
}

std::uint64_t cost_of(const MemoryProblem& problem, const MemoryPlan& plan) {
  if (problem.banks.empty()) return 0;
  const std::vector<char> reused = reused_buffers(problem, plan);
  std::uint64_t cost = 0;
  for (std::size_t i = 0; i < problem.intervals.size(); ++i) {
    const Bank& bank = problem.banks[plan.banks[i]];
    cost += bank.cost * problem.intervals[i].size + (reused[i] ? bank.reuse : 0);
  }
  return cost;
}

std::optional<std::uint64_t> cost_bound(const MemoryProblem& problem) {
  if (problem.banks.empty()) return 0;
  std::vector<std::uint32_t> ranks(problem.intervals.size());
  const Spill spill(problem);
  std::uint64_t cost = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::uint32_t bank = cheapest_bank(problem, i);
    if (bank == no_bank) return std::nullopt;
    ranks[i] = spill.rank(bank);
    cost += problem.banks[bank].cost * problem.intervals[i].size;
  }
  const std::optional<std::uint64_t> more = spill.cost(ranks);
  return more ? std::optional(cost + *more) : std::nullopt;
}

}  // namespace quern
