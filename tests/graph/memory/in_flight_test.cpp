// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/in_flight.h"

#include <map>

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
  EXPECT_EQ(lower_bound(two.problem), 110U);
}

// Live bytes of the runs played one step after the other for three periods, counted in the second.
std::uint64_t played(const MemoryProblem& p, const InFlight& f, std::size_t runs) {
  std::map<std::int64_t, std::uint64_t> live;
  std::int64_t first = 1000;
  for (const Interval& i : p.intervals) first = std::min(first, i.first < i.end ? i.first : 1000);
  for (std::int64_t turn = 0; turn < 4; ++turn)
    for (std::size_t run = 0; run < runs; ++run)
      for (const Piece& piece : pieces_of(p))
        for (std::int64_t t = piece.first; t < piece.end; ++t)
          live[t - first + turn * f.period + static_cast<std::int64_t>(run) * f.lag % f.period] +=
              piece.to - piece.from;
  std::uint64_t most = 0;
  for (std::int64_t t = 2 * f.period; t < 3 * f.period; ++t) most = std::max(most, live[t]);
  return most;
}

TEST(InFlight, BoundsWhatRunsInTurnHaveLive) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const MemoryProblem p =
        random_problem(1 + seed % 12, seed, {.gaps = seed % 3 == 0, .parts = seed % 2 == 0});
    const std::size_t runs = 2 + seed % 3;
    const InFlight f = in_flight(p, runs);
    ASSERT_TRUE(check(f.problem).ok()) << check(f.problem).message();
    ASSERT_EQ(f.problem.intervals.size(), runs * p.intervals.size());
    ASSERT_EQ(peak_of(f.problem).bytes, played(p, f, runs)) << "seed " << seed;
    ASSERT_LE(peak_of(f.problem).bytes, runs * peak_of(p).bytes);
    const PlanAnswer answer = default_strategy().plan(f.problem, {.steps = 1000});
    ASSERT_TRUE(validate(f.problem, answer.plan).ok());
  }
}

TEST(InFlight, OfNothing) {
  EXPECT_TRUE(in_flight({}, 2).problem.intervals.empty());
}

}  // namespace
}  // namespace quern
