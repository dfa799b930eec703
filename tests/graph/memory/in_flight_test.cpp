// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/in_flight.h"

#include <gtest/gtest.h>

#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

// A large buffer in the first half, a small one in the second: two runs, half a period apart, need
// one of each.
TEST(InFlight, PutsTheLargeBesideTheSmall) {
  const MemoryProblem p{{interval(0, 5, 100), interval(5, 10, 10)}};
  const InFlight two = in_flight(p, 2);
  EXPECT_EQ(two.period, 10);
  EXPECT_EQ(two.lag, 5);
  ASSERT_EQ(two.problem.intervals.size(), 4U);
  ASSERT_TRUE(check(two.problem).ok());
  EXPECT_LE(lower_bound(two.problem), 110U);
}

// A buffer that is live in only one step is never live in two runs at the same time.
TEST(InFlight, TakesTurns) {
  const MemoryProblem p{{interval(0, 1, 100), interval(1, 2, 100), interval(0, 2, 7)}};
  EXPECT_LE(lower_bound(in_flight(p, 2).problem), 107U);
  EXPECT_LE(lower_bound(in_flight(p, 3).problem), 114U);
}

// Live bytes of the runs, played turn by turn for four rounds, counted in the third. A run that
// waits holds what is live in the steps before and after.
std::uint64_t played(const MemoryProblem& p, const InFlight& f, std::size_t runs) {
  const std::vector<Piece> pieces = pieces_of(p);
  std::int64_t first = 1000;
  for (const Interval& i : p.intervals)
    if (i.first < i.end) first = std::min(first, i.first);
  const auto live = [&](const Piece& piece, std::int64_t step) {
    return piece.first - first <= step && step < piece.end - first;
  };
  std::vector<std::int64_t> next(runs);
  for (std::size_t run = 0; run < runs; ++run)
    next[run] = static_cast<std::int64_t>(run) * f.lag % f.period;
  std::uint64_t most = 0;
  for (int round = 0; round < 2; ++round)
    for (const std::uint32_t turn : f.turns) {
      std::uint64_t bytes = 0;
      for (std::uint32_t run = 0; run < runs; ++run)
        for (const Piece& piece : pieces) {
          const bool in_use = live(piece, next[run]) && (run == turn || live(piece, next[run] - 1));
          bytes += in_use ? piece.to - piece.from : 0;
        }
      most = std::max(most, bytes);
      next[turn] = (next[turn] + 1) % f.period;
    }
  return most;
}

TEST(InFlight, BoundsWhatRunsInTurnHaveLive) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const MemoryProblem p = random_problem(1 + seed % 12, seed, {.gaps = seed % 3 == 0});
    const std::size_t runs = 2 + seed % 3;
    const InFlight f = in_flight(p, runs);
    ASSERT_TRUE(check(f.problem).ok()) << check(f.problem).message();
    ASSERT_EQ(f.problem.intervals.size(), runs * p.intervals.size());
    ASSERT_EQ(peak_of(f.problem).bytes, played(p, f, runs)) << "seed " << seed;
    ASSERT_LE(peak_of(f.problem).bytes, runs * peak_of(p).bytes);
    const MemoryProblem parts = random_problem(8, seed, {.gaps = true, .parts = true});
    const Status status = check(in_flight(parts, runs).problem);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
    const PlanAnswer answer = default_strategy().plan(f.problem, {.steps = 1000});
    ASSERT_TRUE(validate(f.problem, answer.plan).ok());
  }
}

// One place holds one run's buffer at a time: those of the other runs lie elsewhere.
TEST(InFlight, OnlyTheFirstRunHasAFixedPlace) {
  MemoryProblem p{{interval(0, 4, 128), interval(0, 4, 64)}};
  p.intervals[0].fixed_offset = 256;
  const MemoryProblem two = in_flight(p, 2).problem;
  ASSERT_EQ(two.intervals.size(), 4U);
  EXPECT_EQ(two.intervals[0].fixed_offset, 256U);
  EXPECT_EQ(two.intervals[2].fixed_offset, std::nullopt);
  ASSERT_TRUE(check(two).ok()) << check(two).message();
  const MemoryPlan plan = default_strategy().plan(two, {.steps = 1000}).plan;
  EXPECT_TRUE(validate(two, plan).ok());
}

TEST(InFlight, OfNothing) {
  EXPECT_TRUE(in_flight({}, 2).problem.intervals.empty());
}

}  // namespace
}  // namespace quern
