// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/banks/exchanges.h"

#include <algorithm>
#include <numeric>

#include "graph/memory/packing/random.h"
#include "graph/memory/problem/bank_rules.h"

namespace quern {
namespace {

constexpr std::size_t most_taken = 12;    // items at one time
constexpr std::int64_t idle_rounds = 64;  // by items: without a better plan for so long it ends
constexpr std::uint64_t promotion_steps = 2'000;

class Exchanges {
 public:
  Exchanges(BankPlacer& placer, const BankItems& items, PlanAnswer best, std::uint64_t enough,
            SearchEnds& ends)
      : placer_(placer),
        problem_(placer.placer().problem()),
        items_(items),
        ends_(ends),
        best_(std::move(best)),
        enough_(enough) {
    pays_ = std::ranges::any_of(problem_.banks, [](const Bank& b) { return b.reuse > 0; });
    start();
  }

  PlanAnswer run() {
    const auto count = static_cast<std::int64_t>(items_.items.size());
    for (idle_ = 0; idle_ < idle_rounds * count && count > 1 && !is_done(); ++idle_) round();
    return std::move(best_);
  }

 private:
  bool is_done() const {
    return ends_.reached() || (best_.found == Found::plan && best_.cost <= enough_);
  }

  // The placer as the best plan has it, or, where there is none, with all that fits.
  void start() {
    for (std::uint32_t item = 0; item < items_.items.size(); ++item)
      if (placer_.is_placed(item)) placer_.remove(item);
    std::vector<std::uint32_t> order(items_.items.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::uint32_t item) { return items_.items[item].bytes; });
    for (std::uint32_t item : order) {
      if (best_.found == Found::plan) {
        placer_.restore(item, place_in(best_.plan, item));
      } else if (!placer_.put(item, Fit::tightest)) {
        missing_bytes_ += items_.items[item].bytes + 1;
        missing_.push_back(item);
      }
    }
    cost_ = cost();
  }

  BankPlacer::Place place_in(const MemoryPlan& plan, std::uint32_t item) const {
    const std::vector<std::uint32_t>& members = items_.items[item].members;
    BankPlacer::Place place{plan.banks[members[0]], {}};
    for (std::uint32_t i : members) place.offsets.push_back(plan.offsets[i]);
    return place;
  }

  std::uint64_t cost() const {
    if (!missing_.empty()) return 0;
    return pays_ ? cost_of(problem_, placer_.plan()) : placer_.byte_cost();
  }

  std::uint64_t random(std::uint64_t below) { return mixed(++seed_ * 0x9e3779b97f4a7c15U) % below; }

  // An item that is missing, else one that a cheaper bank would take, else any.
  std::uint32_t pick() {
    if (!missing_.empty()) return missing_[random(missing_.size())];
    const auto count = static_cast<std::uint64_t>(items_.items.size());
    auto item = static_cast<std::uint32_t>(random(count));
    for (int k = 0; k < 8; ++k) {
      const BankItem& what = items_.items[item];
      if (problem_.banks[placer_.bank_of(item)].cost > problem_.banks[what.banks[0]].cost)
        return item;
      item = static_cast<std::uint32_t>(random(count));
    }
    return item;
  }

  // The item and some that live with it or are kept apart from it.
  std::vector<std::uint32_t> taken_with(std::uint32_t first) {
    std::vector<std::uint32_t> taken = {first};
    const BankItem& what = items_.items[first];
    for (std::uint32_t group : what.separations)
      for (std::uint32_t other : items_.groups[group]) add(taken, other);
    const std::size_t wanted = 2 + random(most_taken - 1);
    const Conflicts& conflicts = placer_.placer().conflicts();
    const std::uint32_t member = what.members[random(what.members.size())];
    for (std::size_t k = 0; k < 2 * most_taken && taken.size() < wanted; ++k) {
      std::uint32_t other = static_cast<std::uint32_t>(random(items_.item_of.size()));
      if (conflicts.listed() && !conflicts[member].empty())
        other = conflicts[member][random(conflicts[member].size())];
      add(taken, items_.item_of[other]);
    }
    return taken;
  }

  static void add(std::vector<std::uint32_t>& taken, std::uint32_t item) {
    if (std::ranges::find(taken, item) == taken.end()) taken.push_back(item);
  }

  void round() {
    std::vector<std::uint32_t> taken = taken_with(pick());
    ends_.steps -= static_cast<std::int64_t>(taken.size());
    std::vector<BankPlacer::Place> places;
    std::vector<std::uint32_t> were_placed;
    for (std::uint32_t item : taken) {
      if (!placer_.is_placed(item)) continue;
      were_placed.push_back(item);
      places.push_back(placer_.place(item));
      placer_.remove(item);
    }
    shuffle(taken);
    const std::vector<std::uint32_t> missing = missing_;
    const std::uint64_t missing_bytes = missing_bytes_;
    std::erase_if(missing_, [&](auto m) { return std::ranges::find(taken, m) != taken.end(); });
    const Fit fit = random(2) == 0 ? Fit::tightest : Fit::lowest;
    for (std::uint32_t item : taken)
      if (!placer_.put(item, fit)) missing_.push_back(item);
    missing_bytes_ = 0;
    for (std::uint32_t item : missing_) missing_bytes_ += items_.items[item].bytes + 1;
    if (is_no_worse(missing_bytes)) return;
    for (std::uint32_t item : taken)
      if (placer_.is_placed(item)) placer_.remove(item);
    for (std::size_t k = 0; k < places.size(); ++k) placer_.restore(were_placed[k], places[k]);
    missing_ = missing;
    missing_bytes_ = missing_bytes;
  }

  // By size mostly, else as chance has it.
  void shuffle(std::vector<std::uint32_t>& taken) {
    for (std::size_t n = taken.size(); n > 1; --n) std::swap(taken[n - 1], taken[random(n)]);
    if (random(2) == 0) return;
    std::ranges::stable_sort(taken, std::ranges::greater(),
                             [&](std::uint32_t item) { return items_.items[item].bytes; });
  }

  bool is_no_worse(std::uint64_t missing_bytes_before) {
    if (missing_bytes_ != missing_bytes_before) {
      if (missing_bytes_ > missing_bytes_before) return false;
      idle_ = 0;
      cost_ = cost();
    } else {
      const std::uint64_t now = cost();
      if (now > cost_) return false;
      if (now < cost_) idle_ = 0;
      cost_ = now;
    }
    if (!missing_.empty() || (best_.found == Found::plan && cost_ >= best_.cost)) return true;
    best_.plan = placer_.plan();
    best_.cost = cost_;
    best_.found = Found::plan;
    return true;
  }

  BankPlacer& placer_;
  const MemoryProblem& problem_;
  const BankItems& items_;
  SearchEnds& ends_;
  PlanAnswer best_;
  std::uint64_t enough_;
  std::uint64_t seed_ = 0;
  bool pays_ = false;
  std::vector<std::uint32_t> missing_;  // items that fit nowhere
  std::uint64_t missing_bytes_ = 0;     // and one for each
  std::uint64_t cost_ = 0;              // of the placer's plan
  std::int64_t idle_ = 0;
};

// Plans in which one item lies in another bank, packed anew.
class Promotions {
 public:
  Promotions(const MemoryProblem& problem, const BankItems& items, PlanAnswer best, PackFn pack,
             SearchEnds& ends)
      : problem_(problem), items_(items), ends_(ends), pack_(pack), best_(std::move(best)) {}

  PlanAnswer run() {
    for (bool found = true; found && !ends_.reached();) {
      found = false;
      for (std::uint32_t item : by_saving()) found = promote(item) || found;
    }
    return std::move(best_);
  }

 private:
  std::uint32_t bank_of(std::uint32_t item) const {
    return best_.plan.banks[items_.items[item].members[0]];
  }

  // Those that are not in their cheapest bank, what it would save most first.
  std::vector<std::uint32_t> by_saving() const {
    const auto saving = [&](std::uint32_t item) {
      const BankItem& what = items_.items[item];
      return what.cost_in(problem_.banks[bank_of(item)]) -
             what.cost_in(problem_.banks[what.banks[0]]);
    };
    std::vector<std::uint32_t> list;
    for (std::uint32_t item = 0; item < items_.items.size(); ++item)
      if (saving(item) > 0) list.push_back(item);
    std::ranges::stable_sort(list, std::ranges::greater(), saving);
    return list;
  }

  bool promote(std::uint32_t item) {
    const BankItem& what = items_.items[item];
    for (std::uint32_t bank : what.banks) {
      if (problem_.banks[bank].cost >= problem_.banks[bank_of(item)].cost) return false;
      if (ends_.reached()) return false;
      if (!is_separated(what, item, bank) && move(what, bank)) return true;
    }
    return false;
  }

  bool is_separated(const BankItem& what, std::uint32_t item, std::uint32_t bank) const {
    for (std::uint32_t group : what.separations)
      for (std::uint32_t other : items_.groups[group])
        if (other != item && bank_of(other) == bank) return true;
    return false;
  }

  bool move(const BankItem& what, std::uint32_t bank) {
    const std::uint64_t capacity = problem_.banks[bank].capacity;
    std::vector<std::uint32_t> banks = best_.plan.banks;
    for (std::uint32_t i : what.members) banks[i] = bank;
    const auto members = members_of_banks(problem_, banks);
    const MemoryProblem part = bank_problem(problem_, bank, members[bank]);
    ends_.steps -= static_cast<std::int64_t>(members[bank].size());
    if (lower_bound(part) > capacity) return false;
    const std::uint64_t steps = std::min(
        promotion_steps, static_cast<std::uint64_t>(std::max<std::int64_t>(ends_.steps, 1)));
    const MemoryPlan made = packed_part(part, pack_,
                                        {.capacity = capacity,
                                         .seconds = std::min(ends_.seconds(), most_seconds),
                                         .steps = steps,
                                         .stop = ends_.stop})
                                .plan;
    ends_.steps -= made.size > capacity ? static_cast<std::int64_t>(steps) : 0;
    if (made.size > capacity) return false;
    PlanAnswer answer = best_;
    answer.plan.banks = std::move(banks);
    for (std::size_t k = 0; k < made.offsets.size(); ++k)
      answer.plan.offsets[members[bank][k]] = made.offsets[k];
    settle(answer.plan);
    answer.cost = cost_of(problem_, answer.plan);
    if (answer.cost >= best_.cost) return false;
    best_ = std::move(answer);
    return true;
  }

  void settle(MemoryPlan& plan) const {
    std::ranges::fill(plan.bank_sizes, 0);
    for (std::size_t i = 0; i < plan.offsets.size(); ++i) {
      std::uint64_t& size = plan.bank_sizes[plan.banks[i]];
      size = std::max(size, plan.offsets[i] + problem_.intervals[i].size);
    }
    plan.size = std::accumulate(plan.bank_sizes.begin(), plan.bank_sizes.end(), std::uint64_t{0});
  }

  static constexpr double most_seconds = 0.05;  // for one move

  const MemoryProblem& problem_;
  const BankItems& items_;
  SearchEnds& ends_;
  PackFn pack_;
  PlanAnswer best_;
};

}  // namespace

PlanAnswer exchanged(BankPlacer& placer, const BankItems& items, PlanAnswer best,
                     std::uint64_t enough, SearchEnds& ends) {
  return Exchanges(placer, items, std::move(best), enough, ends).run();
}

PlanAnswer promoted(const MemoryProblem& problem, const BankItems& items, PlanAnswer best,
                    PackFn pack, SearchEnds& ends) {
  if (best.found != Found::plan) return best;
  return Promotions(problem, items, std::move(best), pack, ends).run();
}

}  // namespace quern
