// SPDX-License-Identifier: Apache-2.0
// Graphs that the passes fuse, fold and reorder stay within the bounds of the graph as written.
#include "engine/vocabulary/text_util.h"
#include "tests/tools/oracle/judging.h"

namespace quern::testing {
namespace {

// Each ends in %9 of f32[2,6,5,5].
constexpr std::string_view hosts[] = {
    R"(input %0 "x": f32[2,4,7,7]
const %1: f32[6,4,3,3] = ...
%9: f32[2,6,5,5] = Conv(%0, %1) kernel=[3,3])",
    R"(input %0 "x": f32[2,4,5,5]
const %1: f32[6,4,1,1] = ...
const %2: f32[6] = {0.3, -2, 0.17, 40, 0.05, 1}
%9: f32[2,6,5,5] = Conv(%0, %1, %2) kernel=[1,1])",
    R"(input %0 "x": f32[2,6,7,7]
const %1: f32[6,1,3,3] = ...
%9: f32[2,6,5,5] = Conv(%0, %1) kernel=[3,3] group=6)",
    R"(input %0 "x": f32[2,4,3,3]
const %1: f32[4,6,3,3] = ...
%9: f32[2,6,5,5] = ConvTranspose(%0, %1) kernel=[3,3])",
    R"(input %0 "x": f32[2,6,5,12]
const %1: f32[12,5] = ...
%9: f32[2,6,5,5] = MatMul(%0, %1))",
    R"(input %0 "x": f32[2,6,5,5]
%9: f32[2,6,5,5] = Softmax(%0) axis=-1)",
    R"(input %0 "x": f32[2,6,5,5]
%9: f32[2,6,5,5] = LayerNorm(%0))",
    R"(input %0 "x": f32[2,6,7,7]
%9: f32[2,6,5,5] = Pool(%0) kind=average kernel=[3,3])",
};
// Each makes %N of the value before it.
constexpr std::string_view steps[] = {
    "Unary(%P) kind=relu",
    "Unary(%P) kind=swish alpha=1",
    "Unary(%P) kind=gelu",
    "Unary(%P) kind=exp",
    "Unary(%P) kind=softplus",
    "Unary(%P) kind=mish",
    "Unary(%P) kind=elu alpha=0.7",
    "Unary(%P) kind=clip alpha=-0.5 beta=1.5",
    "Binary(%P, %20) kind=mul",
    "Binary(%P, %21) kind=add",
    "Binary(%P, %22) kind=sub",
    "Binary(%23, %P) kind=add",
    "Binary(%P, %23) kind=mul",
    "Binary(%P, %20) kind=max",
    "BatchNorm(%P, %24, %24, %24, %25)",
};
constexpr std::string_view operands = R"(
const %20: f32[] = {0.37}
const %21: f32[6,1,1] = {1, -2, 30, 0.1, 5, 6}
const %22: f32[2,6,5,5] = ...
input %23 "z": f32[2,6,5,5]
const %24: f32[6] = {1, -2, 0.3, 0.1, 5, 6}
const %25: f32[6] = {1, 2, 0.3, 0.1, 5, 6}
)";

std::string statement(std::string_view step, int previous, int number) {
  std::string s(step);
  s.replace(s.find("%P"), 2, cat("%", previous));
  return cat("%", number, ": f32[2,6,5,5] = ", s, "\n");
}

class OracleOnFusions : public ::testing::TestWithParam<std::string_view> {};

TEST_P(OracleOnFusions, AreWithinTheBounds) {
  std::uint64_t seed = 0;
  tools::Share share;
  for (std::string_view first : steps)
    for (std::string_view second : steps) {
      Graph g = graph_of(cat(GetParam(), operands, statement(first, 9, 30),
                             statement(second, 30, 31), "output %31 \"y\""));
      fill_constants(g);
      const Judged judged = judge(g, random_inputs(g, ++seed), "cpu");
      EXPECT_EQ(judged.refusal, "");
      for (const std::string& failure : judged.failures)
        ADD_FAILURE() << first << ", " << second << ": " << failure;
      share += judged.share;
    }
  EXPECT_GT(share.judged(), 0.99);
}

INSTANTIATE_TEST_SUITE_P(All, OracleOnFusions, ::testing::ValuesIn(hosts));

}  // namespace
}  // namespace quern::testing
