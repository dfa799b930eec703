// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/banks/assignment_search.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>

#include "graph/memory/banks/bank_packing.h"
#include "graph/memory/problem/spill.h"
#include "graph/memory/strategies.h"

namespace quern {
namespace {

constexpr std::uint64_t pack_steps = 20'000;
constexpr std::size_t most_packed = 1 << 15;  // that are remembered

// Whether, and in how few bytes, a bank holds some buffers.
struct BankContents {
  PlanAnswer fitting;                  // at the capacity
  std::optional<PlanAnswer> smallest;  // once it was wanted
};

class AssignmentSearch {
 public:
  AssignmentSearch(const MemoryProblem& problem, const BankItems& items, PlanAnswer first,
                   SearchEnds& ends)
      : problem_(problem),
        items_(items),
        ends_(ends),
        spill_(problem),
        best_(std::move(first)),
        banks_(problem.intervals.size(), no_bank),
        unused_(problem.intervals.size()),
        ranks_(problem.intervals.size()),
        last_step_(problem.intervals.size(), no_step),
        members_(problem.banks.size()),
        least_bytes_(lower_bound(problem)) {
    for (std::size_t s = 0; s < spill_.steps(); ++s)
      for (const Spill::Share& share : spill_.live(s)) last_step_[share.interval] = s;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const std::uint32_t bank = items.items[items.item_of[i]].banks[0];
      ranks_[i] = spill_.rank(bank);
      cost_ += problem.banks[bank].cost * problem.intervals[i].size;
    }
    make_order();
    const bool pays = std::ranges::any_of(problem.banks, [](const Bank& b) { return b.reuse > 0; });
    // Such lives are treated as longer than they are.
    is_complete_ = !(pays && std::ranges::any_of(problem.intervals, has_parts));
  }

  PlanAnswer run() {
    descend(0);
    if (is_complete_ && best_.found != Found::plan) {
      best_.found = Found::no_plans;
      return std::move(best_);
    }
    if (best_.found != Found::plan) return std::move(best_);
    if (is_complete_) best_.cost_bound = best_.cost;
    if (is_complete_ && knows_sizes_) best_.bound = best_.plan.size;
    return std::move(best_);
  }

 private:
  static constexpr std::size_t no_step = ~std::size_t{0};
  static constexpr std::size_t no_depth = ~std::size_t{0};

  // The members of an item follow each other: the first decides on the bank.
  void make_order() {
    std::vector<std::uint32_t> order(items_.items.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::uint32_t item) { return items_.items[item].bytes; });
    for (std::uint32_t item : order)
      for (std::uint32_t i : items_.items[item].members) order_.push_back(i);
    depth_of_.resize(order_.size());
    for (std::size_t d = 0; d < order_.size(); ++d) depth_of_[order_[d]] = d;
  }

  bool is_over() {
    is_over_ = is_over_ || --ends_.steps <= 0 || (++nodes_ % 64 == 0 && ends_.reached());
    if (is_over_) is_complete_ = false;
    return is_over_;
  }

  void descend(std::size_t depth) {
    if (is_over()) return;
    if (depth == order_.size()) {
      judge();
      return;
    }
    const std::uint32_t i = order_[depth];
    const BankItem& item = items_.items[items_.item_of[i]];
    for (const std::uint32_t bank : item.banks) {
      if (i == item.members[0] ? is_separated(item, bank) : banks_[item.members[0]] != bank)
        continue;
      if (problem_.banks[bank].reuse > 0) decide(depth, bank, 1);
      if (!jumps(depth)) decide(depth, bank, 0);
      if (jumps(depth)) return;
    }
  }

  // True if what failed was decided before: nothing that this buffer is given can mend it.
  bool jumps(std::size_t depth) {
    if (failed_at_ == no_depth) return false;
    if (failed_at_ < depth) return true;
    failed_at_ = no_depth;
    return false;
  }

  void decide(std::size_t depth, std::uint32_t bank, char unused) {
    const std::uint32_t i = order_[depth];
    const std::uint64_t cost = cost_;
    const std::uint32_t rank = ranks_[i];
    const Bank& to = problem_.banks[bank];
    const Bank& cheapest = problem_.banks[items_.items[items_.item_of[i]].banks[0]];
    cost_ += (to.cost - cheapest.cost) * problem_.intervals[i].size + (unused ? 0 : to.reuse);
    ranks_[i] = spill_.rank(bank);
    banks_[i] = bank;
    unused_[i] = unused;
    members_[bank].push_back(i);
    if (may_be_best()) descend(depth + 1);
    members_[bank].pop_back();
    unused_[i] = 0;
    banks_[i] = no_bank;
    ranks_[i] = rank;
    cost_ = cost;
  }

  bool is_separated(const BankItem& item, std::uint32_t bank) const {
    for (std::uint32_t group : item.separations)
      for (std::uint32_t other : items_.groups[group])
        if (banks_[items_.items[other].members[0]] == bank) return true;
    return false;
  }

  bool may_be_best() {
    const bool has_plan = best_.found == Found::plan;
    if (has_plan && cost_ > best_.cost) return false;
    const std::optional<std::uint64_t> more = spill_.cost(ranks_);
    if (!more || (has_plan && cost_ + *more > best_.cost)) return false;
    const std::optional<std::uint64_t> bytes = bytes_of_loads();
    if (!bytes) return false;
    const bool ties = has_plan && cost_ + *more == best_.cost;
    return !ties || std::max(*bytes, least_bytes_) < best_.plan.size;
  }

  // What the banks hold at least by what was decided; no number if one does not hold it.
  std::optional<std::uint64_t> bytes_of_loads() {
    std::vector<std::uint64_t> peaks(problem_.banks.size());
    std::vector<std::uint64_t> loads(problem_.banks.size());
    // Buffers in memory that nobody held before count in all steps up to their last.
    std::vector<std::uint64_t> held(problem_.banks.size());
    std::vector<std::vector<std::uint32_t>>& ending = ending_;
    ending.resize(spill_.steps());
    for (auto& e : ending) e.clear();
    for (std::uint32_t i : order_) {
      if (!unused_[i] || last_step_[i] == no_step) continue;
      ending[last_step_[i]].push_back(i);
      held[banks_[i]] += problem_.intervals[i].size;
    }
    for (std::size_t s = 0; s < spill_.steps(); ++s) {
      loads = held;
      for (const Spill::Share& share : spill_.live(s))
        if (banks_[share.interval] != no_bank && !unused_[share.interval])
          loads[banks_[share.interval]] += share.bytes;
      for (std::size_t b = 0; b < loads.size(); ++b) peaks[b] = std::max(peaks[b], loads[b]);
      for (std::uint32_t i : ending[s]) held[banks_[i]] -= problem_.intervals[i].size;
    }
    std::uint64_t sum = 0;
    for (std::size_t b = 0; b < peaks.size(); ++b) {
      if (peaks[b] > problem_.banks[b].capacity) return std::nullopt;
      sum += peaks[b];
    }
    return sum;
  }

  MemoryProblem part(std::uint32_t bank, std::span<const std::uint32_t> members) const {
    return bank_problem_without_reuse(problem_, bank, members, unused_);
  }

  BankContents& packing(std::uint32_t bank, std::span<const std::uint32_t> members) {
    std::string key(1 + problem_.intervals.size(), '\0');
    key[0] = static_cast<char>(bank);
    for (std::uint32_t i : members) key[1 + i] = unused_[i] ? 2 : 1;
    if (packings_.size() >= most_packed) packings_.clear();
    const auto [at, is_new] = packings_.try_emplace(std::move(key));
    if (is_new) at->second.fitting = packed(bank, members, problem_.banks[bank].capacity);
    return at->second;
  }

  PlanAnswer packed(std::uint32_t bank, std::span<const std::uint32_t> members,
                    std::uint64_t capacity) {
    const PlanLimits limits{
        .capacity = capacity,
        .seconds = ends_.seconds(),
        .steps = std::min(pack_steps,
                          static_cast<std::uint64_t>(std::max<std::int64_t>(ends_.steps, 1))),
        .stop = ends_.stop};
    PlanAnswer answer = packed_part(part(bank, members), plan_auto, limits);
    const bool is_open = answer.plan.size > answer.bound && answer.bound <= capacity &&
                         (answer.plan.size > capacity || capacity == any_capacity);
    ends_.steps -= static_cast<std::int64_t>(is_open ? limits.steps : members.size());
    return answer;
  }

  // The buffers in the order of the decisions; the decision up to which they fail by themselves.
  void find_failure(std::uint32_t bank) {
    std::vector<std::uint32_t> members = members_[bank];
    for (;;) {
      const std::uint32_t last = members.back();
      members.pop_back();
      const PlanAnswer* fewer = members.empty() ? nullptr : &packing(bank, members).fitting;
      if (!fewer ||
          (fewer->bound <= problem_.banks[bank].capacity && !fewer->plan.offsets.empty())) {
        failed_at_ = depth_of_[last];
        return;
      }
    }
  }

  // All is decided: whether every bank holds its buffers, and in how few bytes.
  void judge() {
    MemoryPlan plan{std::vector<std::uint64_t>(order_.size()), 0, banks_,
                    std::vector<std::uint64_t>(problem_.banks.size())};
    for (std::uint32_t b = 0; b < members_.size(); ++b) {
      if (members_[b].empty()) continue;
      const PlanAnswer& answer = packing(b, members_[b]).fitting;
      const std::uint64_t capacity = problem_.banks[b].capacity;
      if (answer.bound > capacity || answer.plan.offsets.empty()) {
        find_failure(b);
        return;
      }
      if (answer.plan.size > capacity) {
        is_complete_ = false;
        return;
      }
      adopt(plan, b, answer.plan);
    }
    offer(plan);
    shrink(plan);
  }

  void adopt(MemoryPlan& plan, std::uint32_t bank, const MemoryPlan& part) const {
    for (std::size_t k = 0; k < part.offsets.size(); ++k)
      plan.offsets[members_[bank][k]] = part.offsets[k];
    plan.size += part.size - plan.bank_sizes[bank];
    plan.bank_sizes[bank] = part.size;
  }

  void offer(const MemoryPlan& plan) {
    PlanAnswer answer{.plan = plan,
                      .bound = best_.bound,
                      .cost = cost_of(problem_, plan),
                      .cost_bound = best_.cost_bound};
    if (costs_less(answer, best_)) best_ = std::move(answer);
  }

  // The smallest plan of these decisions, if it may be the best.
  void shrink(MemoryPlan& plan) {
    if (cost_ > best_.cost) return;
    for (std::uint32_t b = 0; b < members_.size(); ++b) {
      if (members_[b].empty()) continue;
      BankContents& p = packing(b, members_[b]);
      if (!p.smallest) {
        const bool is_small = p.fitting.plan.size <= p.fitting.bound;
        p.smallest = is_small ? p.fitting : packed(b, members_[b], any_capacity);
      }
      if (p.smallest->plan.size > p.smallest->bound) knows_sizes_ = false;
      if (p.smallest->plan.size < plan.bank_sizes[b]) adopt(plan, b, p.smallest->plan);
    }
    offer(plan);
  }

  const MemoryProblem& problem_;
  const BankItems& items_;
  SearchEnds& ends_;
  Spill spill_;
  PlanAnswer best_;
  std::vector<std::uint32_t> order_;  // in which intervals are decided
  std::vector<std::size_t> depth_of_;
  // What is decided.
  std::vector<std::uint32_t> banks_;
  std::vector<char> unused_;
  std::vector<std::uint32_t> ranks_;  // of the cheapest banks where nothing is decided
  std::vector<std::size_t> last_step_;
  std::vector<std::vector<std::uint32_t>> members_;  // of the banks, in the order of decisions
  std::uint64_t cost_ = 0;                           // with the least of what is not decided
  std::uint64_t least_bytes_;
  std::vector<std::vector<std::uint32_t>> ending_;
  std::unordered_map<std::string, BankContents> packings_;
  std::size_t failed_at_ = no_depth;
  std::uint64_t nodes_ = 0;
  bool is_over_ = false;
  bool is_complete_ = true;
  bool knows_sizes_ = true;
};

}  // namespace

PlanAnswer search_assignments(const MemoryProblem& problem, const BankItems& items,
                              PlanAnswer first, SearchEnds& ends) {
  if (problem.intervals.size() > most_assigned) return first;
  return AssignmentSearch(problem, items, std::move(first), ends).run();
}

}  // namespace quern
