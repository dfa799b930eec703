// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/spill.h"

#include <algorithm>
#include <numeric>

#include "graph/memory/problem/bank_rules.h"
#include "graph/memory/problem/sweep.h"

namespace quern {
namespace {

// Lists of what is live in a step are kept for some steps only, where they would be too long.
constexpr std::size_t most_shares = std::size_t{1} << 22;

std::uint64_t sum_or_any(std::uint64_t a, std::uint64_t b) {
  return a > any_capacity - b ? any_capacity : a + b;
}

}  // namespace

bool may_lie_in(const MemoryProblem& problem, std::size_t interval, std::uint32_t bank) {
  const Interval& i = problem.intervals[interval];
  const Bank& b = problem.banks[bank];
  const std::vector<std::uint32_t>& may = choice_of(problem, interval).banks;
  if (!may.empty() && !std::ranges::binary_search(may, bank)) return false;
  const std::uint64_t offset = i.fixed_offset.value_or(0);
  return offset % b.alignment == 0 && i.size <= b.capacity && offset <= b.capacity - i.size;
}

std::uint32_t cheapest_bank(const MemoryProblem& problem, std::size_t interval) {
  std::uint32_t best = no_bank;
  for (std::uint32_t b = 0; b < problem.banks.size(); ++b)
    if ((best == no_bank || problem.banks[b].cost < problem.banks[best].cost) &&
        may_lie_in(problem, interval, b))
      best = b;
  return best;
}

Spill::Spill(const MemoryProblem& problem) {
  for (const Bank& b : problem.banks) costs_.push_back(b.cost);
  std::ranges::sort(costs_);
  costs_.erase(std::unique(costs_.begin(), costs_.end()), costs_.end());
  capacities_.assign(costs_.size(), 0);
  for (const Bank& b : problem.banks) {
    const auto rank =
        static_cast<std::uint32_t>(std::ranges::lower_bound(costs_, b.cost) - costs_.begin());
    rank_of_.push_back(rank);
    for (std::size_t r = rank; r < costs_.size(); ++r)
      capacities_[r] = sum_or_any(capacities_[r], b.capacity);
  }
  // Steps after the last begin of a stretch of begins, in which most is live.
  const std::vector<Piece> pieces = pieces_of(problem);
  std::vector<Share> live;
  std::vector<std::size_t> place(pieces.size());
  std::vector<std::size_t> at_place;
  bool grew = false;
  begins_.push_back(0);
  for (const Event& e : events_of(pieces)) {
    const Piece& p = pieces[e.piece];
    if (e.begins) {
      place[e.piece] = live.size();
      live.push_back({static_cast<std::uint32_t>(p.interval), p.to - p.from});
      at_place.push_back(e.piece);
      grew = true;
      continue;
    }
    if (std::exchange(grew, false) && shares_.size() + live.size() <= most_shares) {
      shares_.insert(shares_.end(), live.begin(), live.end());
      begins_.push_back(shares_.size());
    }
    const std::size_t at = place[e.piece];
    live[at] = live.back();
    at_place[at] = at_place.back();
    place[at_place[at]] = at;
    live.pop_back();
    at_place.pop_back();
  }
}

std::optional<std::uint64_t> Spill::cost_in(std::size_t step, std::span<const std::uint32_t> ranks,
                                            std::span<const char> counted) const {
  std::uint64_t bytes[max_banks] = {};
  for (const Share& s : live(step))
    if (!counted[s.interval]) bytes[ranks[s.interval]] += s.bytes;
  std::uint64_t sum = 0;
  std::uint64_t cost = 0;
  for (std::size_t r = 0; r < costs_.size(); ++r) {
    sum += bytes[r];
    if (sum <= capacities_[r]) continue;
    if (r + 1 == costs_.size()) return std::nullopt;
    cost += (costs_[r + 1] - costs_[r]) * (sum - capacities_[r]);
  }
  return cost;
}

std::optional<std::uint64_t> Spill::cost(std::span<const std::uint32_t> ranks) const {
  struct Step {
    std::uint64_t cost;
    std::size_t step;
  };
  std::vector<Step> steps;
  std::vector<char> counted(ranks.size());
  for (std::size_t s = 0; s + 1 < begins_.size(); ++s) {
    const auto cost = cost_in(s, ranks, counted);
    if (!cost) return std::nullopt;
    if (*cost > 0) steps.push_back({*cost, s});
  }
  std::ranges::stable_sort(steps, std::ranges::greater(), &Step::cost);
  std::uint64_t sum = 0;
  for (const Step& s : steps) {
    const std::uint64_t cost = cost_in(s.step, ranks, counted).value_or(0);
    if (cost == 0) continue;
    sum += cost;
    for (const Share& share : live(s.step)) counted[share.interval] = 1;
  }
  return sum;
}

}  // namespace quern
