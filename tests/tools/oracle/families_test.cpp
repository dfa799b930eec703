// SPDX-License-Identifier: Apache-2.0
// Each family: runs are within the bounds, the bounds are not vacuous, planted errors are found.
#include "tests/tools/oracle/families.h"

#include <cmath>

#include <quern/device.h>

#include "engine/vocabulary/text_util.h"
#include "tests/graph/named_op.h"

namespace quern::testing {
namespace {

constexpr std::uint64_t seeds = 5;

class OracleOnFamilies : public ::testing::TestWithParam<Family> {};

// Constants that the text leaves out become random.
Graph filled_graph(const Family& family) {
  Graph g = graph_of(family.graph);
  fill_constants(g);
  return g;
}

void expect_within(const Family& family, std::string_view device, std::uint64_t runs = seeds) {
  const Graph g = filled_graph(family);
  tools::Share share;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    const Judged judged = judge(g, random_inputs(g, seed, family.draw), device);
    EXPECT_EQ(judged.refusal, "");
    for (const std::string& failure : judged.failures) ADD_FAILURE() << failure;
    share += judged.share;
  }
  EXPECT_GT(share.judged(), 0.95);
}

TEST_P(OracleOnFamilies, ReferencesAreWithinTheBounds) {
  expect_within(GetParam(), "reference");
}

TEST_P(OracleOnFamilies, FastKernelsAreWithinTheBounds) {
  expect_within(GetParam(), "cpu");
}

TEST_P(OracleOnFamilies, VulkanIsWithinTheBounds) {
  if (!open_device("vulkan")) GTEST_SKIP() << "no Vulkan here";
  expect_within(GetParam(), "vulkan", 1);
}

TEST_P(OracleOnFamilies, BoundsAreNotVacuous) {
  const Family& family = GetParam();
  const Graph g = filled_graph(family);
  double most = 0;
  for (std::uint64_t seed = 1; seed <= 2 * seeds; ++seed)
    for (std::string_view device : {"cpu", "reference"})
      most = std::max(most, judge(g, random_inputs(g, seed, family.draw), device).worst_ratio);
  EXPECT_GE(most, family.least_ratio);
  EXPECT_LE(most, 1);
}

// The table of docs/error-bounds.md, over the whole range of each function.
TEST(OracleAccuracy, HoldsEveryFunctionOverItsRange) {
  for (const std::string_view kind : values_of("Unary", "kind")) {
    if (kind == "is_nan" || kind == "is_inf" || kind == "logical_not" || kind == "bitwise_not")
      continue;  // they have no error
    Graph g = graph_of("input %0 \"x\": f32[3000]");
    const Op op = named("Unary", cat("kind=", kind, " alpha=0.75 beta=0.5"));
    g.add_output(*g.add(op, {g.inputs()[0]}), "y");
    std::uint64_t seed = 0;
    for (double range : {1e-6, 1e-3, 0.5, 1.0, 4.0, 20.0, 120.0, 1e5})
      for (std::string_view device : {"cpu", "reference"}) {
        const auto inputs = random_inputs(g, ++seed, {-range, range});
        for (const std::string& failure : judge(g, inputs, device).failures)
          ADD_FAILURE() << kind << " within " << range << " on " << device << ": " << failure;
      }
  }
}

std::string test_name(const ::testing::TestParamInfo<Family>& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (c == ' ') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, OracleOnFamilies, ::testing::ValuesIn(families()), test_name);

}  // namespace
}  // namespace quern::testing
