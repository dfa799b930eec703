// SPDX-License-Identifier: Apache-2.0
// The search in order of time, above all where parts of buffers lend their memory.
#include "graph/memory/packing/by_time.h"

#include <gtest/gtest.h>

#include "graph/memory/strategies.h"
#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

TEST(ByTime, WhatItFindsFits) {
  std::size_t there = 0;
  std::size_t found = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const MemoryProblem p = random_problem(2 + seed % 16, seed,
                                           {.alignments = seed % 2 != 0,
                                            .gaps = true,
                                            .parts = true,
                                            .zeros = seed % 5 == 0,
                                            .fixed = seed % 7 == 0});
    if (!check(p).ok()) continue;
    there += plan_annealing(p, {.seconds = 60, .steps = 300}).plan.size == lower_bound(p) ? 1 : 0;
    SearchEnds ends({.seconds = 60, .steps = 10000});
    const auto plan = fit_by_time(p, lower_bound(p), ends);
    if (!plan) continue;
    ++found;
    const Status status = validate(p, *plan);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
    ASSERT_LE(plan->size, lower_bound(p)) << "seed " << seed;
  }
  EXPECT_GT(there, 200U);
  EXPECT_GT(found * 100, there * 90);
}

// Blocks of a program one after the other, as Concat makes them: a result of which the lower part
// comes later and goes earlier than the upper. Lists miss the bound, the default does not.
TEST(ByTime, FillsGapsOfParts) {
  MemoryProblem p;
  for (std::int64_t block = 0; block < 12; ++block) {
    const std::int64_t t = 7 * block;
    Interval whole = interval(t + 2, t + 7, 17920, 64);
    whole.gaps = {{t + 2, t + 3, 9728, 17920}, {t + 5, t + 7, 9728, 17920}};
    p.intervals.push_back(std::move(whole));
    p.intervals.push_back(interval(t + 4, t + 6, 17920, 64));
    p.intervals.push_back(interval(t + 6, t + 8, 8192, 64));
    p.intervals.push_back(interval(t + 5, t + 9, 8192, 64));
    p.intervals.push_back(interval(t + 8, t + 10, 16000, 64));
    p.intervals.push_back(interval(t + 5, t + 6, 2688, 64));
    p.intervals.push_back(interval(t + 8, t + 9, 17664, 64));
  }
  ASSERT_TRUE(check(p).ok());
  EXPECT_GT(plan_greedy_by_size(p, {}).plan.size, lower_bound(p));
  const PlanAnswer answer = plan_auto(p, {.seconds = 60, .steps = 20000});
  EXPECT_EQ(status_of(answer), PlanStatus::optimal);
  EXPECT_TRUE(validate(p, answer.plan).ok());
}

TEST(ByTime, FindsNothingBelowTheBound) {
  const MemoryProblem p = random_problem(10, 3);
  SearchEnds ends({.seconds = 60});
  EXPECT_FALSE(fit_by_time(p, lower_bound(p) - 1, ends));
}

}  // namespace
}  // namespace quern
