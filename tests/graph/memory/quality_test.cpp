// SPDX-License-Identifier: Apache-2.0
// How good plans and orders are, over many problems. Searches end after steps, not after a time, so
// that the sums are the same on every machine: a change that makes a search weaker is seen here,
// though every plan of it is valid. Where a change makes one better, its number may be lowered.
#include <gtest/gtest.h>

#include "graph/memory/order/order.h"
#include "graph/memory/problem/planted.h"
#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

std::vector<MemoryProblem> small_problems() {
  std::vector<MemoryProblem> all;
  for (unsigned seed = 0; seed < 12; ++seed)
    all.push_back(planted_problem(
        {.buffers = 40 + 12 * seed, .seed = 100 + seed, .drop = seed % 3 == 0 ? 0.15 : 0.0}));
  for (unsigned seed = 0; seed < 36; ++seed)
    all.push_back(random_problem(
        20 + 2 * seed, 500 + seed,
        {.alignments = seed % 2 == 0, .gaps = seed % 3 != 0, .parts = seed % 4 == 1}, 300, 40));
  return all;
}

std::vector<MemoryProblem> large_problems() {
  std::vector<MemoryProblem> all;
  for (unsigned seed = 0; seed < 4; ++seed)
    all.push_back(planted_problem(
        {.buffers = 1200 + 600 * seed, .seed = 200 + seed, .drop = seed % 2 == 0 ? 0.0 : 0.1}));
  return all;
}

struct Kept {
  const char* strategy;
  std::uint64_t steps;
  double size;         // of the plans, each as a multiple of the lower bound of its problem
  std::size_t proven;  // plans that are known to be the best
};

void expect_kept(const std::vector<MemoryProblem>& problems, const Kept& kept) {
  double size = 0;
  std::size_t proven = 0;
  for (const MemoryProblem& p : problems) {
    const PlanAnswer answer =
        find_strategy(kept.strategy)->plan(p, {.seconds = 600, .steps = kept.steps});
    ASSERT_TRUE(validate(p, answer.plan).ok());
    size += static_cast<double>(answer.plan.size) / static_cast<double>(lower_bound(p));
    proven += answer.plan.size == answer.bound ? 1 : 0;
  }
  EXPECT_LE(size, kept.size + 0.0002) << kept.strategy;
  EXPECT_GE(proven, kept.proven) << kept.strategy;
}

TEST(Quality, OfEveryStrategyIsKept) {
  const std::vector<MemoryProblem> problems = small_problems();
  for (const Kept& kept : {
           Kept{"auto", 1500, 48.4211, 27},
           {"auto", 20000, 48.3975, 27},
           {"exact", 1500, 48.7253, 25},
           {"exact", 20000, 48.4201, 26},
           {"annealing", 1500, 49.1692, 16},
           {"hill-climb", 1500, 49.0671, 16},
           {"skyline", 1, 49.4744, 12},
           {"greedy-by-size", 1, 51.7940, 1},
           {"greedy-by-breadth", 1, 52.8368, 4},
           {"greedy-by-conflict", 1, 52.4748, 3},
           {"first-fit", 1, 57.5428, 0},
           {"best-fit", 1, 57.5990, 0},
           {"tlsf", 1, 59.7150, 0},
           {"none", 1, 259.6500, 0},
       }) {
    expect_kept(problems, kept);
  }
}

TEST(Quality, OfLargeProblemsIsKept) {
  for (const Kept& kept : {Kept{"auto", 300, 4.4928, 0},
                           {"auto", 3000, 4.4307, 0},
                           {"skyline", 1, 4.6791, 0},
                           {"greedy-by-size", 1, 4.8357, 0}}) {
    expect_kept(large_problems(), kept);
  }
}

struct KeptOrders {
  std::uint64_t steps;
  std::uint64_t units;  // of work
  std::uint64_t peaks;
  std::size_t proven;
};

void expect_kept(const std::vector<OrderProblem>& problems, const KeptOrders& kept) {
  std::uint64_t peaks = 0;
  std::size_t proven = 0;
  for (const OrderProblem& p : problems) {
    Work work(kept.units);
    const OrderAnswer answer = best_order(p, kept.steps, work);
    peaks += answer.peak;
    proven += answer.optimal() ? 1 : 0;
  }
  EXPECT_LE(peaks, kept.peaks) << kept.steps << " steps";
  EXPECT_GE(proven, kept.proven) << kept.steps << " steps";
}

TEST(Quality, OfOrdersIsKept) {
  std::vector<OrderProblem> problems;
  for (unsigned seed = 0; seed < 40; ++seed)
    problems.push_back(random_order_problem(
        900 + seed, {.nodes = 30 + 3 * seed, .reach = 2 + seed % 9, .in_place = seed % 2 == 0}));
  expect_kept(problems, {20, 20'000, 10119, 0});
  expect_kept(problems, {200, 200'000, 9884, 0});
  expect_kept(problems, {4000, 20'000'000, 9278, 2});
}

// With more nodes than are searched at the end.
TEST(Quality, OfOrdersFromListsIsKept) {
  std::vector<OrderProblem> problems;
  for (unsigned seed = 0; seed < 4; ++seed)
    problems.push_back(randomly_wired(950 + seed, 2, 40 + 20 * seed));
  expect_kept(problems, {1, 1'000'000'000, 290816, 0});
  problems = {randomly_wired(1, 30, 120), randomly_wired(2, 60, 60)};
  expect_kept(problems, {1, 1'000'000'000, 159744, 0});
}

}  // namespace
}  // namespace quern
