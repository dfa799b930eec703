// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace quern::tools::lab {
namespace {

double median_of_sorted(std::span<const double> sorted) {
  const std::size_t n = sorted.size();
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// The probability of `k` or fewer heads of `n` fair coins.
double coins_at_most(std::size_t k, std::size_t n) {
  double sum = 0;
  const double all = static_cast<double>(n);
  for (std::size_t i = 0; i <= k; ++i) {
    const double heads = static_cast<double>(i);
    sum += std::exp(std::lgamma(all + 1) - std::lgamma(heads + 1) - std::lgamma(all - heads + 1) -
                    all * std::numbers::ln2);
  }
  return sum;
}

}  // namespace

RankInterval median_ranks(std::size_t n) {
  constexpr double tail = 0.025;
  constexpr std::size_t exact_up_to = 1000;
  if (n < 6) return {0, n ? n - 1 : 0};
  std::size_t k = 0;  // so many at each end are outside
  if (n > exact_up_to) {
    const double all = static_cast<double>(n);
    k = static_cast<std::size_t>(std::floor((all - 1.959964 * std::sqrt(all)) / 2));
  } else {
    while (coins_at_most(k, n) <= tail) ++k;
  }
  k = std::max<std::size_t>(k, 1);
  return {k - 1, n - k};
}

MedianInterval median_interval(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  const RankInterval ranks = median_ranks(samples.size());
  return {median_of_sorted(samples), samples[ranks.low], samples[ranks.high]};
}

RankTest rank_test(std::span<const double> a, std::span<const double> b) {
  struct Sample {
    double value;
    bool is_of_a;
  };
  std::vector<Sample> all;
  for (const double v : a) all.push_back({v, true});
  for (const double v : b) all.push_back({v, false});
  std::ranges::sort(all, {}, &Sample::value);
  double ranks_of_a = 0;
  double ties = 0;  // the sum of t^3 - t over groups of t equal samples
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    std::size_t of_a = 0;
    while (end < all.size() && all[end].value == all[begin].value) of_a += all[end++].is_of_a;
    const double t = static_cast<double>(end - begin);
    const double rank = (static_cast<double>(begin + end) + 1) / 2;  // the mean of the group's
    ranks_of_a += rank * static_cast<double>(of_a);
    ties += t * t * t - t;
    begin = end;
  }
  RankTest test;
  const double m = static_cast<double>(a.size());
  const double n = static_cast<double>(b.size());
  test.u = ranks_of_a - m * (m + 1) / 2;
  const double both = m + n;
  const double variance = both > 1 ? m * n / 12 * (both + 1 - ties / (both * (both - 1))) : 0;
  const double off = test.u - m * n / 2;
  if (variance <= 0) return test;
  const double continuous = std::max(std::abs(off) - 0.5, 0.0);
  test.z = std::copysign(continuous / std::sqrt(variance), off);
  test.p = std::erfc(std::abs(test.z) / std::numbers::sqrt2);
  return test;
}

}  // namespace quern::tools::lab
