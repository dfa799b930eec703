// SPDX-License-Identifier: Apache-2.0
// Plans over banks against every plan that there is, and against a greedy one.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/memory/banks/bank_packing.h"
#include "graph/memory/problem/bank_rules.h"
#include "tests/graph/memory/bank_problems.h"
#include "tests/sanitized.h"

namespace quern {
namespace {

const Strategy& named(std::string_view name) {
  return *find_strategy(name);
}

// The best of all plans, by trying every bank and every offset of every buffer.
class EveryPlan {
 public:
  explicit EveryPlan(const MemoryProblem& problem)
      : problem_(problem),
        plan_{std::vector<std::uint64_t>(problem.intervals.size()), 0,
              std::vector<std::uint32_t>(problem.intervals.size()),
              std::vector<std::uint64_t>(problem.banks.size())} {
    pieces_.resize(problem.intervals.size());
    for (const Piece& p : pieces_of(problem)) pieces_[p.interval].push_back(p);
    pays_ = std::ranges::any_of(problem.banks, [](const Bank& b) { return b.reuse > 0; });
    place(0, 0);
  }

  bool exists() const { return exists_; }
  std::uint64_t cost() const { return cost_; }
  std::uint64_t size() const { return size_; }

 private:
  void place(std::size_t i, std::uint64_t cost) {
    // Neither cost nor size falls when more is placed.
    if (exists_ && (cost > cost_ || (cost == cost_ && size_of(i) >= size_))) return;
    if (i == pieces_.size()) {
      judge();
      return;
    }
    const Interval& interval = problem_.intervals[i];
    for (std::uint32_t b = 0; b < problem_.banks.size(); ++b) {
      const Bank& bank = problem_.banks[b];
      plan_.banks[i] = b;
      if (!may_lie(i, b)) continue;
      const std::uint64_t step = common_multiple(interval.alignment, bank.alignment);
      for (std::uint64_t at = 0; at + interval.size <= bank.capacity; at += step) {
        if (interval.fixed_offset.value_or(at) != at) continue;
        plan_.offsets[i] = at;
        if (!overlaps(i)) place(i + 1, cost + bank.cost * interval.size);
      }
    }
  }

  bool may_lie(std::size_t i, std::uint32_t bank) const {
    const BankChoice& own = choice_of(problem_, i);
    if (!own.banks.empty() && std::ranges::find(own.banks, bank) == own.banks.end()) return false;
    for (std::size_t j = 0; j < i; ++j) {
      const BankChoice& other = choice_of(problem_, j);
      const bool same = plan_.banks[j] == bank;
      if (same && own.separation != 0 && own.separation == other.separation) return false;
      if (!same && own.colocation != 0 && own.colocation == other.colocation) return false;
    }
    return true;
  }

  // Of the first `count` buffers.
  std::uint64_t size_of(std::size_t count) const {
    std::uint64_t sum = 0;
    for (std::uint32_t b = 0; b < problem_.banks.size(); ++b) {
      std::uint64_t top = 0;
      for (std::size_t j = 0; j < count; ++j)
        if (plan_.banks[j] == b) top = std::max(top, plan_.offsets[j] + problem_.intervals[j].size);
      sum += top;
    }
    return sum;
  }

  bool share_bytes(std::size_t i, std::size_t j) const {
    return plan_.banks[i] == plan_.banks[j] &&
           plan_.offsets[i] < plan_.offsets[j] + problem_.intervals[j].size &&
           plan_.offsets[j] < plan_.offsets[i] + problem_.intervals[i].size;
  }

  bool overlaps(std::size_t i) const {
    for (std::size_t j = 0; j < i; ++j) {
      if (!share_bytes(i, j)) continue;
      for (const Piece& a : pieces_[i])
        for (const Piece& b : pieces_[j])
          if (a.first < b.end && b.first < a.end) return true;
    }
    return false;
  }

  bool is_reused(std::size_t i) const {
    for (std::size_t j = 0; j < pieces_.size(); ++j) {
      if (i == j || !share_bytes(i, j)) continue;
      for (const Piece& a : pieces_[i])
        for (const Piece& b : pieces_[j])
          if (b.end <= a.first) return true;
    }
    return false;
  }

  void judge() {
    std::uint64_t cost = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Bank& bank = problem_.banks[plan_.banks[i]];
      cost += bank.cost * problem_.intervals[i].size + (pays_ && is_reused(i) ? bank.reuse : 0);
    }
    const std::uint64_t size = size_of(pieces_.size());
    if (exists_ && (cost > cost_ || (cost == cost_ && size >= size_))) return;
    exists_ = true;
    cost_ = cost;
    size_ = size;
  }

  const MemoryProblem& problem_;
  MemoryPlan plan_;
  std::vector<std::vector<Piece>> pieces_;
  bool pays_ = false;
  bool exists_ = false;
  std::uint64_t cost_ = 0;
  std::uint64_t size_ = 0;
};

void expect_holds(const MemoryProblem& p, const PlanAnswer& answer, std::string_view what) {
  if (answer.found != Found::plan) {
    ASSERT_TRUE(answer.plan.offsets.empty()) << what;
    return;
  }
  const Status status = validate(p, answer.plan);
  ASSERT_TRUE(status.ok()) << what << ": " << status.message();
  ASSERT_EQ(answer.cost, cost_of(p, answer.plan)) << what;
  ASSERT_LE(answer.cost_bound, answer.cost) << what;
  ASSERT_LE(answer.bound, answer.plan.size) << what;
  ASSERT_GE(answer.bound, lower_bound(p)) << what;
}

TEST(Banks, AreFilledAsTheBestOfAllPlansFillsThem) {
  std::size_t impossible = 0;
  std::size_t paid = 0;
  for (unsigned seed = 0; seed < (testing::sanitized ? 1000U : 10000U); ++seed) {
    const MemoryProblem p = random_bank_problem(
        3 + seed % 3, seed,
        {.alignments = seed % 4 == 1, .reuse = seed % 2 == 0, .fixed = seed % 7 == 0});
    if (seed % 7 == 0 && !check(p).ok()) continue;
    ASSERT_TRUE(check(p).ok()) << seed << ": " << check(p).message();
    const EveryPlan every(p);
    const PlanAnswer exact = named("exact").plan(p, {.seconds = 60});
    expect_holds(p, exact, "exact");
    ASSERT_EQ(exact.found, every.exists() ? Found::plan : Found::no_plans) << seed;
    ASSERT_EQ(status_of(exact), every.exists() ? PlanStatus::optimal : PlanStatus::infeasible)
        << seed;
    impossible += every.exists() ? 0 : 1;
    if (!every.exists()) continue;
    ASSERT_EQ(exact.cost, every.cost()) << seed;
    ASSERT_EQ(exact.plan.size, every.size()) << seed;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < p.intervals.size(); ++i)
      bytes += p.banks[exact.plan.banks[i]].cost * p.intervals[i].size;
    paid += exact.cost > bytes ? 1 : 0;
  }
  // The cases are neither all possible nor without prices that are worth paying.
  const std::size_t tenth = testing::sanitized ? 100 : 1000;
  EXPECT_GT(2 * impossible, tenth);
  EXPECT_LT(impossible, 7 * tenth);
  EXPECT_GT(4 * paid, tenth);
}

TEST(Banks, AutoFindsTheSameCosts) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    const MemoryProblem p = random_bank_problem(
        3 + seed % 4, 50000 + seed,
        {.banks = 1 + seed % 3, .alignments = seed % 4 == 1, .reuse = seed % 2 == 0});
    const PlanAnswer exact = named("exact").plan(p, {.seconds = 60});
    const PlanAnswer best = named("auto").plan(p, {.seconds = 60, .steps = 200000});
    expect_holds(p, best, "auto");
    ASSERT_EQ(status_of(best), status_of(exact)) << seed;
    ASSERT_EQ(best.cost, exact.cost) << seed;
    ASSERT_EQ(best.plan.size, exact.plan.size) << seed;
  }
}

TEST(Banks, AreKeptByEveryStrategy) {
  for (const Strategy& s : strategies()) {
    std::size_t found = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
      MemoryProblem p = random_bank_problem(
          4 + seed % 20, 90000 + seed,
          {.banks = 1 + seed % 4, .capacity = 60, .alignments = true, .reuse = seed % 2 == 0}, 9,
          9);
      if (seed % 5 == 0) p.intervals[0].must_be_zero = true;
      Random random(seed);
      if (seed % 7 == 0 && p.intervals[1].gaps.empty()) add_gap(p.intervals[1], random, true);
      if (!check(p).ok()) continue;
      const PlanAnswer answer = s.plan(p, {.seconds = 60, .steps = 2000});
      expect_holds(p, answer, s.name);
      found += answer.found == Found::plan ? 1 : 0;
      if (answer.found != Found::no_plans) continue;
      EXPECT_NE(named("exact").plan(p, {.seconds = 60, .steps = 20000}).found, Found::plan);
    }
    EXPECT_GT(found, 40U) << s.name;
  }
}

// A bank without a capacity, an alignment or a cost is the memory of problems without banks.
TEST(Banks, OfWhichThereIsOneChangeNothing) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const MemoryProblem p = random_problem(1 + seed % 20, seed, {.alignments = true, .gaps = true});
    MemoryProblem one = p;
    one.banks = {{.name = "all"}};
    EXPECT_EQ(lower_bound(one), lower_bound(p));
    const PlanAnswer with = named("auto").plan(one, {.seconds = 60, .steps = 20000});
    const PlanAnswer without = named("auto").plan(p, {.seconds = 60, .steps = 20000});
    expect_holds(one, with, "auto");
    EXPECT_EQ(with.plan.size, without.plan.size) << seed;
    for (const std::string_view name : {"greedy-by-size", "first-fit", "best-fit", "tlsf"})
      EXPECT_EQ(named(name).plan(one, {}).plan.offsets, named(name).plan(p, {}).plan.offsets)
          << name << " " << seed;
  }
}

// Chains of buffers with some long lives, in a small fast bank, a middle one and a large slow one.
MemoryProblem layered_problem(unsigned seed) {
  Random random(seed);
  MemoryProblem p;
  const std::size_t count = 30 + random.below(50);
  std::uint64_t bytes = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const auto first = static_cast<std::int64_t>(random.below(count));
    const std::int64_t life =
        1 + static_cast<std::int64_t>(random.below(random.one_in(4) ? 40 : 6));
    p.intervals.push_back(interval(first, first + life, 64 * (1 + random.below(64)), 64));
    bytes += p.intervals.back().size;
  }
  const std::uint64_t peak = peak_of(p).bytes;
  p.banks = {{.name = "sram", .capacity = peak / 4, .cost = 1},
             {.name = "psram", .capacity = peak / 2, .cost = 3},
             {.name = "flash", .capacity = bytes, .cost = 10}};
  if (seed % 3 == 0)
    for (Bank& b : p.banks) b.reuse = 200;
  if (seed % 4 != 0) return p;
  p.choices.resize(count);
  for (std::size_t n = 0; n + 1 < count; n += 9) {
    p.choices[n].separation = p.choices[n + 1].separation = 1 + static_cast<std::uint32_t>(n);
    p.choices[n + 2 < count ? n + 2 : n].colocation = 1;
  }
  return p;
}

TEST(Banks, CostLessThanByGreedyOrders) {
  std::size_t better = 0;
  std::size_t all = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const MemoryProblem p = layered_problem(seed);
    ASSERT_TRUE(check(p).ok());
    const PlanAnswer greedy = named("greedy-by-size").plan(p, {});
    const PlanAnswer best = named("auto").plan(p, {.seconds = 600, .steps = 20000});
    expect_holds(p, greedy, "greedy");
    expect_holds(p, best, "auto");
    ASSERT_FALSE(costs_less(greedy, best)) << seed;
    if (greedy.found != Found::plan) continue;
    ++all;
    better += best.cost < greedy.cost ? 1 : 0;
  }
  EXPECT_GE(all, 50U);
  EXPECT_GE(better * 10, all * 3);
}

// Eight banks: seven that hold an eighth of what is live, and one that holds all.
void add_eight_banks(MemoryProblem& p) {
  const std::uint64_t peak = peak_of(p).bytes;
  for (std::uint64_t b = 0; b < 8; ++b)
    p.banks.push_back({.name = "m" + std::to_string(b),
                       .capacity = b == 7 ? any_capacity : peak / 8,
                       .cost = b,
                       .reuse = b % 3 == 0 ? 100U : 0U});
}

void expect_bounded(const Strategy& s, const MemoryProblem& p) {
  const auto begin = std::chrono::steady_clock::now();
  const PlanAnswer answer = s.plan(p, {.seconds = 0.5, .steps = 20000});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  expect_holds(p, answer, s.name);
  EXPECT_EQ(answer.found, Found::plan) << s.name;
  EXPECT_LT(taken.count(), testing::sanitized ? 200 : 20) << s.name;
}

TEST(Banks, TakeTenThousandBuffersInBoundedTime) {
  Random random(7);
  MemoryProblem p;
  for (std::size_t n = 0; n < 10000; ++n) {
    const auto first = static_cast<std::int64_t>(random.below(2000));
    p.intervals.push_back(interval(first, first + 1 + static_cast<std::int64_t>(random.below(60)),
                                   1 + random.below(4096)));
  }
  add_eight_banks(p);
  for (const Strategy& s : strategies()) expect_bounded(s, p);
}

// So many conflicts that they are not listed.
TEST(Banks, TakeTenThousandBuffersThatAreLiveAtOnce) {
  MemoryProblem p;
  for (std::int64_t i = 0; i < 10000; ++i)
    p.intervals.push_back(interval(i % 100, 100 + i % 77, 16));
  add_eight_banks(p);
  for (const std::string_view name : {"auto", "exact", "greedy-by-size"})
    expect_bounded(named(name), p);
}

}  // namespace
}  // namespace quern
