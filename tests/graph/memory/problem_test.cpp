// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"
#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

using ::testing::ElementsAre;

TEST(Bound, IsTheMostThatIsLive) {
  const MemoryProblem p{{interval(0, 2, 10), interval(1, 3, 20), interval(2, 4, 5)}};
  EXPECT_EQ(lower_bound(p), 30U);
  const Peak peak = peak_of(p);
  EXPECT_EQ(peak.bytes, 30U);
  EXPECT_EQ(peak.step, 1);
  EXPECT_THAT(peak.intervals, ElementsAre(1U, 0U));
}

TEST(Bound, CountsThePaddingThatAlignmentForces) {
  // 64 + 100, in either order 128 + 64 or 64 + 100.
  EXPECT_EQ(lower_bound({{interval(0, 1, 64, 64), interval(0, 1, 100, 64)}}), 164U);
  // 100, 28 of padding, 100.
  EXPECT_EQ(lower_bound({{interval(0, 1, 100, 64), interval(0, 1, 100, 64)}}), 228U);
  EXPECT_EQ(lower_bound({{interval(0, 1, 100, 64), interval(0, 1, 100, 1)}}), 200U);
}

TEST(Bound, ReachesTheEndOfFixedBuffers) {
  MemoryProblem p{{interval(0, 1, 8), interval(3, 4, 8)}};
  p.intervals[1].fixed_offset = 100;
  EXPECT_EQ(lower_bound(p), 108U);
}

TEST(Pieces, LeaveGapsOut) {
  MemoryProblem p{{interval(0, 10, 8), interval(2, 3, 4)}};
  p.intervals[0].gaps = {{2, 4, 0, 0}, {5, 6, 0, 2}};
  EXPECT_EQ(pieces_of(p).size(), 5U);
  EXPECT_EQ(lower_bound(p), 8U);
}

TEST(Pieces, OfWhatMustBeZeroSpanTheRun) {
  MemoryProblem p{{interval(0, 10, 8), interval(2, 3, 4), interval(5, 6, 4)}};
  EXPECT_EQ(lower_bound(p), 12U);
  p.intervals[1].must_be_zero = true;
  EXPECT_EQ(lower_bound(p), 16U);
}

// The smallest of all plans whose offsets are below 24.
std::uint64_t smallest_on_grid(const MemoryProblem& p, std::uint64_t unit) {
  std::uint64_t best = any_capacity;
  MemoryPlan plan{std::vector<std::uint64_t>(p.intervals.size()), 0};
  const auto place = [&](const auto& self, std::size_t i) -> void {
    if (i == p.intervals.size()) {
      plan.size = 0;
      for (std::size_t k = 0; k < i; ++k)
        plan.size = std::max(plan.size, plan.offsets[k] + p.intervals[k].size);
      if (plan.size < best && validate(p, plan).ok()) best = plan.size;
      return;
    }
    for (plan.offsets[i] = 0; plan.offsets[i] < 24; plan.offsets[i] += unit) self(self, i + 1);
  };
  place(place, 0);
  return best;
}

// A buffer of which a part is live may begin anywhere and fill what others leave of a unit.
TEST(Bound, CountsPaddingBesidePartsOfBuffers) {
  constexpr std::uint64_t unit = 4;
  std::size_t above_peak = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    MemoryProblem p = random_problem(2 + seed % 3, seed, {.gaps = true, .parts = true}, 9, 4);
    for (Interval& i : p.intervals) i.alignment = unit;
    const std::uint64_t bound = lower_bound(p);
    ASSERT_LE(bound, smallest_on_grid(p, unit)) << "seed " << seed;
    above_peak += bound > peak_of(p).bytes ? 1 : 0;
  }
  EXPECT_GT(above_peak, 100U);
}

TEST(Check, NamesTheBuffer) {
  const auto message = [](Interval i) {
    i.name = "x";
    return std::string(check({{std::move(i)}}).message());
  };
  EXPECT_CONTAINS(message(interval(3, 2, 1)), "'x': ends at 2, before it begins at 3");
  EXPECT_CONTAINS(message(interval(0, 1, 1, 0)), "alignment 0");
  EXPECT_EQ(message(interval(0, 1, 0, std::uint64_t{1} << 60)), "");
  EXPECT_CONTAINS(message(interval(0, 1, 1, (std::uint64_t{1} << 60) + 1)), "wanted 1 to 2^60");
  EXPECT_CONTAINS(message(interval(0, 1, std::uint64_t{1} << 61)), "more than 2^60");
  Interval misplaced = interval(0, 1, 1, 8);
  misplaced.fixed_offset = 4;
  EXPECT_CONTAINS(message(misplaced), "no multiple of its alignment");
  Interval gap = interval(0, 4, 1);
  gap.gaps = {{2, 5, 0, 0}};
  EXPECT_CONTAINS(message(gap), "outside of its life");
  gap.gaps = {{1, 2, 0, 0}, {1, 3, 0, 0}};
  EXPECT_CONTAINS(message(gap), "out of order");
  gap.gaps = {{1, 2, 0, 2}};
  EXPECT_CONTAINS(message(gap), "bytes 0 to 2 of 1");
}

TEST(Check, RefusesFixedBuffersThatOverlap) {
  MemoryProblem p{{interval(0, 2, 8), interval(1, 3, 8)}};
  p.intervals[0].fixed_offset = 0;
  p.intervals[1].fixed_offset = 7;
  EXPECT_CONTAINS(check(p).message(), "overlap");
  p.intervals[1].fixed_offset = 8;
  EXPECT_TRUE(check(p).ok());
}

TEST(Validate, SeesEveryFault) {
  const MemoryProblem p{{interval(0, 2, 8, 4), interval(1, 3, 8, 4)}};
  EXPECT_TRUE(validate(p, {{0, 8}, 16}).ok());
  EXPECT_CONTAINS(validate(p, {{0, 4}, 16}).message(), "overlap");
  EXPECT_CONTAINS(validate(p, {{0, 0}, 16}).message(), "overlap");
  EXPECT_CONTAINS(validate(p, {{0, 10}, 18}).message(), "misaligned");
  EXPECT_CONTAINS(validate(p, {{0, 8}, 15}).message(), "ends outside");
  EXPECT_CONTAINS(validate(p, {{0}, 16}).message(), "number of offsets");
  MemoryProblem fixed = p;
  fixed.intervals[1].fixed_offset = 12;
  EXPECT_CONTAINS(validate(fixed, {{0, 8}, 20}).message(), "not at its fixed offset 12");
}

TEST(Validate, LetsOthersIntoGaps) {
  MemoryProblem p{{interval(0, 3, 8), interval(1, 2, 4)}};
  EXPECT_FALSE(validate(p, {{0, 0}, 8}).ok());
  p.intervals[0].gaps = {{1, 2, 0, 0}};
  EXPECT_TRUE(validate(p, {{0, 0}, 8}).ok());
  p.intervals[0].gaps = {{1, 2, 4, 8}};
  EXPECT_TRUE(validate(p, {{0, 0}, 8}).ok());
  EXPECT_FALSE(validate(p, {{0, 4}, 8}).ok());
}

// Against every pair of buffers and every step and byte.
bool overlaps(const MemoryProblem& p, const MemoryPlan& plan) {
  const std::vector<Piece> pieces = pieces_of(p);
  for (const Piece& a : pieces)
    for (const Piece& b : pieces)
      if (a.interval != b.interval && a.first < b.end && b.first < a.end &&
          plan.offsets[a.interval] + a.from < plan.offsets[b.interval] + b.to &&
          plan.offsets[b.interval] + b.from < plan.offsets[a.interval] + a.to)
        return true;
  return false;
}

TEST(Validate, AgreesWithEveryPair) {
  std::size_t valid = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    const MemoryProblem p =
        random_problem(2 + seed % 4, seed, {.gaps = true, .parts = true, .zeros = seed % 3 == 0});
    Random random(seed);
    MemoryPlan plan{{}, 64};
    for (std::size_t i = 0; i < p.intervals.size(); ++i) plan.offsets.push_back(random.below(40));
    ASSERT_EQ(validate(p, plan).ok(), !overlaps(p, plan)) << "seed " << seed;
    valid += overlaps(p, plan) ? 0 : 1;
  }
  EXPECT_GT(valid, 500U);
  EXPECT_LT(valid, 3500U);
}

TEST(Answer, HasAStatus) {
  const auto status = [](std::uint64_t size, std::uint64_t bound, std::uint64_t capacity) {
    return status_of({{{}, size}, bound}, capacity);
  };
  EXPECT_EQ(status(10, 10, any_capacity), PlanStatus::optimal);
  EXPECT_EQ(status(11, 10, any_capacity), PlanStatus::feasible);
  EXPECT_EQ(status(11, 10, 10), PlanStatus::unknown);
  EXPECT_EQ(status(11, 10, 9), PlanStatus::infeasible);
}

}  // namespace
}  // namespace quern
