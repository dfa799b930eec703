// SPDX-License-Identifier: Apache-2.0
// Very many buffers of short lives: packings by sections.
#include "graph/memory/packing/packing_search.h"

#include <gtest/gtest.h>

#include "graph/memory/offsets/gap_packing.h"
#include "graph/memory/strategies.h"
#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

// All of the capacity is live in each of the steps; most buffers live for one or two of them.
MemoryProblem full_problem(std::int64_t steps, std::uint64_t capacity, std::uint64_t unit,
                           unsigned seed) {
  Random random(seed);
  MemoryProblem p;
  std::vector<std::uint64_t> ending(static_cast<std::size_t>(steps) + 64);
  ending[0] = capacity;
  for (std::int64_t now = 0; now < steps; ++now) {
    std::uint64_t free = ending[static_cast<std::size_t>(now)];
    while (free > 0) {
      const std::uint64_t size = std::min(free, unit * (1 + random.below(500)));
      const std::uint64_t life = random.one_in(6) ? 1 + random.below(40) : 1 + random.below(2);
      const std::int64_t end = std::min(steps, now + static_cast<std::int64_t>(life));
      p.intervals.push_back(interval(now, end, size, unit));
      ending[static_cast<std::size_t>(end)] += size;
      free -= size;
    }
  }
  return p;
}

double over_bound(const MemoryProblem& p, const MemoryPlan& plan) {
  return static_cast<double>(plan.size) / static_cast<double>(lower_bound(p));
}

// The best of some attempts.
MemoryPlan packed(const MemoryProblem& p, int attempts) {
  PackingSearch search(p);
  MemoryPlan best{{}, any_capacity};
  for (int k = 0; k < attempts; ++k) {
    std::optional<MemoryPlan> plan = search.attempt(best.size, nullptr);
    EXPECT_TRUE(plan.has_value());
    if (plan && plan->size < best.size) best = *std::move(plan);
  }
  return best;
}

TEST(Arrivals, KnowWhatFits) {
  const Arrivals arrivals({{5, 9, 0}, {3, 7, 1}, {8, 9, 2}, {3, 9, 3}});
  ASSERT_EQ(arrivals.ends().size(), 2U);
  EXPECT_EQ(arrivals.ends()[0], 7U);
  EXPECT_EQ(arrivals.count_up_to(2), 0U);
  EXPECT_EQ(arrivals.count_up_to(3), 2U);
  EXPECT_EQ(arrivals.count_up_to(8), 4U);
  EXPECT_EQ(arrivals.pairs().size(), 6U);
  EXPECT_EQ(arrivals.count_pairs_up_to(5), 0U);
  EXPECT_EQ(arrivals.count_pairs_up_to(6), 1U);
  EXPECT_EQ(arrivals.count_pairs_up_to(8), 3U);
}

TEST(GapPacker, FillsGapsToTheLastByte) {
  // Two gaps, of 10 and of 12 bytes: 7 + 3, and 8 + 4.
  Packing packing;
  packing.live = {{0, 5, 9}, {15, 20, 9}, {32, 40, 9}};
  GapPacker packer(40, 5, 1000);
  packer.pack(packing, Arrivals({{8, 4, 0}, {7, 4, 1}, {4, 4, 2}, {3, 4, 3}}), 2);
  EXPECT_EQ(packing.excess, 0U);
  EXPECT_EQ(packing.size, 32U);
  EXPECT_EQ(packing.placed.size(), 4U);
}

TEST(GapPacker, CountsWhatItFindsNoGapFor) {
  Packing packing;
  packing.live = {{0, 5, 9}, {8, 20, 9}};
  GapPacker packer(20, 5, 1000);
  packer.pack(packing, Arrivals({{4, 4, 0}, {3, 4, 1}}), 2);
  EXPECT_EQ(packing.excess, 4U);
  EXPECT_EQ(packing.size, 24U);
  // Buffers that have ended free their places, so there is a gap at the bottom.
  packer.pack(packing, Arrivals({{5, 12, 2}}), 9);
  EXPECT_EQ(packing.placed.back().offset, 0U);
  EXPECT_EQ(packing.excess, 4U);
}

TEST(PackingSearch, PacksWithinAHundredthOfTheBound) {
  for (const std::uint64_t unit : {1, 64}) {
    const MemoryProblem p = full_problem(80, 65536 * unit, unit, 3);
    const MemoryPlan plan = packed(p, 4);
    EXPECT_TRUE(validate(p, plan).ok()) << validate(p, plan).message();
    EXPECT_LE(over_bound(p, plan), 1.01) << p.intervals.size() << " buffers";
    EXPECT_EQ(plan, packed(p, 4));
  }
}

// Where only one section is full, plans that grow from there in both directions are the best.
TEST(PackingSearch, ReachesTheBoundOfASingleFullSection) {
  MemoryProblem p = full_problem(80, 65536, 1, 5);
  Random random(1);
  std::erase_if(p.intervals, [&](const Interval& i) {
    return !(i.first <= 40 && 40 < i.end) && random.one_in(5);
  });
  const MemoryPlan plan = packed(p, 6);
  EXPECT_TRUE(validate(p, plan).ok()) << validate(p, plan).message();
  EXPECT_LE(over_bound(p, plan), 1.001);
}

TEST(PackingSearch, GivesValidPlansOfAnything) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const MemoryProblem p = random_problem(1 + seed % 60, seed, {.gaps = true, .zeros = true}, 200);
    PackingSearch search(p);
    if (!search.suits()) continue;
    std::uint64_t best = any_capacity;
    for (int k = 0; k < 5; ++k) {
      const std::optional<MemoryPlan> plan = search.attempt(best, nullptr);
      ASSERT_TRUE(plan.has_value());
      ASSERT_TRUE(validate(p, *plan).ok()) << seed << ": " << validate(p, *plan).message();
      best = std::min(best, plan->size);
    }
  }
}

TEST(PackingSearch, LeavesWhatIsFixedOrAlignedOtherwiseToOthers) {
  MemoryProblem p = full_problem(10, 65536, 1, 1);
  EXPECT_TRUE(PackingSearch(p).suits());
  p.intervals[0].alignment = 64;
  EXPECT_FALSE(PackingSearch(p).suits());
  p.intervals[0].alignment = 1;
  p.intervals[0].fixed_offset = 0;
  EXPECT_FALSE(PackingSearch(p).suits());
  EXPECT_FALSE(PackingSearch({}).suits());
}

TEST(PackingSearch, StopsWhenTimeIsOver) {
  const MemoryProblem p = full_problem(80, 65536, 1, 3);
  PackingSearch search(p);
  const SearchEnds ends({.seconds = 0});
  EXPECT_FALSE(search.attempt(any_capacity, &ends).has_value());
}

TEST(PlanAuto, IsWithinAHundredthForMoreThanTwentyThousand) {
  const MemoryProblem p = full_problem(360, 65536, 1, 7);
  ASSERT_GT(p.intervals.size(), 20000U);
  const PlanAnswer answer = plan_auto(p, {.seconds = 0.1});
  EXPECT_TRUE(validate(p, answer.plan).ok());
  EXPECT_LE(over_bound(p, answer.plan), 1.01);
}

}  // namespace
}  // namespace quern
