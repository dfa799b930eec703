// SPDX-License-Identifier: Apache-2.0
// Against values of other programs: binomial tails in exact integers, and the normal approximation,
// computed in Python from the formulas of the paper.
#include "tools/kernel/statistics.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace quern::tools::lab {
namespace {

TEST(KernelStatistics, RanksOfTheMedian) {
  struct Row {
    std::size_t n, low, high;
  };
  for (const Row& row : {Row{6, 0, 5},
                         {7, 0, 6},
                         {10, 1, 8},
                         {20, 5, 14},
                         {25, 7, 17},
                         {101, 40, 60},
                         {999, 468, 530}}) {
    EXPECT_EQ(median_ranks(row.n).low, row.low) << row.n;
    EXPECT_EQ(median_ranks(row.n).high, row.high) << row.n;
  }
  EXPECT_EQ(median_ranks(1).high, 0U);
  EXPECT_EQ(median_ranks(5).high, 4U);
  // Around the change to the normal approximation.
  EXPECT_NEAR(static_cast<double>(median_ranks(1001).low), 469, 1);
}

TEST(KernelStatistics, IntervalsHoldTheMedianAsOftenAsTheySay) {
  std::mt19937 random(5);
  std::exponential_distribution<double> times(1);
  int inside = 0;
  constexpr int experiments = 2000;
  for (int i = 0; i < experiments; ++i) {
    std::vector<double> samples(41);
    for (double& v : samples) v = times(random);
    const MedianInterval interval = median_interval(samples);
    inside += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high;
    EXPECT_LE(interval.low, interval.median);
    EXPECT_LE(interval.median, interval.high);
  }
  EXPECT_GE(inside, experiments * 0.945);
  EXPECT_LE(inside, experiments * 0.985);
}

TEST(KernelStatistics, MedianOfFewSamples) {
  EXPECT_EQ(median_interval({}).median, 0);
  EXPECT_EQ(median_interval({3}).median, 3);
  EXPECT_EQ(median_interval({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(median_interval({4, 1, 2, 3}).low, 1);
  EXPECT_NEAR(median_interval({9, 10, 11}).half_width(), 0.1, 1e-12);
}

TEST(KernelStatistics, RankTestAsInPython) {
  const std::vector<double> x = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const std::vector<double> y = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  const RankTest test = rank_test(x, y);
  EXPECT_DOUBLE_EQ(test.u, 58);
  EXPECT_NEAR(test.z, 1.502688234205555, 1e-12);
  EXPECT_NEAR(test.p, 0.13291945818531886, 1e-12);
  EXPECT_NEAR(rank_test(y, x).p, test.p, 1e-12);
  const RankTest tied =
      rank_test(std::vector<double>{1, 2, 2, 3, 3, 3}, std::vector<double>{2, 3, 4, 4, 5, 5, 6});
  EXPECT_DOUBLE_EQ(tied.u, 5.5);
  EXPECT_NEAR(tied.p, 0.028410955971066822, 1e-12);
}

TEST(KernelStatistics, RankTestOfEqualAndOfApartSamples) {
  const std::vector<double> same(30, 2.0);
  EXPECT_EQ(rank_test(same, same).p, 1);
  EXPECT_EQ(rank_test({}, same).p, 1);
  std::vector<double> low(20), high(20);
  for (int i = 0; i < 20; ++i) low[static_cast<std::size_t>(i)] = i + 1;
  for (int i = 0; i < 20; ++i) high[static_cast<std::size_t>(i)] = i + 30;
  EXPECT_NEAR(rank_test(low, high).p, 6.795615128173387e-08, 1e-15);
}

}  // namespace
}  // namespace quern::tools::lab
