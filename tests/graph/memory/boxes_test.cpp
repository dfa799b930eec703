// SPDX-License-Identifier: Apache-2.0
// Boxes: whatever is joined, a plan of the boxes is a plan of the buffers.
#include "graph/memory/packing/boxes.h"

#include <gtest/gtest.h>

#include "graph/memory/problem/planted.h"
#include "graph/memory/strategies.h"
#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

constexpr Joining every_joining[] = {Joining::in_time, Joining::matching, Joining::all,
                                     Joining::filling};

TEST(Boxes, PlansOfBoxesArePlansOfBuffers) {
  std::size_t joined = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const MemoryProblem p = random_problem(2 + seed % 40, seed,
                                           {.alignments = seed % 2 != 0,
                                            .gaps = seed % 3 == 0,
                                            .parts = seed % 6 == 0,
                                            .zeros = seed % 5 == 0,
                                            .fixed = seed % 7 == 0},
                                           3 + seed % 5);
    if (!check(p).ok()) continue;
    for (const Joining joining : every_joining) {
      const Boxes boxes = boxes_of(p, joining);
      ASSERT_TRUE(check(boxes.problem).ok()) << "seed " << seed;
      const MemoryPlan plan = unpacked(p, boxes, plan_greedy_by_size(boxes.problem, {}).plan);
      const Status status = validate(p, plan);
      ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
      joined += p.intervals.size() - boxes.problem.intervals.size();
    }
  }
  EXPECT_GT(joined, 1000U);
}

TEST(Boxes, JoinWhatFitsEndToEnd) {
  const MemoryProblem p{{interval(0, 2, 8), interval(2, 5, 8), interval(5, 6, 8)}};
  const Boxes boxes = boxes_of(p, Joining::in_time);
  ASSERT_EQ(boxes.problem.intervals.size(), 1U);
  EXPECT_EQ(boxes.problem.intervals[0].first, 0);
  EXPECT_EQ(boxes.problem.intervals[0].end, 6);
  EXPECT_EQ(boxes.problem.intervals[0].size, 8U);
}

TEST(Boxes, DoNotChooseBetweenPartners) {
  const MemoryProblem p{{interval(0, 2, 8), interval(2, 5, 8), interval(2, 4, 8)}};
  EXPECT_EQ(boxes_of(p, Joining::in_time).problem.intervals.size(), 3U);
}

TEST(Boxes, StackWhatThenHasAPartner) {
  const MemoryProblem p{
      {interval(0, 2, 3), interval(0, 2, 5), interval(0, 2, 4), interval(2, 5, 8)}};
  const Boxes boxes = boxes_of(p, Joining::matching);
  EXPECT_EQ(boxes.problem.intervals.size(), 2U);
  EXPECT_EQ(boxes.box[0], boxes.box[1]);
  EXPECT_EQ(boxes.box[0], boxes.box[3]);
  EXPECT_NE(boxes.box[0], boxes.box[2]);
}

// A buffer that is stacked on another one keeps its alignment.
TEST(Boxes, PadBetweenWhatIsStacked) {
  const MemoryProblem p{{interval(0, 2, 100, 64), interval(0, 2, 60, 64)}};
  const Boxes boxes = boxes_of(p, Joining::all);
  ASSERT_EQ(boxes.problem.intervals.size(), 1U);
  const MemoryPlan plan = unpacked(p, boxes, {{0}, boxes.problem.intervals[0].size});
  EXPECT_TRUE(validate(p, plan).ok());
}

// The pause has room for eight bytes more, for nine it has not.
TEST(Boxes, JoinAcrossAPauseWithRoomToSpare) {
  for (const std::uint64_t size : {8, 9}) {
    const MemoryProblem p{
        {interval(0, 2, size), interval(4, 6, size), interval(2, 4, 12), interval(7, 8, 20)}};
    const Boxes boxes = boxes_of(p, Joining::filling);
    EXPECT_EQ(boxes.box[0] == boxes.box[1], size == 8) << size;
  }
}

// A rectangle is put together again piece by piece.
TEST(Boxes, UndoTheCutsOfARectangle) {
  std::size_t whole = 0;
  for (unsigned seed = 0; seed < 10; ++seed)
    whole += boxes_of(planted_problem({.buffers = 100, .seed = seed}), Joining::all)
                         .problem.intervals.size() == 1
                 ? 1
                 : 0;
  EXPECT_GT(whole, 5U);
}

// Times as far apart as their type allows.
TEST(Boxes, TakeTheLongestLives) {
  constexpr std::int64_t first = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
  const MemoryProblem p{{interval(first, end, 8), interval(first, end, 8), interval(first, 0, 8),
                         interval(first, -5, 8), interval(5, end, 8)}};
  for (const Joining joining : every_joining) {
    const Boxes boxes = boxes_of(p, joining);
    EXPECT_TRUE(validate(p, unpacked(p, boxes, plan_greedy_by_size(boxes.problem, {}).plan)).ok());
  }
}

}  // namespace
}  // namespace quern
