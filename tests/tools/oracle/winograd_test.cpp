// SPDX-License-Identifier: Apache-2.0
// The oracle allows Winograd's error wherever a convolution may be computed by its form, by rule or
// because the implementation was asked for, and nowhere else.
#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "tests/tools/oracle/judging.h"

namespace quern::testing {
namespace {

using tools::Arithmetic;

struct Layer {
  std::int64_t channels, results, pixels;
  bool is_volume = false;  // a third dimension of one element
};

Graph graph_of_layer(const Layer& l) {
  const auto maps = [&](std::int64_t channels, std::int64_t pixels) {
    return cat("f32[2,", channels, l.is_volume ? ",1," : ",", pixels, ",", pixels, "]");
  };
  Graph g = graph_of(
      cat("input %0 \"x\": ", maps(l.channels, l.pixels), "\nconst %1: f32[", l.results, ",",
          l.channels, l.is_volume ? ",1" : "", ",3,3] = ...\n%2: ", maps(l.results, l.pixels),
          " = Conv(%0, %1) ",
          l.is_volume ? "kernel=[1,3,3] pads=[0,1,1,0,1,1]" : "kernel=[3,3] pads=[1,1,1,1]",
          "\noutput %2 \"y\""));
  fill_constants(g);
  return g;
}

double largest_bound(const Graph& g, const std::vector<Tensor>& inputs, Arithmetic arithmetic) {
  std::vector<OracleInput> given;
  for (const Tensor& t : inputs) given.push_back({.tensors = {t}});
  const auto values = tools::evaluate_with_bounds(g, given, {.arithmetic = arithmetic});
  EXPECT_TRUE(values) << (values ? "" : values.error().message());
  return values ? std::ranges::max((*values)[0].tensors[0].bound) : 0;
}

bool has_winograd(const Judged& judged) {
  return std::ranges::any_of(judged.kernels, [](const std::string& kernel) {
    return kernel.find("wino") != std::string::npos;
  });
}

TEST(OracleOnWinograd, AllowsItWhereItIsTaken) {
  std::size_t by_rule = 0, asked_for = 0;
  for (const Layer& l : std::vector<Layer>{{4, 6, 5},
                                           {31, 128, 14},
                                           {32, 64, 12},
                                           {32, 64, 13},
                                           {86, 24, 14},
                                           {64, 64, 14, true}}) {
    SCOPED_TRACE(cat(l.channels, " to ", l.results, " channels, ", l.pixels, " pixels"));
    const Graph g = graph_of_layer(l);
    const std::vector<Tensor> inputs = random_inputs(g, 5);
    const double wide = largest_bound(g, inputs, Arithmetic::cpu_winograd);
    const Judged usual = judge(g, inputs, "cpu");
    const Judged asked = judge(g, inputs, "cpu", "winograd");
    for (const Judged* judged : {&usual, &asked}) {
      EXPECT_EQ(judged->refusal, "");
      EXPECT_THAT(judged->failures, ::testing::IsEmpty());
    }
    if (has_winograd(usual)) {
      EXPECT_EQ(largest_bound(g, inputs, Arithmetic::cpu), wide);
    }
    by_rule += has_winograd(usual) ? 1U : 0U;
    asked_for += has_winograd(asked) ? 1U : 0U;
  }
  EXPECT_GE(by_rule, 3U);
  EXPECT_GT(asked_for, by_rule);
}

TEST(OracleOnWinograd, DoesNotAllowItToSmallLayers) {
  for (const Layer& l : std::vector<Layer>{{4, 6, 5}, {64, 64, 12}, {11, 64, 28}}) {
    const Graph g = graph_of_layer(l);
    const std::vector<Tensor> inputs = random_inputs(g, 5);
    EXPECT_LT(2 * largest_bound(g, inputs, Arithmetic::cpu),
              largest_bound(g, inputs, Arithmetic::cpu_winograd));
  }
}

}  // namespace
}  // namespace quern::testing
