// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/peaks.h"

#include <gtest/gtest.h>

#include "graph/memory/strategies.h"
#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

// A chain whose load comes near to the most in few places.
MemoryProblem chain_problem(std::size_t buffers, unsigned seed) {
  constexpr std::uint64_t sizes[] = {32000, 320, 320000, 512, 64000, 128000, 960000, 64};
  Random random(seed);
  MemoryProblem p;
  for (std::size_t n = 0; n < buffers; ++n) {
    std::uint64_t life = 2 + random.below(5);
    if (random.one_in(30)) life += random.below(60);
    if (random.one_in(500)) life += random.below(buffers / 15);
    const auto first = static_cast<std::int64_t>(n);
    p.intervals.push_back(
        interval(first, first + static_cast<std::int64_t>(life), sizes[random.below(8)], 64));
  }
  return p;
}

MemoryPlan exactly(const MemoryProblem& p) {
  return plan_auto(p, {any_capacity, 10, 100'000}).plan;
}

TEST(PeakSearch, PlansAChainFromItsPeaks) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const MemoryProblem p = chain_problem(8000, seed);
    PeakSearch search(p);
    std::uint64_t best = any_capacity;
    int attempts = 0;
    while (const std::optional<MemoryPlan> plan = search.attempt(exactly)) {
      ASSERT_TRUE(validate(p, *plan).ok()) << validate(p, *plan).message();
      best = std::min(best, plan->size);
      ASSERT_LT(++attempts, 20);
    }
    EXPECT_EQ(best, lower_bound(p)) << "seed " << seed;
  }
}

TEST(PeakSearch, GivesValidPlansOfAnything) {
  const Features all{.alignments = true, .gaps = true, .parts = true, .zeros = true, .fixed = true};
  for (unsigned seed = 0; seed < 200; ++seed) {
    const MemoryProblem p = random_problem(seed % 40, seed, all);
    PeakSearch search(p);
    while (const std::optional<MemoryPlan> plan = search.attempt(exactly))
      ASSERT_TRUE(validate(p, *plan).ok()) << seed << ": " << validate(p, *plan).message();
  }
}

// One peak of all buffers is no smaller problem.
TEST(PeakSearch, EndsWhereTooManyAreLiveAtPeaks) {
  MemoryProblem p;
  for (int n = 0; n < 6000; ++n) p.intervals.push_back(interval(n / 3000, n / 3000 + 1, 10));
  int calls = 0;
  PeakSearch search(p);
  EXPECT_FALSE(search.attempt([&](const MemoryProblem& peaks) {
    ++calls;
    return exactly(peaks);
  }));
  EXPECT_EQ(calls, 0);
}

// Fewer buffers that could not be planned well end it, too.
TEST(PeakSearch, EndsWhereAPlanOfThePeaksIsFarFromTheBound) {
  const MemoryProblem p = chain_problem(2000, 1);
  PeakSearch search(p);
  const auto badly = [&](const MemoryProblem& peaks) {
    MemoryPlan plan = exactly(peaks);
    for (std::uint64_t& offset : plan.offsets) offset += 1 << 20;
    plan.size += 1 << 20;
    return plan;
  };
  EXPECT_TRUE(search.attempt(badly).has_value());
  EXPECT_FALSE(search.attempt(badly).has_value());
}

}  // namespace
}  // namespace quern
