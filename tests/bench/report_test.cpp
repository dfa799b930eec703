// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"

namespace quern::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Performance performance(std::string label, double run_ms) {
  return {.label = std::move(label),
          .run_ms = run_ms,
          .run = tools::distribution({run_ms}),
          .cold = tools::distribution({10 * run_ms}),
          .memory = {.peak = 1e6 * run_ms}};
}

Comparison comparison(std::string model, int threads, std::vector<Performance> performances) {
  return {.model = std::move(model), .threads = threads, .performances = std::move(performances)};
}

std::string text(const std::vector<Comparison>& comparisons) {
  return report_text(comparisons, tools::Console{});
}

TEST(Report, RatiosAreOrtByQuernAndTheirMeanIsGeometric) {
  const std::string report =
      text({comparison("a", 1, {performance("quern", 1), performance("ort", 2)}),
            comparison("b", 1, {performance("quern", 1), performance("ort", 8)})});
  EXPECT_THAT(report, ::testing::StartsWith("1 thread\n"));
  EXPECT_THAT(report, ::testing::ContainsRegex("a +1.00 +2.00 +2.00 .*agree"));
  EXPECT_THAT(report, ::testing::ContainsRegex("geometric mean of 2 +4.00 +4.00 +4.00"));
  EXPECT_THAT(report, Not(HasSubstr("best number of threads")));
}

TEST(Report, TheFasterOfOnnxRuntimeCounts) {
  const Comparison c = comparison(
      "a", 2, {performance("quern", 3), performance("ort", 9), performance("ort-no-spinning", 6)});
  EXPECT_EQ(c.ort()->label, "ort-no-spinning");
  EXPECT_THAT(text({c}), ::testing::ContainsRegex("6.00 +2.00 .*ort without spinning"));
}

TEST(Report, EachEngineWithItsBestNumberOfThreads) {
  std::vector<Comparison> all;
  for (const char* model : {"a", "b"}) {
    all.push_back(comparison(model, 1, {performance("quern", 4), performance("ort", 6)}));
    all.push_back(comparison(model, 2, {performance("quern", 2), performance("ort", 7)}));
  }
  EXPECT_CONTAINS(text(all), "geometric mean of run ratios 3.00 over 2 models");
}

TEST(Report, FailuresAndDifferencesAreTold) {
  Comparison failed{.model = "a", .failure = "ort: no such file"};
  Comparison differs = comparison("b", 1, {performance("quern", 1), performance("ort", 1)});
  differs.disagreement = "output 'y' is missing";
  const std::string report = text({failed, differs});
  EXPECT_CONTAINS(report, "ort: no such file");
  EXPECT_CONTAINS(report, "DIFFER: output 'y' is missing");
}

}  // namespace
}  // namespace quern::bench
