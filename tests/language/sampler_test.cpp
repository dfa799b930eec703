// SPDX-License-Identifier: Apache-2.0
// Sampling against plain computations: what may be drawn, and how often.
#include "frontends/language/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/expect.h"

namespace quern::language {
namespace {

using Logits = std::vector<float>;

Logits random_logits(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  Logits logits(size);
  for (float& l : logits) l = normal(random);
  return logits;
}

// The probabilities that the options leave, by sorting everything.
std::vector<double> plain(const Logits& logits, const SamplingOptions& o,
                          const std::set<TokenId>& seen) {
  std::vector<double> l(logits.begin(), logits.end());
  for (const TokenId t : seen) {
    double& x = l[static_cast<std::size_t>(t)];
    x = x > 0 ? x / o.repetition_penalty : x * o.repetition_penalty;
    x -= o.presence_penalty + o.frequency_penalty * (t == 4 ? 2 : 1);  // 4 is there twice
  }
  std::vector<std::size_t> order(l.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return l[a] > l[b]; });
  if (o.top_k > 0 && static_cast<std::size_t>(o.top_k) < order.size())
    order.resize(static_cast<std::size_t>(o.top_k));
  std::vector<double> p(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) p[i] = std::exp(l[order[i]] / o.temperature);
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  std::vector<double> out(l.size(), 0.0);
  double before = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && before >= o.top_p * total) break;
    if (p[i] < o.min_p * p[0]) break;
    out[order[i]] = p[i];
    before += p[i];
  }
  for (double& x : out) x /= before;
  return out;
}

TEST(Sampler, DrawsWithTheProbabilitiesThatAreLeft) {
  const SamplingOptions rows[] = {
      {.temperature = 1},
      {.temperature = 0.7, .top_k = 5},
      {.temperature = 1.5, .top_p = 0.8},
      {.temperature = 1, .min_p = 0.1},
      {.temperature = 0.9, .top_k = 20, .top_p = 0.9, .min_p = 0.02, .repetition_penalty = 1.4},
      {.temperature = 1, .top_p = 0},
      {.temperature = 1, .presence_penalty = 1.5},
      {.temperature = 1, .top_k = 30, .repetition_penalty = 1.1, .frequency_penalty = 0.8},
  };
  const std::set<TokenId> seen = {1, 4, 9};
  for (SamplingOptions options : rows) {
    const Logits logits = random_logits(40, 3);
    options.seed = 11;
    Sampler sampler(options);
    for (const TokenId t : seen) sampler.accept(t);
    sampler.accept(4);
    std::map<TokenId, int> counts;
    const int draws = 20'000;
    for (int i = 0; i < draws; ++i) ++counts[*sampler.choose(logits)];
    const std::vector<double> wanted = plain(logits, options, seen);
    for (std::size_t t = 0; t < wanted.size(); ++t) {
      const double found = counts[static_cast<TokenId>(t)] / static_cast<double>(draws);
      // Five standard deviations; what has no probability is never drawn.
      EXPECT_NEAR(found, wanted[t], 5 * std::sqrt(wanted[t] * (1 - wanted[t]) / draws)) << t;
    }
  }
}

TEST(Sampler, TakesTheGreatestWithoutTemperature) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Logits logits = random_logits(500, seed);
    Sampler sampler({.temperature = 0});
    EXPECT_EQ(*sampler.choose(logits),
              std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  Sampler sampler({.temperature = 0});
  EXPECT_EQ(*sampler.choose(Logits{1, 5, 5, 2}), 1);  // the smaller id of equals
}

TEST(Sampler, GivesTheSameForTheSameSeed) {
  const Logits logits = random_logits(1000, 1);
  const auto draw = [&](std::uint64_t seed) {
    Sampler sampler({.temperature = 2, .top_p = 0.99, .seed = seed});
    std::vector<TokenId> tokens;
    for (int i = 0; i < 50; ++i) tokens.push_back(*sampler.choose(logits));
    return tokens;
  };
  EXPECT_EQ(draw(7), draw(7));
  EXPECT_NE(draw(7), draw(8));
}

TEST(Sampler, PenalisesWhatWasThere) {
  Sampler sampler({.temperature = 0, .repetition_penalty = 2});
  const Logits logits = {3, 2, -1};
  EXPECT_EQ(*sampler.choose(logits), 0);
  sampler.accept(0);
  EXPECT_EQ(*sampler.choose(logits), 1);
}

TEST(Sampler, NeverChoosesWhatIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  Sampler sampler({.temperature = 1});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*sampler.choose(Logits{nan, 1, -inf}), 1);
  EXPECT_EQ(*sampler.choose(Logits{1, inf, 2}), 1);
  EXPECT_EQ(sampler.choose(Logits{nan, -inf}).error().code(), Code::invalid_argument);
  EXPECT_EQ(sampler.choose({}).error().code(), Code::invalid_argument);
}

TEST(Sampler, ChecksItsOptions) {
  EXPECT_CONTAINS(check({.temperature = -1}).message(), "temperature");
  EXPECT_CONTAINS(check({.temperature = std::nan("")}).message(), "temperature");
  EXPECT_CONTAINS(check({.top_k = -2}).message(), "top_k");
  EXPECT_CONTAINS(check({.top_p = 1.5}).message(), "top_p");
  EXPECT_CONTAINS(check({.min_p = -0.1}).message(), "min_p");
  EXPECT_CONTAINS(check({.repetition_penalty = 0}).message(), "repetition_penalty");
  EXPECT_TRUE(check({}).ok());
}

// What a stream of single bytes, or of any parts, gives before the first stop text.
std::string before_stop(const std::vector<std::string>& stops, const std::string& text,
                        std::size_t part) {
  StopTexts stream(stops);
  std::string out;
  for (std::size_t i = 0; i < text.size() && !stream.is_found(); i += part)
    out += stream.add(text.substr(i, part));
  return out + stream.finish();
}

TEST(StopTexts, AreFoundAcrossParts) {
  const std::vector<std::string> stops = {"END", "ENDING", "\n\n", ""};
  for (const std::size_t part : {1u, 2u, 3u, 100u}) {
    EXPECT_EQ(before_stop(stops, "text END more", part), "text ");
    EXPECT_EQ(before_stop(stops, "EN EEND", part), "EN E");
    EXPECT_EQ(before_stop(stops, "a\nb\n\nc", part), "a\nb");
    EXPECT_EQ(before_stop(stops, "nothing EN", part), "nothing EN");
  }
}

}  // namespace
}  // namespace quern::language
