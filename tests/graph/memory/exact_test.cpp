// SPDX-License-Identifier: Apache-2.0
// These tests check the proofs of the exact search against every placement there is.
#include "graph/memory/packing/exact.h"

#include <atomic>
#include <chrono>

#include <gtest/gtest.h>

#include "engine/vocabulary/stop.h"
#include "graph/memory/problem/planted.h"
#include "graph/memory/strategies.h"
#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

// Every placement in which each buffer lies on those before it, in every order: one of them is the
// smallest. For gaps in which nothing is live.
class EveryPlacement {
 public:
  explicit EveryPlacement(const MemoryProblem& p) : p_(p), offsets_(p.intervals.size(), absent) {
    const std::vector<Piece> pieces = pieces_of(p);
    meet_.assign(offsets_.size(), std::vector<char>(offsets_.size()));
    for (const Piece& a : pieces)
      for (const Piece& b : pieces)
        if (a.interval != b.interval && a.first < b.end && b.first < a.end)
          meet_[a.interval][b.interval] = 1;
  }

  std::uint64_t smallest() {
    bound_ = lower_bound(p_);
    place(0, 0);
    return best_;
  }

 private:
  static constexpr std::uint64_t absent = any_capacity;

  void place(std::size_t count, std::uint64_t size) {
    if (size >= best_ || best_ == bound_) return;
    if (count == offsets_.size()) best_ = size;
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      if (offsets_[i] != absent) continue;
      const Interval& b = p_.intervals[i];
      std::uint64_t at = 0;
      for (std::size_t j = 0; j < offsets_.size(); ++j)
        if (offsets_[j] != absent && meet_[i][j])
          at = std::max(at, offsets_[j] + p_.intervals[j].size);
      at = (at + b.alignment - 1) / b.alignment * b.alignment;
      if (b.fixed_offset && *b.fixed_offset < at) continue;
      offsets_[i] = b.fixed_offset.value_or(at);
      place(count + 1, std::max(size, offsets_[i] + b.size));
      offsets_[i] = absent;
    }
  }

  const MemoryProblem& p_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::vector<char>> meet_;
  std::uint64_t bound_ = 0;
  std::uint64_t best_ = any_capacity;
};

MemoryProblem small_problem(unsigned seed) {
  const Features f{.alignments = seed % 2 != 0,
                   .gaps = seed % 3 == 0,
                   .zeros = seed % 5 == 0,
                   .fixed = seed % 7 == 0};
  return random_problem(3 + seed % 5, seed, f, 9 + seed % 30, 5);
}

TEST(Exact, FindsTheOptimumOfSmallProblems) {
  std::size_t above_bound = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const MemoryProblem p = small_problem(seed);
    if (!check(p).ok()) continue;
    const std::uint64_t optimum = EveryPlacement(p).smallest();
    const PlanAnswer answer = plan_exact(p, {.seconds = 60});
    ASSERT_EQ(answer.plan.size, optimum) << "seed " << seed;
    ASSERT_EQ(status_of(answer), PlanStatus::optimal) << "seed " << seed;
    ASSERT_TRUE(validate(p, answer.plan).ok()) << "seed " << seed;
    above_bound += optimum > lower_bound(p) ? 1 : 0;
  }
  EXPECT_GT(above_bound, 100U);
}

// From no plan better than the sum, so that the search does all the work.
TEST(Exact, NeedsNoHelpFromHeuristics) {
  for (unsigned seed = 5000; seed < 5500; ++seed) {
    const MemoryProblem p = small_problem(seed);
    if (!check(p).ok()) continue;
    const PlanAnswer answer = improved(p, plan_none(p, {}).plan, {.seconds = 60});
    ASSERT_EQ(answer.plan.size, EveryPlacement(p).smallest()) << "seed " << seed;
    ASSERT_TRUE(validate(p, answer.plan).ok()) << "seed " << seed;
  }
}

TEST(Exact, ProvesThatACapacityIsTooSmall) {
  std::size_t infeasible_above_bound = 0;
  for (unsigned seed = 0; seed < 800; ++seed) {
    const MemoryProblem p = small_problem(seed);
    if (!check(p).ok()) continue;
    const std::uint64_t optimum = EveryPlacement(p).smallest();
    if (optimum == 0) continue;
    for (const std::uint64_t capacity : {optimum - 1, optimum}) {
      const PlanAnswer answer =
          improved(p, plan_none(p, {}).plan, {.capacity = capacity, .seconds = 60});
      const PlanStatus status = status_of(answer, capacity);
      if (capacity < optimum) {
        ASSERT_EQ(status, PlanStatus::infeasible) << "seed " << seed;
        infeasible_above_bound += capacity >= lower_bound(p) ? 1 : 0;
      } else {
        ASSERT_LE(answer.plan.size, capacity) << "seed " << seed;
        ASSERT_TRUE(status == PlanStatus::feasible || status == PlanStatus::optimal);
      }
    }
  }
  EXPECT_GT(infeasible_above_bound, 50U);
}

// Ten thousand problems of up to eight buffers: one byte less than the smallest of all placements
// is "infeasible", and no byte less than that is claimed to be.
TEST(Exact, SaysInfeasibleWhereNothingFits) {
  std::size_t above_bound = 0;
  for (unsigned seed = 0; seed < 10000; ++seed) {
    const MemoryProblem p = random_problem(
        1 + seed % 8, seed + 100000, {.alignments = seed % 4 == 1, .gaps = seed % 5 == 1}, 9, 4);
    const std::uint64_t optimum = EveryPlacement(p).smallest();
    if (optimum == 0 || optimum == any_capacity) continue;
    const PlanAnswer below = plan_exact(p, {.capacity = optimum - 1, .seconds = 60});
    ASSERT_EQ(status_of(below, optimum - 1), PlanStatus::infeasible) << "seed " << seed;
    ASSERT_LE(below.bound, optimum) << "seed " << seed;
    const PlanAnswer at = plan_exact(p, {.capacity = optimum, .seconds = 60});
    ASSERT_LE(at.plan.size, optimum) << "seed " << seed;
    ASSERT_TRUE(validate(p, at.plan).ok()) << "seed " << seed;
    above_bound += optimum > lower_bound(p) ? 1 : 0;
  }
  EXPECT_GT(above_bound, 300U);
}

TEST(Exact, KeepsWhatPartsOfBuffersAllow) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const MemoryProblem p = random_problem(3 + seed % 8, seed, {.gaps = true, .parts = true});
    const PlanAnswer answer = plan_exact(p, {.seconds = 1});
    ASSERT_TRUE(validate(p, answer.plan).ok()) << "seed " << seed;
    ASSERT_GE(answer.plan.size, answer.bound) << "seed " << seed;
  }
}

TEST(Exact, SolvesPlantedProblems) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const MemoryProblem p = planted_problem({.buffers = 60, .seed = seed});
    ASSERT_EQ(lower_bound(p), 65536U);
    const PlanAnswer answer = plan_exact(p, {.seconds = 60, .steps = 2000000});
    EXPECT_EQ(answer.plan.size, 65536U) << "seed " << seed;
    EXPECT_TRUE(validate(p, answer.plan).ok());
  }
}

TEST(Exact, StopsAtItsSteps) {
  const MemoryProblem p = planted_problem({.buffers = 400, .seed = 1});
  const PlanAnswer a = plan_exact(p, {.seconds = 60, .steps = 3000});
  const PlanAnswer b = plan_exact(p, {.seconds = 60, .steps = 3000});
  EXPECT_EQ(a.plan, b.plan);
  EXPECT_TRUE(validate(p, a.plan).ok());
}

// A deadline and a cancel end it, whatever it was allowed.
TEST(Exact, EndsWhenARunMust) {
  using Clock = std::chrono::steady_clock;
  const std::atomic<bool> cancelled = true;
  const Stop stops[] = {Stop({.deadline = Clock::now() + std::chrono::milliseconds(20)}),
                        Stop({.cancelled = &cancelled})};
  MemoryProblem problems[] = {planted_problem({.buffers = 3000, .seed = 1}),
                              random_problem(80, 7, {.gaps = true, .parts = true}, 1000, 30)};
  // No plan of these reaches its bound soon.
  for (MemoryProblem& p : problems)
    for (Interval& i : p.intervals) i.alignment = 1;
  for (const Stop& stop : stops)
    for (const MemoryProblem& p : problems) {
      const auto begin = Clock::now();
      const PlanAnswer answer = plan_auto(p, {.seconds = 60, .stop = &stop});
      EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
      EXPECT_TRUE(validate(p, answer.plan).ok());
    }
}

}  // namespace
}  // namespace quern
