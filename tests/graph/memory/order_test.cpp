// SPDX-License-Identifier: Apache-2.0
// Orders of random graphs, against every order there is.
#include "graph/memory/order/order.h"

#include <gtest/gtest.h>

#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

bool is_order(const OrderProblem& p, const std::vector<std::uint32_t>& order) {
  std::vector<char> done(p.nodes.size());
  for (std::uint32_t n : order) {
    for (std::uint32_t b : p.nodes[n].before)
      if (!done[b]) return false;
    if (done[n]++) return false;
  }
  return order.size() == p.nodes.size();
}

std::uint64_t least_peak(const OrderProblem& p) {
  std::vector<std::uint32_t> order;
  std::vector<char> done(p.nodes.size());
  std::uint64_t best = ~std::uint64_t{0};
  const auto visit = [&](const auto& self) -> void {
    if (order.size() == p.nodes.size()) {
      best = std::min(best, peak_of(p, order));
      return;
    }
    for (std::uint32_t n = 0; n < p.nodes.size(); ++n) {
      const auto is_done = [&](std::uint32_t b) { return done[b] != 0; };
      if (done[n] || !std::ranges::all_of(p.nodes[n].before, is_done)) continue;
      done[n] = 1;
      order.push_back(n);
      self(self);
      order.pop_back();
      done[n] = 0;
    }
  };
  visit(visit);
  return best;
}

TEST(Order, IsTheBestOfSmallGraphs) {
  std::size_t better = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    const OrderProblem p = random_order_problem(
        seed, {.nodes = 2 + seed % 7, .reach = 2 + seed % 6, .in_place = seed % 2 == 0});
    const OrderAnswer answer = best_order(p);
    ASSERT_TRUE(is_order(p, answer.order)) << "seed " << seed;
    ASSERT_EQ(peak_of(p, answer.order), answer.peak) << "seed " << seed;
    const std::uint64_t least = least_peak(p);
    ASSERT_EQ(answer.peak, least) << "seed " << seed;
    ASSERT_TRUE(answer.optimal()) << "seed " << seed;
    ASSERT_LE(lower_bound(p), least) << "seed " << seed;
    std::vector<std::uint32_t> listed(p.nodes.size());
    for (std::uint32_t n = 0; n < listed.size(); ++n) listed[n] = n;
    better += least < peak_of(p, listed) ? 1 : 0;
  }
  EXPECT_GT(better, 100U);
}

// A bound that is claimed holds against a search with a hundred times the steps.
TEST(Order, ProvesNoMoreThanIsTrueOfLargerGraphs) {
  std::size_t proven = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const OrderProblem p = random_order_problem(
        seed, {.nodes = 30 + seed, .reach = 4 + seed % 9, .in_place = seed % 2 == 0});
    const OrderAnswer little = best_order(p, 50);
    const OrderAnswer much = best_order(p, 5000);
    ASSERT_TRUE(is_order(p, little.order) && is_order(p, much.order));
    ASSERT_LE(little.bound, much.peak) << "seed " << seed;
    ASSERT_LE(much.bound, little.peak) << "seed " << seed;
    ASSERT_LE(much.bound, much.peak) << "seed " << seed;
    proven += much.optimal() ? 1 : 0;
  }
  EXPECT_GT(proven, 5U);
}

TEST(Order, OfRandomlyWiredNetworksIsProvenAndBetter) {
  std::size_t proven = 0;
  std::size_t better = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const OrderProblem p = randomly_wired(seed, 3, 16);
    std::vector<std::uint32_t> listed(p.nodes.size());
    for (std::uint32_t n = 0; n < listed.size(); ++n) listed[n] = n;
    const OrderAnswer answer = best_order(p);
    ASSERT_TRUE(is_order(p, answer.order));
    proven += answer.optimal() ? 1 : 0;
    better += answer.peak < peak_of(p, listed) ? 1 : 0;
  }
  EXPECT_GE(proven, 18U);
  EXPECT_GE(better, 7U);
}

TEST(Order, StaysAsListedWhenNothingIsBetter) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const OrderProblem p = random_order_problem(seed, {.nodes = 40, .reach = 1});
    const OrderAnswer answer = best_order(p);
    if (answer.peak < peak_of(
                          p,
                          [&] {
                            std::vector<std::uint32_t> listed(p.nodes.size());
                            for (std::uint32_t n = 0; n < listed.size(); ++n) listed[n] = n;
                            return listed;
                          }()))
      continue;
    EXPECT_TRUE(std::ranges::is_sorted(answer.order)) << "seed " << seed;
  }
}

TEST(Order, OfManyNodesTakesBoundedTime) {
  const OrderProblem p = random_order_problem(1, {.nodes = 20000, .reach = 50});
  const OrderAnswer answer = best_order(p);
  EXPECT_TRUE(is_order(p, answer.order));
}

// Wherever the work ends: an order that is no worse than the given one, and no bound that is false.
TEST(Order, WithLittleWorkIsAnOrderStill) {
  std::size_t worse = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const OrderProblem p = random_order_problem(
        seed, {.nodes = 20 + seed, .reach = 4 + seed % 9, .in_place = seed % 2 == 0});
    const OrderAnswer best = best_order(p);
    std::vector<std::uint32_t> listed(p.nodes.size());
    for (std::uint32_t n = 0; n < listed.size(); ++n) listed[n] = n;
    for (std::uint64_t units = 0; units < 4'000'000; units = 1 + units * 2) {
      Work work(units);
      const OrderAnswer answer = best_order(p, 4000, work);
      ASSERT_TRUE(is_order(p, answer.order)) << "seed " << seed << ", work " << units;
      ASSERT_EQ(answer.peak, peak_of(p, answer.order)) << "seed " << seed << ", work " << units;
      ASSERT_LE(answer.peak, peak_of(p, listed)) << "seed " << seed << ", work " << units;
      ASSERT_LE(answer.bound, best.peak) << "seed " << seed << ", work " << units;
      worse += answer.peak > best.peak ? 1 : 0;
    }
  }
  EXPECT_GT(worse, 40U) << "the work never ended before the search";
}

TEST(Order, OfNothing) {
  EXPECT_TRUE(best_order({}).order.empty());
}

}  // namespace
}  // namespace quern
