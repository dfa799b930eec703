// SPDX-License-Identifier: Apache-2.0
// Many buffers: what fits where, plans by valleys, and how near to the bound they are.
#include "graph/memory/packing/valleys.h"

#include <cmath>
#include <ctime>

#include <gtest/gtest.h>

#include "graph/memory/problem/lives.h"
#include "graph/memory/problem/planted.h"
#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Lives and sizes with heavy tails.
MemoryProblem uneven_problem(std::size_t buffers, unsigned seed, std::uint64_t steps) {
  Random random(seed);
  const auto tail = [&](double least, double power) {
    return least * std::pow(1 - static_cast<double>(random.below(1 << 20)) * 0x1p-20, -1 / power);
  };
  MemoryProblem p;
  for (std::size_t n = 0; n < buffers; ++n) {
    const auto first = static_cast<std::int64_t>(random.below(steps));
    const double life = std::min(tail(1, 0.9), static_cast<double>(steps) / 4);
    p.intervals.push_back(interval(first, first + static_cast<std::int64_t>(life),
                                   static_cast<std::uint64_t>(std::min(tail(64, 1.1), 1e7)), 64));
  }
  return p;
}

// Few large ones that live long, many small ones that do not.
MemoryProblem mixed_problem(std::size_t buffers, unsigned seed, std::uint64_t steps) {
  Random random(seed);
  MemoryProblem p;
  for (std::size_t n = 0; n < buffers; ++n) {
    const auto first = static_cast<std::int64_t>(random.below(steps));
    const bool large = random.one_in(100);
    const std::uint64_t life = 1 + random.below(large ? steps / 3 : steps / 50);
    const std::uint64_t size = large ? 1000000 + random.below(9000000) : 1 + random.below(20000);
    p.intervals.push_back(interval(first, first + static_cast<std::int64_t>(life), size));
  }
  return p;
}

TEST(Waiting, FindsTheLongestThatFits) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Lives lives(random_problem(60, seed, {}, 12, 16));
    std::vector<std::uint32_t> left;
    for (std::uint32_t i = 0; i < lives.count(); i += 1 + seed % 3) left.push_back(i);
    std::uint64_t work = 0;
    Waiting waiting(lives, left, work);
    Random random(seed);
    while (!left.empty()) {
      const auto first = static_cast<std::uint32_t>(random.below(lives.sections));
      const auto end = first + 1 + static_cast<std::uint32_t>(random.below(lives.sections - first));
      const auto section = first + static_cast<std::uint32_t>(random.below(end - first));
      const std::uint64_t largest = random.one_in(2) ? any_height : random.below(14);
      std::pair<std::uint32_t, std::uint64_t> wanted;
      for (const std::uint32_t i : left) {
        const auto [from, to] = lives.span[i];
        if (first <= from && from <= section && section < to && to <= end &&
            lives.size[i] <= largest)
          wanted = std::max(wanted, {lives.life(i), lives.size[i]});
      }
      const Waiting::Found found = waiting.longest({first, end}, section, largest);
      ASSERT_EQ(found.life, wanted.first) << "seed " << seed;
      std::uint32_t longest = 0;
      waiting.for_each_life({first, end}, section,
                            [&](std::uint32_t i) { longest = std::max(longest, lives.life(i)); });
      ASSERT_GE(longest, found.life);
      const std::size_t gone = random.below(left.size());
      if (found.life > 0) {
        ASSERT_LE(lives.size[found.id], largest);
        waiting.take(found.id);
        std::erase(left, found.id);
      } else {
        waiting.take(left[gone]);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(gone));
      }
      ASSERT_EQ(waiting.list(), left);
    }
  }
}

TEST(Valleys, GiveValidPlansAndTheSameAgain) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const bool rich = seed % 2 != 0;
    const MemoryProblem p =
        random_problem(1 + seed * 3, seed,
                       {.alignments = rich, .gaps = seed % 3 != 0, .parts = rich, .zeros = rich});
    ValleySearch search(p);
    ValleySearch again(p);
    ASSERT_TRUE(search.suits());
    for (int k = 0; k < 12; ++k) {
      const auto plan = search.attempt(any_capacity, nullptr);
      ASSERT_EQ(plan, again.attempt(any_capacity, nullptr));
      if (!plan) continue;
      const Status status = validate(p, *plan);
      ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
    }
  }
}

TEST(Valleys, LeaveFixedPlacesToOthers) {
  MemoryProblem p{{interval(0, 4, 8), interval(1, 5, 8)}};
  p.intervals[1].fixed_offset = 64;
  EXPECT_FALSE(ValleySearch(p).suits());
}

TEST(Valleys, TakeBuffersThatNeverLive) {
  MemoryProblem p;
  for (std::int64_t i = 0; i < 6000; ++i) p.intervals.push_back(interval(i, i, 8));
  EXPECT_EQ(default_strategy().plan(p, {.seconds = 0.1}).plan.size, 8U);
  for (Interval& i : p.intervals) i.size = 0;
  EXPECT_EQ(default_strategy().plan(p, {.seconds = 0.1}).plan.size, 0U);
}

// A beam that cannot pass what is there stops; one that finds something is below it.
TEST(Valleys, BeamsStayBelowWhatIsThere) {
  const MemoryProblem p = planted_problem({.buffers = 12000, .seed = 2});
  ValleySearch search(p);
  std::uint64_t best = any_capacity;
  while (search.simple())
    if (const auto plan = search.attempt(best, nullptr)) best = std::min(best, plan->size);
  const std::uint64_t simple = best;
  for (int k = 0; k < 6; ++k) {
    const auto plan = search.attempt(best, nullptr);
    if (!plan) continue;
    ASSERT_LT(plan->size, best);
    best = plan->size;
  }
  EXPECT_LT(best, simple);
  EXPECT_FALSE(search.attempt(65536, nullptr));
}

struct Large {
  const char* name;
  MemoryProblem problem;
};

// `quern plan` gives a strategy one second; what it always tries takes seconds of processor time.
TEST(Valleys, PlanManyBuffersWithinAHundredthOfTheBound) {
  std::vector<Large> all = {
      {"planted, some left out", planted_problem({.buffers = 30000, .seed = 11, .drop = 0.05})},
      {"uneven", uneven_problem(30000, 1, 5000)}};
#if defined(NDEBUG)  // else these take minutes
  all.push_back({"planted", planted_problem({.buffers = 25000, .seed = 2})});
  all.push_back({"planted, more", planted_problem({.buffers = 60000, .seed = 5})});
  all.push_back({"mixed", mixed_problem(25000, 3, 2000)});
#endif
  for (const auto& [name, problem] : all) {
    ASSERT_TRUE(check(problem).ok());
    const double begin = processor_seconds();
    const PlanAnswer answer = default_strategy().plan(problem, {.seconds = 1});
    const double seconds = processor_seconds() - begin;
    ASSERT_TRUE(validate(problem, answer.plan).ok()) << name;
    EXPECT_LE(static_cast<double>(answer.plan.size), 1.01 * static_cast<double>(answer.bound))
        << name;
    RecordProperty(name, std::to_string(seconds));
#if defined(NDEBUG)
    EXPECT_LE(seconds, 10) << name;
#endif
  }
}

// Where steps end the search, beams are not made, and the plan is the same every time.
TEST(Valleys, AreTheSameWhereStepsEndTheSearch) {
  const MemoryProblem p = planted_problem({.buffers = 21000, .seed = 4});
  const PlanLimits limits{.seconds = 60, .steps = 0};
  const PlanAnswer answer = default_strategy().plan(p, limits);
  EXPECT_EQ(answer.plan, default_strategy().plan(p, limits).plan);
  EXPECT_LE(static_cast<double>(answer.plan.size), 1.03 * 65536);
}

}  // namespace
}  // namespace quern
