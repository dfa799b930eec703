// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/banks/over_banks.h"

#include <algorithm>
#include <numeric>

#include "graph/memory/banks/assignment_search.h"
#include "graph/memory/banks/bank_placer.h"
#include "graph/memory/banks/exchanges.h"
#include "graph/memory/order/orders.h"
#include "graph/memory/strategies.h"

namespace quern {
namespace {

constexpr std::size_t most_proven_first = 48;  // buffers: the exact search before the others
constexpr std::int64_t first_proof_steps = 20'000;

constexpr OrderFn list_orders[] = {
    [](const Placer& p) { return by_size(p.problem()); },
    [](const Placer& p) { return by_area(p.problem()); },
    [](const Placer& p) { return by_breadth(p.problem()); },
    [](const Placer& p) { return by_conflict(p); },
    [](const Placer& p) { return by_life(p.problem()); },
    [](const Placer& p) { return by_start(p.problem()); },
    // The shortest lives first: they fill a cheap bank with the most bytes.
    [](const Placer& p) {
      Order order = by_life(p.problem());
      std::ranges::reverse(order);
      return order;
    },
};

// What all strategies begin with.
class OverBanks {
 public:
  explicit OverBanks(const MemoryProblem& problem)
      : problem_(problem), items_(bank_items(problem)) {
    const std::optional<std::uint64_t> cost = cost_bound(problem);
    best_.bound = lower_bound(problem);
    best_.cost_bound = cost.value_or(0);
    best_.found = items_.is_impossible || !cost ? Found::no_plans : Found::nothing;
    if (best_.found == Found::nothing) placer_.emplace(problem, items_);
  }

  bool is_impossible() const { return best_.found == Found::no_plans; }
  const BankItems& items() const { return items_; }
  BankPlacer& placer() { return *placer_; }
  PlanAnswer& best() { return best_; }

  void place(OrderFn order, Fit fit) {
    auto plan = place_over_banks(*placer_, items_, order(placer_->placer()), fit);
    if (!plan) return;
    PlanAnswer answer = best_;
    answer.cost = cost_of(problem_, *plan);
    answer.plan = *std::move(plan);
    answer.found = Found::plan;
    if (costs_less(answer, best_)) best_ = std::move(answer);
  }

  // The first by size, whatever the time: no strategy is worse than that.
  void place_all(const SearchEnds& ends) {
    for (const Fit fit : {Fit::tightest, Fit::lowest})
      for (const OrderFn order : list_orders)
        if (best_.found != Found::plan || !ends.reached()) place(order, fit);
  }

  bool is_proven() const {
    return best_.found == Found::no_plans || status_of(best_) == PlanStatus::optimal;
  }

  PlanAnswer take() { return std::move(best_); }

 private:
  const MemoryProblem& problem_;
  BankItems items_;
  std::optional<BankPlacer> placer_;
  PlanAnswer best_;
};

// Some of the time and steps that are left.
SearchEnds share_of(const SearchEnds& ends, std::int64_t part) {
  SearchEnds share = ends;
  share.steps = ends.steps / part;
  share.deadline =
      std::min(ends.deadline,
               std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                       std::chrono::duration<double>(ends.seconds() / static_cast<double>(part))));
  return share;
}

// Runs `search(best, its ends)` on a share of what is left, and takes its steps from it.
template <class Search>
void run_share(SearchEnds& ends, std::int64_t part, Search search) {
  SearchEnds share = share_of(ends, part);
  const std::int64_t before = share.steps;
  search(share);
  ends.steps -= before - share.steps;
}

PlanLimits limits_of(const SearchEnds& ends) {
  return {.seconds = ends.seconds(),
          .steps = static_cast<std::uint64_t>(std::max<std::int64_t>(ends.steps, 1)),
          .stop = ends.stop};
}

void pack(OverBanks& over, const MemoryProblem& problem, PackFn fn, const SearchEnds& ends) {
  PlanAnswer& best = over.best();
  if (best.found != Found::plan || over.is_proven()) return;
  best.plan = packed_again(problem, std::move(best.plan), fn, limits_of(ends));
  best.cost = cost_of(problem, best.plan);
}

// One bank without a price of reuse leaves only offsets to be chosen. No answer where there is
// more.
std::optional<PlanAnswer> in_one_bank(const MemoryProblem& problem, PlanLimits limits, PackFn fn) {
  if (problem.banks.size() != 1 || problem.banks[0].reuse > 0) return std::nullopt;
  const std::uint64_t capacity = problem.banks[0].capacity;
  std::vector<std::uint32_t> members(problem.intervals.size());
  std::iota(members.begin(), members.end(), 0);
  const MemoryProblem part = bank_problem(problem, 0, members);
  if (capacity != any_capacity) {
    limits.seconds /= 2;
    limits.steps = limits.steps / 2 + 1;
  }
  PlanAnswer answer = packed_part(part, fn, limits);
  if (answer.plan.size > capacity && answer.bound <= capacity) {
    limits.capacity = capacity;
    answer = packed_part(part, fn, limits);
  }
  const bool fits = answer.plan.size <= capacity && answer.plan.offsets.size() == members.size();
  const bool is_proven = answer.bound > capacity || answer.bound == any_capacity;
  answer.found = fits ? Found::plan : is_proven ? Found::no_plans : Found::nothing;
  if (!fits) {
    answer.plan = {};
    answer.bound = lower_bound(problem);
    return answer;
  }
  answer.plan.banks.assign(members.size(), 0);
  answer.plan.bank_sizes = {answer.plan.size};
  answer.cost = answer.cost_bound = cost_of(problem, answer.plan);
  return answer;
}

}  // namespace

PlanAnswer list_over_banks(const MemoryProblem& problem, OrderFn order, Fit fit) {
  OverBanks over(problem);
  if (!over.is_impossible()) over.place(order, fit);
  return over.take();
}

PlanAnswer packed_over_banks(const MemoryProblem& problem, const PlanLimits& limits, PackFn fn) {
  OverBanks over(problem);
  if (over.is_impossible()) return over.take();
  if (auto answer = in_one_bank(problem, limits, fn)) return *std::move(answer);
  SearchEnds ends(limits);
  over.place_all(ends);
  if (over.best().cost > over.best().cost_bound)
    run_share(ends, 2, [&](SearchEnds& share) {
      over.best() = promoted(problem, over.items(), std::move(over.best()), fn, share);
    });
  pack(over, problem, fn, ends);
  return over.take();
}

PlanAnswer unshared_over_banks(const MemoryProblem& problem, const PlanLimits&) {
  // All live as long as any does.
  MemoryProblem together = problem;
  std::int64_t first = 0;
  std::int64_t end = 1;
  for (const Interval& i : problem.intervals) {
    first = std::min(first, i.first);
    end = std::max(end, i.end);
  }
  for (Interval& i : together.intervals) {
    i.first = first;
    i.end = end;
    i.gaps.clear();
  }
  OverBanks over(problem);
  if (over.is_impossible()) return over.take();
  const BankItems items = bank_items(together);
  BankPlacer placer(together, items);
  const auto plan = place_over_banks(placer, items, by_size(together), Fit::lowest);
  if (!plan) return over.take();
  PlanAnswer& best = over.best();
  best.plan = *plan;
  best.cost = cost_of(problem, *plan);
  best.found = Found::plan;
  return over.take();
}

PlanAnswer exact_over_banks(const MemoryProblem& problem, const PlanLimits& limits) {
  OverBanks over(problem);
  if (over.is_impossible()) return over.take();
  if (auto answer = in_one_bank(problem, limits, plan_exact)) return *std::move(answer);
  SearchEnds ends(limits);
  over.place(list_orders[0], Fit::tightest);
  if (!over.is_proven())
    over.best() = search_assignments(problem, over.items(), std::move(over.best()), ends);
  return over.take();
}

PlanAnswer auto_over_banks(const MemoryProblem& problem, const PlanLimits& limits) {
  OverBanks over(problem);
  if (over.is_impossible()) return over.take();
  if (auto answer = in_one_bank(problem, limits, plan_auto)) return *std::move(answer);
  SearchEnds ends(limits);
  over.place_all(ends);
  const std::size_t count = problem.intervals.size();
  const auto search = [&](SearchEnds& share) {
    over.best() = search_assignments(problem, over.items(), std::move(over.best()), share);
  };
  if (!over.is_proven() && count <= most_proven_first)
    run_share(ends, std::max<std::int64_t>(4, ends.steps / first_proof_steps), search);
  const auto is_cheapest = [&] {
    return over.best().found == Found::plan && over.best().cost <= over.best().cost_bound;
  };
  if (!over.is_proven() && !is_cheapest())
    run_share(ends, 2, [&](SearchEnds& share) {
      over.best() = exchanged(over.placer(), over.items(), std::move(over.best()),
                              over.best().cost_bound, share);
    });
  if (!over.is_proven() && !is_cheapest())
    run_share(ends, 2, [&](SearchEnds& share) {
      over.best() = promoted(problem, over.items(), std::move(over.best()), plan_auto, share);
    });
  if (!over.is_proven() && count <= most_assigned) run_share(ends, 2, search);
  pack(over, problem, plan_auto, ends);
  return over.take();
}

}  // namespace quern
