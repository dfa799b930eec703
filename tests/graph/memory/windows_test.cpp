// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/packing/windows.h"

#include <gtest/gtest.h>

#include "graph/memory/order/orders.h"
#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

// Cells of one random wiring, some in a row; each is used by the next.
MemoryProblem cells_problem(std::size_t buffers, unsigned seed) {
  Random random(seed);
  MemoryProblem p;
  std::int64_t now = 0;
  while (p.intervals.size() < buffers) {
    const std::int64_t length = 15 + static_cast<std::int64_t>(random.below(15));
    const std::uint64_t unit = std::uint64_t{1 << 20} >> random.below(3);
    std::vector<std::pair<std::int64_t, std::uint64_t>> wiring;  // life and size
    for (std::int64_t i = 0; i < length; ++i)
      wiring.emplace_back(2 + random.below(random.one_in(2) ? 3 : 20),
                          random.one_in(3) ? unit / 64 + random.below(unit) : unit);
    wiring.back().first = 2 * length;
    for (std::uint64_t cell = 2 + random.below(8); cell > 0; --cell)
      for (const auto& [life, size] : wiring) {
        p.intervals.push_back(interval(now, now + life, size, 64));
        ++now;
      }
  }
  return p;
}

TEST(Windows, LowerAListsPlanToTheBoundWhereItCanBe) {
  const MemoryProblem p = cells_problem(6000, 1);
  Placer placer(p);
  const MemoryPlan list = placer.place(by_start(p), Fit::lowest);
  const std::uint64_t target = placer.bound() + placer.bound() / 100;
  ASSERT_GT(list.size, target);
  SearchEnds ends({.seconds = 60, .steps = 1000000});
  const MemoryPlan plan = lowered(p, list, target, ends);
  const Status status = validate(p, plan);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_LT(plan.size, list.size);
}

TEST(Windows, KeepPlansValidWhateverTheProblem) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const bool rich = seed % 2 != 0;
    const MemoryProblem p = random_problem(40, seed,
                                           {.alignments = rich,
                                            .gaps = seed % 3 != 0,
                                            .parts = seed % 6 == 1,
                                            .zeros = seed % 5 == 0,
                                            .fixed = seed % 7 == 0},
                                           40, 30);
    if (!check(p).ok()) continue;
    Placer placer(p);
    const MemoryPlan list = placer.place(by_start(p), Fit::lowest);
    SearchEnds ends({.seconds = 60, .steps = 50000});
    const MemoryPlan plan = lowered(p, list, placer.bound(), ends);
    const Status status = validate(p, plan);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
    EXPECT_LE(plan.size, list.size);
  }
}

TEST(Windows, HelpWithManyCells) {
  const MemoryProblem p = cells_problem(24000, 2);
  const PlanAnswer answer = default_strategy().plan(p, {.seconds = 1});
  EXPECT_TRUE(validate(p, answer.plan).ok());
  EXPECT_LE(static_cast<double>(answer.plan.size), 1.01 * static_cast<double>(answer.bound));
}

}  // namespace
}  // namespace quern
