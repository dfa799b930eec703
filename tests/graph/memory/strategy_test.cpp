// SPDX-License-Identifier: Apache-2.0
// Every strategy on every kind of problem.
#include <gtest/gtest.h>

#include "graph/memory/packing/large_first.h"
#include "graph/memory/problem/planted.h"
#include "graph/memory/strategies.h"
#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

class EveryStrategy : public ::testing::TestWithParam<const Strategy*> {
 protected:
  static PlanLimits limits() { return {.seconds = 0.02, .steps = 2000}; }

  void expect_valid(const MemoryProblem& p, std::string_view what) {
    const PlanAnswer answer = GetParam()->plan(p, limits());
    const Status status = validate(p, answer.plan);
    ASSERT_TRUE(status.ok()) << what << ": " << status.message();
    ASSERT_LE(answer.bound, answer.plan.size) << what;
    ASSERT_GE(answer.bound, lower_bound(p)) << what;
    ASSERT_GE(answer.plan.size, lower_bound(p)) << what;
  }
};

TEST_P(EveryStrategy, AnswersEmptyProblems) {
  expect_valid({}, "no buffer");
  expect_valid({{interval(0, 0, 8), interval(1, 5, 0)}}, "nothing live");
  expect_valid({{interval(3, 4, 7, 64)}}, "one buffer");
}

TEST_P(EveryStrategy, AnswersRandomProblems) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const bool rich = seed % 2 != 0;
    const MemoryProblem p = random_problem(1 + seed % 24, seed,
                                           {.alignments = rich,
                                            .gaps = seed % 3 != 0,
                                            .parts = seed % 6 == 1,
                                            .zeros = seed % 5 == 0,
                                            .fixed = seed % 7 == 0});
    if (!check(p).ok()) continue;
    expect_valid(p, "seed " + std::to_string(seed));
  }
}

TEST_P(EveryStrategy, AnswersPlantedProblems) {
  for (const std::size_t n : {2, 10, 50, 200})
    expect_valid(planted_problem({.buffers = n, .seed = 7}), std::to_string(n));
}

INSTANTIATE_TEST_SUITE_P(Strategies, EveryStrategy, ::testing::ValuesIn([] {
                           std::vector<const Strategy*> all;
                           for (const Strategy& s : strategies()) all.push_back(&s);
                           return all;
                         }()),
                         [](const auto& info) {
                           std::string name(info.param->name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Strategies, AreFoundByName) {
  for (const Strategy& s : strategies()) EXPECT_EQ(find_strategy(s.name), &s);
  EXPECT_EQ(find_strategy("none of these"), nullptr);
}

// By steps, not time: the same on every machine.
TEST(Strategies, SolveMostPlantedProblems) {
  std::size_t solved = 0;
  std::size_t all = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const double drop : {0.0, 0.1, 0.2}) {
      for (const std::size_t n : {200, 400}) {
        const MemoryProblem p = planted_problem({.buffers = n, .seed = seed, .drop = drop});
        const PlanAnswer answer = default_strategy().plan(p, {.seconds = 60, .steps = 200000});
        ASSERT_TRUE(validate(p, answer.plan).ok());
        EXPECT_LE(static_cast<double>(answer.plan.size), 1.1 * 65536) << n << ":" << seed;
        solved += answer.plan.size == 65536 ? 1 : 0;
        ++all;
      }
    }
  }
  EXPECT_GE(solved * 10, all * 8);
}

// A rectangle of 25,000 pieces: what was kept back lies where the skyline has wasted memory.
TEST(Strategies, FillASkylineWithSand) {
  const MemoryProblem p = planted_problem({.buffers = 25000, .seed = 1});
  Placer placer(p);
  const auto plan = place_large_first(placer, {.share = 0.2, .by_life = true});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(validate(p, *plan).ok());
  EXPECT_LE(static_cast<double>(plan->size), 1.01 * 65536);
  EXPECT_GT(static_cast<double>(plan_skyline(p, {}).plan.size), 1.03 * 65536);
}

// So many conflicts that they are not listed: bounded time all the same.
TEST(Strategies, TakeAHundredThousandBuffersThatAreLiveAtOnce) {
  MemoryProblem p;
  for (std::int64_t i = 0; i < 100000; ++i)
    p.intervals.push_back(interval(i % 100, 100 + i % 77, 16));
  for (const std::string_view name : {"greedy-by-size", "first-fit"}) {
    const PlanAnswer answer = find_strategy(name)->plan(p, {.seconds = 0.1});
    EXPECT_TRUE(validate(p, answer.plan).ok());
    EXPECT_LE(answer.plan.size, 1600000U);
  }
}

}  // namespace
}  // namespace quern
