// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/precision.h"

#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

void expect_widened(std::string_view before, std::string_view after) {
  const Graph original = graph_of(before);
  Graph g = original.clone();
  ASSERT_TRUE(widen_f16(g).ok());
  expect_is(g, original, after, 4e-3);
}

TEST(WidenF16, BetweenInputsAndOutputs) {
  expect_widened(R"(
    input %0 "x": f16[2,3]
    const %1: f16[3,2] = {1, 2, 3, 4, 5, 6}
    %2: f16[2,2] = MatMul(%0, %1)
    %3: f16[2,2] = Unary(%2) kind=relu
    %4: f16[2,2] = Binary(%3, %2) kind=add
    output %4 "y"
    output %3 "z")",
                 R"(
    input %0 "x": f16[2,3]
    %1: f32[2,3] = Cast(%0)
    const %2: f16[3,2] = {1, 2, 3, 4, 5, 6}
    %3: f32[3,2] = Cast(%2)
    %4: f32[2,2] = MatMul(%1, %3)
    %5: f32[2,2] = Unary(%4) kind=relu
    %6: f32[2,2] = Binary(%5, %4) kind=add
    %7: f16[2,2] = Cast(%6) to=f16
    %8: f16[2,2] = Cast(%5) to=f16
    output %7 "y"
    output %8 "z")");
}

TEST(WidenF16, CastsOfTheModelKeepTheirRounding) {
  expect_widened(R"(
    input %0 "x": f32[2]
    input %1 "h": f16[2]
    %2: f16[2] = Cast(%0) to=f16
    %3: f16[2] = Binary(%2, %1) kind=add
    %4: f32[2] = Cast(%3) to=f32
    %5: bf16[2] = Cast(%3) to=bf16
    %6: bf16[2] = Unary(%5) kind=neg
    output %4 "y"
    output %6 "z")",
                 R"(
    input %0 "x": f32[2]
    input %1 "h": f16[2]
    %2: f16[2] = Cast(%0) to=f16
    %3: f32[2] = Cast(%2)
    %4: f32[2] = Cast(%1)
    %5: f32[2] = Binary(%3, %4) kind=add
    %6: f32[2] = Cast(%5)
    %7: f32[2] = Unary(%5) kind=neg
    %8: bf16[2] = Cast(%7) to=bf16
    output %6 "y"
    output %8 "z")");
}

TEST(WidenF16, MovesHalfTheBytesWhileItCan) {
  expect_widened(R"(
    input %0 "i": i64[1]
    const %1: f16[8,1] = {1, 2, 3, 4, 5, 6, 7, 8}
    %2: f16[1,1] = Gather(%1, %0) kind=axis
    %3: f16[1,1] = Transpose(%2)
    %4: f16[1,1] = Unary(%3) kind=exp
    %5: f16[1,1] = Transpose(%4)
    output %5 "y")",
                 R"(
    input %0 "i": i64[1]
    const %1: f16[8,1] = {1, 2, 3, 4, 5, 6, 7, 8}
    %2: f16[1,1] = Gather(%1, %0) kind=axis
    %3: f16[1,1] = Transpose(%2)
    %4: f32[1,1] = Cast(%3)
    %5: f32[1,1] = Unary(%4) kind=exp
    %6: f32[1,1] = Transpose(%5)
    %7: f16[1,1] = Cast(%6) to=f16
    output %7 "y")");
}

TEST(WidenF16, BitsAndBodiesKeepTheirTypesOutside) {
  expect_widened(R"(
    input %0 "x": f16[2]
    input %1 "c": bool[]
    %2: f16[2] = Unary(%0) kind=exp
    %3: u16[2] = BitCast(%2) to=u16
    %4: f16[2] = If(%1, %2) {
      graph "then" {
        input %0 "a": f16[2]
        %1: f16[2] = Unary(%0) kind=neg
        output %1 "r"
      }
      graph "else" {
        input %0 "a": f16[2]
        output %0 "r"
      }
    }
    %5: f16[2] = Unary(%4) kind=abs
    output %3 "y"
    output %5 "z")",
                 R"(
    input %0 "x": f16[2]
    input %1 "c": bool[]
    %2: f32[2] = Cast(%0)
    %3: f32[2] = Unary(%2) kind=exp
    %4: f16[2] = Cast(%3) to=f16
    %5: u16[2] = BitCast(%4) to=u16
    %6: f16[2] = If(%1, %4) {
      graph "then" {
        input %0 "a": f16[2]
        %1: f32[2] = Cast(%0)
        %2: f32[2] = Unary(%1) kind=neg
        %3: f16[2] = Cast(%2) to=f16
        output %3 "r"
      }
      graph "else" {
        input %0 "a": f16[2]
        output %0 "r"
      }
    }
    %7: f32[2] = Cast(%6)
    %8: f32[2] = Unary(%7) kind=abs
    %9: f16[2] = Cast(%8) to=f16
    output %5 "y"
    output %9 "z")");
}

TEST(WidenF16, LeavesOtherGraphsAlone) {
  Graph g = graph_of(R"(
    input %0 "x": f32[2]
    %1: f32[2] = Unary(%0) kind=exp
    output %1 "y")");
  const std::string before = plain_text(g);
  ASSERT_TRUE(widen_f16(g).ok());
  EXPECT_EQ(plain_text(g), before);
}

TEST(MultipliesF16, OnlyWhereAllProductsDo) {
  const auto multiplies = [](std::string_view text) { return multiplies_f16(graph_of(text)); };
  EXPECT_TRUE(multiplies(R"(
    input %0 "x": f32[2,3]
    %1: f16[2,3] = Cast(%0) to=f16
    const %2: f16[3,2] = {1, 2, 3, 4, 5, 6}
    %3: f16[2,2] = MatMul(%1, %2)
    output %3 "y")"));
  EXPECT_FALSE(multiplies(R"(
    input %0 "x": f16[2,3]
    const %1: f16[3,2] = {1, 2, 3, 4, 5, 6}
    %2: f16[2,2] = MatMul(%0, %1)
    %3: f32[2,2] = Cast(%2) to=f32
    %4: f32[2,2] = MatMul(%3, %3)
    output %4 "y")"));
  EXPECT_FALSE(multiplies(R"(
    input %0 "x": bf16[2,3]
    const %1: bf16[3,2] = {1, 2, 3, 4, 5, 6}
    %2: bf16[2,2] = MatMul(%0, %1)
    output %2 "y")"));
  EXPECT_FALSE(multiplies(R"(
    input %0 "x": f16[2,3]
    %1: f16[2,3] = Unary(%0) kind=relu
    output %1 "y")"));
}

}  // namespace
}  // namespace quern::testing
