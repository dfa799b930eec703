// SPDX-License-Identifier: Apache-2.0
// These tests check the results and proofs of the search over pairs against every placement there
// is, for buffers that are only partly live at times.
#include "graph/memory/packing/by_pairs.h"

#include <gtest/gtest.h>

#include "graph/memory/strategies.h"
#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

// The least size at which some offsets, tried one by one, pass validate().
class EveryOffset {
 public:
  explicit EveryOffset(const MemoryProblem& p) : p_(p) { plan_.offsets.resize(p.intervals.size()); }

  std::uint64_t smallest() {
    for (plan_.size = lower_bound(p_);; ++plan_.size)
      if (place(0)) return plan_.size;
  }

 private:
  bool place(std::size_t i) {
    if (i == p_.intervals.size()) return validate(p_, plan_).ok();
    const Interval& b = p_.intervals[i];
    for (std::uint64_t at = 0; at + b.size <= plan_.size; at += b.alignment) {
      if (b.fixed_offset && *b.fixed_offset != at) continue;
      plan_.offsets[i] = at;
      if (!meets(i) && place(i + 1)) return true;
    }
    return false;
  }

  // Whether it overlaps one of those before it, which validate() says.
  bool meets(std::size_t i) const {
    MemoryProblem few{{p_.intervals.begin(), p_.intervals.begin() + static_cast<long>(i) + 1}};
    MemoryPlan some{{plan_.offsets.begin(), plan_.offsets.begin() + static_cast<long>(i) + 1},
                    plan_.size};
    return !validate(few, some).ok();
  }

  const MemoryProblem& p_;
  MemoryPlan plan_;
};

MemoryProblem problem_in_parts(unsigned seed) {
  MemoryProblem p = random_problem(
      2 + seed % 4, seed,
      {.alignments = seed % 4 == 1, .gaps = true, .parts = true, .zeros = seed % 5 == 0}, 6, 4);
  // A second gap, so that two buffers can be allowed to lie inside of each other.
  Random random(seed + 1);
  for (Interval& i : p.intervals)
    if (i.end - i.first >= 3 && i.size >= 2 && i.gaps.empty() && !i.must_be_zero) {
      add_gap(i, random, true);
      const Gap& g = i.gaps.back();
      if (g.end + 1 < i.end) i.gaps.push_back({g.end, g.end + 1, 0, 1});
    }
  return p;
}

MemoryPlan sum_of(const MemoryProblem& p) {
  return plan_none(p, {}).plan;
}

PlanAnswer searched(const MemoryProblem& p, std::uint64_t capacity, const PlanLimits& limits) {
  SearchEnds ends(limits);
  const auto search = make_pair_search(p, sum_of(p), capacity, ends);
  while (search->round(any_capacity)) {
  }
  return search->answer();
}

TEST(ByPairs, FindsAndProvesTheOptimum) {
  std::size_t above_bound = 0;
  std::size_t with_parts = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    const MemoryProblem p = problem_in_parts(seed);
    if (!check(p).ok()) continue;
    const std::uint64_t optimum = EveryOffset(p).smallest();
    const PlanAnswer answer = searched(p, any_capacity, {.seconds = 60});
    ASSERT_EQ(answer.plan.size, optimum) << "seed " << seed;
    ASSERT_EQ(answer.bound, optimum) << "seed " << seed;
    ASSERT_TRUE(validate(p, answer.plan).ok()) << "seed " << seed;
    above_bound += optimum > lower_bound(p) ? 1 : 0;
    with_parts += std::ranges::any_of(p.intervals, has_parts) ? 1 : 0;
  }
  EXPECT_GT(above_bound, 100U);
  EXPECT_GT(with_parts, 700U);
}

TEST(ByPairs, AnswersForACapacity) {
  for (unsigned seed = 2000; seed < 2400; ++seed) {
    const MemoryProblem p = problem_in_parts(seed);
    if (!check(p).ok()) continue;
    const std::uint64_t optimum = EveryOffset(p).smallest();
    const PlanAnswer at = searched(p, optimum, {.seconds = 60});
    ASSERT_LE(at.plan.size, optimum) << "seed " << seed;
    ASSERT_TRUE(validate(p, at.plan).ok()) << "seed " << seed;
    if (optimum == 0) continue;
    const PlanAnswer below = searched(p, optimum - 1, {.seconds = 60});
    ASSERT_EQ(status_of(below, optimum - 1), PlanStatus::infeasible) << "seed " << seed;
    ASSERT_LE(below.bound, optimum) << "seed " << seed;
  }
}

TEST(ByPairs, KeepsFixedOffsets) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const MemoryProblem p =
        random_problem(8, seed, {.alignments = true, .gaps = true, .parts = true, .fixed = true});
    if (!check(p).ok()) continue;
    const PlanAnswer answer = searched(p, any_capacity, {.seconds = 60, .steps = 20000});
    ASSERT_TRUE(validate(p, answer.plan).ok()) << "seed " << seed;
    ASSERT_GE(answer.plan.size, answer.bound) << "seed " << seed;
  }
}

// Results that Concat and Pad write in place, one block after the other: the bound cannot be met,
// because each block wants its neighbour on the other side.
MemoryProblem blocks(std::int64_t count) {
  MemoryProblem p;
  p.intervals = {interval(0, 2, 8960, 64), interval(1, 3, 16000, 64)};
  for (std::int64_t t = 2; t < 2 + 5 * count; t += 5) {
    Interval whole = interval(t, t + 4, 17920, 64);
    whole.gaps = {{t, t + 1, 9728, 17920}, {t + 3, t + 4, 9728, 17920}};
    p.intervals.push_back(std::move(whole));
    p.intervals.push_back(interval(t + 2, t + 5, 8192, 64));
    p.intervals.push_back(interval(t + 4, t + 6, 16000, 64));
    p.intervals.push_back(interval(t + 4, t + 5, 1152, 64));
  }
  return p;
}

TEST(ByPairs, ProvesWhatIsAboveTheBound) {
  for (const std::int64_t count : {2, 4, 12}) {
    const MemoryProblem p = blocks(count);
    ASSERT_TRUE(check(p).ok());
    const PlanAnswer answer = plan_auto(p, {.seconds = 60, .steps = 20000});
    EXPECT_EQ(lower_bound(p), 26112U);
    EXPECT_EQ(answer.plan.size, 32384U) << count << " blocks";
    EXPECT_EQ(status_of(answer), PlanStatus::optimal) << count << " blocks";
  }
}

TEST(ByPairs, StopsAtItsSteps) {
  const MemoryProblem p = random_problem(60, 7, {.gaps = true, .parts = true}, 1000, 30);
  for (const std::uint64_t steps : {1U, 500U, 3000U}) {
    SearchEnds ends({.seconds = 60, .steps = steps});
    const auto search = make_pair_search(p, sum_of(p), any_capacity, ends);
    while (search->round(any_capacity)) {
    }
    EXPECT_GT(ends.steps, -10) << steps;
    const PlanAnswer again = searched(p, any_capacity, {.seconds = 60, .steps = steps});
    EXPECT_EQ(search->answer().plan, again.plan);
    EXPECT_TRUE(validate(p, again.plan).ok());
  }
}

// More pairs than it looks at.
TEST(ByPairs, LeavesLargeProblemsAlone) {
  MemoryProblem p;
  for (int i = 0; i < 200; ++i) p.intervals.push_back(interval(0, 3, 64, 64));
  SearchEnds ends({.seconds = 60});
  const auto search = make_pair_search(p, sum_of(p), any_capacity, ends);
  EXPECT_FALSE(search->round(any_capacity));
  EXPECT_EQ(search->answer().bound, lower_bound(p));
}

}  // namespace
}  // namespace quern
