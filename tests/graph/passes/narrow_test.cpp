// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/narrow.h"

#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

Narrow all(const Graph&, const Node&) {
  return Narrow::result_too;
}

void expect_narrowed(Narrow (*may)(const Graph&, const Node&), std::string_view before,
                     std::string_view after) {
  const Graph original = graph_of(before);
  Graph g = original.clone();
  const Status done = narrow_products(g, may);
  ASSERT_TRUE(done.ok()) << done.message();
  expect_is(g, original, after, 2e-2);
}

TEST(NarrowProducts, AResultForOthersIsF32) {
  expect_narrowed(all, R"(
    input %0 "x": f32[2,3]
    const %1: f32[3,2] = {1, 2, 3, 4, 5, 6}
    %2: f32[2,2] = MatMul(%0, %1)
    output %2 "y")",
                  R"(
    input %0 "x": f32[2,3]
    %1: bf16[2,3] = Cast(%0) to=bf16
    const %2: f32[3,2] = {1, 2, 3, 4, 5, 6}
    %3: bf16[3,2] = Cast(%2) to=bf16
    %4: f32[2,2] = MatMul(%1, %3) f32_result=true
    output %4 "y")");
}

Narrow parts(const Graph&, const Node&) {
  return Narrow::parts;
}

// Along the axis that is summed, wherever it is.
TEST(NarrowProducts, PartsStandBehindEachOther) {
  expect_narrowed(parts, R"(
    input %0 "x": f32[3,2]
    const %1: f32[2,3] = {1, 2, 3, 4, 5, 6}
    %2: f32[2,2] = MatMul(%0, %1) transpose_a=true transpose_b=true | relu
    output %2 "y")",
                  R"(
    input %0 "x": f32[3,2]
    %1: bf16[9,2] = Bf16Parts(%0) axis=-2
    const %2: f32[2,3] = {1, 2, 3, 4, 5, 6}
    %3: bf16[2,9] = Bf16Parts(%2) axis=-1 factor=right
    %4: f32[2,2] = MatMul(%1, %3) transpose_a=true transpose_b=true f32_result=true | relu
    output %4 "y")");
  expect_narrowed(parts, R"(
    input %0 "x": f32[1,2,3]
    const %1: f32[2,2,1] = {1, 2, 3, 4}
    const %2: f32[2] = {1, 2}
    %3: f32[1,2,3] = Conv(%0, %1, %2)
    %4: f32[1,2,3] = Conv(%0, %1)
    output %3 "y"
    output %4 "z")",
                  R"(
    input %0 "x": f32[1,2,3]
    %1: bf16[1,6,3] = Bf16Parts(%0) axis=1
    const %2: f32[2,2,1] = {1, 2, 3, 4}
    %3: bf16[2,6,1] = Bf16Parts(%2) axis=1 factor=right
    const %4: f32[2] = {1, 2}
    %5: f32[1,2,3] = Conv(%1, %3, %4) f32_result=true
    %6: f32[1,2,3] = Conv(%1, %3) f32_result=true
    output %5 "y"
    output %6 "z")");
}

TEST(NarrowProducts, AResultForProductsAloneIsBf16) {
  expect_narrowed(all, R"(
    input %0 "x": f32[2,3]
    const %1: f32[3,2] = {1, 2, 3, 4, 5, 6}
    const %2: f32[2,2] = {1, 2, 3, 4}
    %3: f32[2,2] = MatMul(%0, %1)
    %4: f32[2,2] = MatMul(%3, %2)
    %5: f32[2,2] = MatMul(%3, %2)
    output %4 "y"
    output %5 "z")",
                  R"(
    input %0 "x": f32[2,3]
    %1: bf16[2,3] = Cast(%0) to=bf16
    const %2: f32[3,2] = {1, 2, 3, 4, 5, 6}
    %3: bf16[3,2] = Cast(%2) to=bf16
    %4: bf16[2,2] = MatMul(%1, %3)
    const %5: f32[2,2] = {1, 2, 3, 4}
    %6: bf16[2,2] = Cast(%5) to=bf16
    %7: f32[2,2] = MatMul(%4, %6) f32_result=true
    %8: f32[2,2] = MatMul(%4, %6) f32_result=true
    output %7 "y"
    output %8 "z")");
}

// A residual of a product with a narrow result is narrow too, and its bias.
TEST(NarrowProducts, PostOpsAndBiasAreAsTheResult) {
  const std::string_view before = R"(
    input %0 "x": f32[1,2,3]
    const %1: f32[2,2,1] = {1, 2, 3, 4}
    const %2: f32[2] = {1, 2}
    %3: f32[1,2,3] = Conv(%0, %1, %2)
    %4: f32[1,2,3] = Conv(%3, %1, %2) | relu | add(%3)
    %5: f32[1,2,3] = Conv(%4, %1)
    output %5 "y")";
  expect_narrowed(all, before, R"(
    input %0 "x": f32[1,2,3]
    %1: bf16[1,2,3] = Cast(%0) to=bf16
    const %2: f32[2,2,1] = {1, 2, 3, 4}
    %3: bf16[2,2,1] = Cast(%2) to=bf16
    const %4: f32[2] = {1, 2}
    %5: bf16[2] = Cast(%4) to=bf16
    %6: bf16[1,2,3] = Conv(%1, %3, %5)
    %7: bf16[1,2,3] = Conv(%6, %3, %5) | relu | add(%6)
    %8: f32[1,2,3] = Conv(%7, %3) f32_result=true
    output %8 "y")");
  // Where results may not be, what they add is not either.
  expect_narrowed([](const Graph&, const Node&) { return Narrow::factors; }, before, R"(
    input %0 "x": f32[1,2,3]
    %1: bf16[1,2,3] = Cast(%0) to=bf16
    const %2: f32[2,2,1] = {1, 2, 3, 4}
    %3: bf16[2,2,1] = Cast(%2) to=bf16
    const %4: f32[2] = {1, 2}
    %5: f32[1,2,3] = Conv(%1, %3, %4) f32_result=true
    %6: bf16[1,2,3] = Cast(%5) to=bf16
    %7: f32[1,2,3] = Conv(%6, %3, %4) f32_result=true | relu | add(%5)
    %8: bf16[1,2,3] = Cast(%7) to=bf16
    %9: f32[1,2,3] = Conv(%8, %3) f32_result=true
    output %9 "y")");
}

TEST(NarrowProducts, OthersAreLeftAlone) {
  const std::string_view text = R"(
    input %0 "x": f32[1,2,3]
    const %1: f32[2,2,1] = {1, 2, 3, 4}
    %2: f32[1,2,3] = Conv(%0, %1)
    %3: f32[1,2,3] = Unary(%2) kind=exp
    output %3 "y")";
  expect_narrowed([](const Graph&, const Node&) { return Narrow::nothing; }, text, text);
}

}  // namespace
}  // namespace quern::testing
