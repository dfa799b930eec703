// SPDX-License-Identifier: Apache-2.0
// What samples of a time tell: order statistics, which assume nothing of how times are distributed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace quern::tools::lab {

// The median, and the interval that holds the true one in 95 of 100 experiments: between two of
// the sorted samples, by the binomial distribution. With fewer than 6 samples no two do; then it is
// between the least and the greatest.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;

  // Half of its width, as a share of the median.
  double half_width() const { return median > 0 ? (high - low) / (2 * median) : 0; }
};
MedianInterval median_interval(std::vector<double> samples);

// The ranks, from 0, of the samples between which the median of `n` lies.
struct RankInterval {
  std::size_t low, high;
};
RankInterval median_ranks(std::size_t n);

// Mann and Whitney, "On a test of whether one of two random variables is stochastically larger than
// the other", 1947: two-sided, by the normal approximation with corrections for ties and for
// continuity.
struct RankTest {
  double u = 0;  // how many pairs have the larger sample in `a`, half of each tie
  double z = 0;
  double p = 1;  // of so much difference, or more, between samples of one distribution
};
RankTest rank_test(std::span<const double> a, std::span<const double> b);

}  // namespace quern::tools::lab
