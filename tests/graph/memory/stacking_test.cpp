// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/offsets/stacking.h"

#include <gtest/gtest.h>

#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

TEST(Stacking, GivesValidPlans) {
  const Features features[] = {{},
                               {.alignments = true},
                               {.gaps = true},
                               {.gaps = true, .parts = true},
                               {.alignments = true, .zeros = true, .fixed = true}};
  for (const Features& f : features)
    for (unsigned seed = 0; seed < 40; ++seed) {
      const MemoryProblem p = random_problem(2 + seed, seed, f);
      const MemoryPlan plan = best_stacked(p);
      ASSERT_TRUE(validate(p, plan).ok()) << "seed " << seed << ": " << validate(p, plan).message();
      ASSERT_GE(plan.size, lower_bound(p)) << "seed " << seed;
    }
}

// A hundred thousand buffers that all live at once: five thousand million pairs, none looked at.
TEST(Stacking, ReachesTheBoundWhereAllLiveAtOnce) {
  MemoryProblem p;
  for (std::int64_t k = 0; k < 100'000; ++k) p.intervals.push_back(interval(k, 200'000, 64, 64));
  const MemoryPlan plan = best_stacked(p);
  EXPECT_EQ(plan.size, lower_bound(p));
  EXPECT_TRUE(validate(p, plan).ok());
  EXPECT_EQ(pairs_at_once(p), std::uint64_t{100'000} * 99'999 / 2);
}

TEST(Stacking, OfNothing) {
  EXPECT_EQ(best_stacked({}).size, 0U);
  EXPECT_EQ(pairs_at_once({}), 0U);
}

}  // namespace
}  // namespace quern
