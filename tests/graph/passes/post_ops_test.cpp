// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(Fuse, ActivationAndResidual) {
  expect_becomes({}, R"(
    input %0 "x": f32[1,2,3]
    input %1 "r": f32[1,2,3]
    const %2: f32[2,2,1] = {1, 2, 3, 4}
    %3: f32[1,2,3] = Conv(%0, %2)
    %4: f32[1,2,3] = Unary(%3) kind=sigmoid
    %5: f32[1,2,3] = Binary(%1, %4) kind=sub
    %6: f32[1,2,3] = Unary(%5) kind=clip alpha=-1 beta=6
    output %6 "y")",
                 R"(
    input %0 "x": f32[1,2,3]
    input %1 "r": f32[1,2,3]
    const %2: f32[2,2,1] = {1, 2, 3, 4}
    %3: f32[1,2,3] = Conv(%0, %2) | sigmoid | sub(%1) swapped | clip(-1,6)
    output %3 "y")");
}

TEST(Fuse, ResidualIntoTheLaterConvolution) {
  expect_becomes({}, R"(
    input %0 "x": f32[1,2,3]
    input %1 "w": f32[2,2,1]
    %2: f32[1,2,3] = Conv(%0, %1)
    %3: f32[1,2,3] = Unary(%0) kind=exp
    %4: f32[1,2,3] = Conv(%3, %1)
    %5: f32[1,2,3] = Binary(%4, %2) kind=add
    output %5 "y")",
                 R"(
    input %0 "x": f32[1,2,3]
    input %1 "w": f32[2,2,1]
    %2: f32[1,2,3] = Conv(%0, %1)
    %3: f32[1,2,3] = Unary(%0) kind=exp
    %4: f32[1,2,3] = Conv(%3, %1) | add(%2)
    output %4 "y")");
}

// The other operand comes from the same value; what is fused goes where the sum stood.
TEST(Fuse, IntoTheEarlierOneWhereTheLaterCannot) {
  expect_becomes({}, R"(
    input %0 "x": f32[1,2,3]
    input %1 "w": f32[2,2,1]
    %2: f32[1,2,3] = Conv(%0, %1)
    %3: f32[1,2,3] = Softmax(%0) kind=softmax
    %4: f32[1,2,3] = Binary(%2, %3) kind=mul
    output %4 "y")",
                 R"(
    input %0 "x": f32[1,2,3]
    input %1 "w": f32[2,2,1]
    %2: f32[1,2,3] = Softmax(%0) kind=softmax
    %3: f32[1,2,3] = Conv(%0, %1) | mul(%2)
    output %3 "y")");
}

TEST(Fuse, PrefersAConvolutionToAnElementwiseNode) {
  expect_becomes({"fuse_unary", "fuse_binary"}, R"(
    input %0 "x": f32[1,2,3]
    input %1 "w": f32[2,2,1]
    %2: f32[1,2,3] = Conv(%0, %1)
    %3: f32[1,2,3] = Unary(%0) kind=exp
    %4: f32[1,2,3] = Binary(%3, %2) kind=add
    output %4 "y")",
                 R"(
    input %0 "x": f32[1,2,3]
    input %1 "w": f32[2,2,1]
    %2: f32[1,2,3] = Unary(%0) kind=exp
    %3: f32[1,2,3] = Conv(%0, %1) | add(%2)
    output %3 "y")");
}

TEST(Fuse, BiasOfMatMulFirst) {
  expect_becomes({}, R"(
    input %0 "x": f32[N,4,2]
    const %1: f32[2,3] = {1, 2, 3, 4, 5, 6}
    const %2: f32[3] = {7, 8, 9}
    input %3 "r": f32[N,4,3]
    %4: f32[N,4,3] = MatMul(%0, %1)
    %5: f32[N,4,3] = Binary(%2, %4) kind=add
    %6: f32[N,4,3] = Unary(%5) kind=gelu
    %7: f32[N,4,3] = Binary(%6, %3) kind=add
    output %7 "y")",
                 R"(
    input %0 "x": f32[N,4,2]
    input %1 "r": f32[N,4,3]
    const %2: f32[2,3] = {1, 2, 3, 4, 5, 6}
    const %3: f32[3] = {7, 8, 9}
    %4: f32[N,4,3] = MatMul(%0, %2) | add(%3) | gelu | add(%1)
    output %4 "y")");
}

TEST(Fuse, ElementwiseChains) {
  expect_becomes({"fuse_unary", "fuse_binary"}, R"(
    input %0 "x": f32[2,3]
    input %1 "a": f32[3]
    %2: f32[2,3] = Binary(%0, %1) kind=mul
    %3: f32[2,3] = Unary(%2) kind=exp
    %4: f32[2,3] = Binary(%1, %3) kind=div
    %5: f32[2,3] = Binary(%4, %0) kind=prelu
    output %5 "y")",
                 R"(
    input %0 "x": f32[2,3]
    input %1 "a": f32[3]
    %2: f32[2,3] = Binary(%0, %1) kind=mul | exp | div(%1) swapped | prelu(%0)
    output %2 "y")");
}

// A chain that has become post-ops of one node moves on with its operands.
TEST(Fuse, PostOpsOfTheReaderComeAlong) {
  expect_becomes({"fuse_unary"}, R"(
    input %0 "x": f32[2,3]
    input %1 "a": f32[3]
    %2: f32[2,3] = Binary(%0, %1) kind=mul | relu
    %3: f32[2,3] = Unary(%2) kind=exp | add(%1)
    output %3 "y")",
                 R"(
    input %0 "x": f32[2,3]
    input %1 "a": f32[3]
    %2: f32[2,3] = Binary(%0, %1) kind=mul | relu | exp | add(%1)
    output %2 "y")");
}

TEST(Fuse, StaysWhereTheResultIsReadTwiceOrHandedOut) {
  expect_stays({"fuse_unary", "fuse_binary"}, R"(
    input %0 "x": f32[2,3]
    input %1 "w": f32[3,3]
    %2: f32[2,3] = MatMul(%0, %1)
    %3: f32[2,3] = Softmax(%2) kind=softmax
    %4: f32[2,3] = Unary(%2) kind=relu
    %5: f32[2,3] = MatMul(%3, %1)
    %6: f32[2,3] = Unary(%5) kind=relu
    %7: f32[2,3] = MatMul(%4, %1)
    %8: f32[2,3] = Binary(%7, %7) kind=mul
    output %5 "handed out"
    output %6 "y"
    output %8 "z")");
}

TEST(Fuse, StaysWhereTheShapeGrowsOrTypesDiffer) {
  // A function that no kernel applies to its result.
  expect_stays({"fuse_unary", "fuse_binary"}, R"(
    input %0 "x": f32[1,3]
    input %1 "w": f32[3,3]
    %2: f32[1,3] = MatMul(%0, %1)
    %3: f32[1,3] = Binary(%2, %0) kind=pow
    output %3 "y")");
  expect_stays({"fuse_unary", "fuse_binary"}, R"(
    input %0 "x": f32[1,3]
    input %1 "w": f32[3,3]
    input %2 "big": f32[2,3]
    input %3 "u": f32[?,3]
    input %4 "i": i32[2]
    %5: f32[1,3] = MatMul(%0, %1)
    %6: f32[2,3] = Binary(%5, %2) kind=add
    %7: f32[?,3] = MatMul(%3, %1)
    %8: f32[?,3] = Binary(%7, %0) kind=add
    %9: f32[1,3] = MatMul(%0, %1)
    %10: bool[1,3] = Unary(%9) kind=is_nan
    %11: f32[1,3] = MatMul(%0, %1)
    %12: bool[1,3] = Binary(%11, %0) kind=less
    %13: i32[2] = Binary(%4, %4) kind=add
    %14: i32[2] = Unary(%13) kind=abs
    %15: f32[1,3] = MatMul(%0, %1)
    %16: f32[1,3] = Binary(%0, %15) kind=prelu
    output %6 "a"
    output %8 "b"
    output %10 "c"
    output %12 "d"
    output %14 "e"
    output %16 "f")");
}

// Weights that are an expression are computed once; what a run adds is not put into them.
TEST(Fuse, StaysOverConstantExpressions) {
  expect_stays({"fuse_unary", "fuse_binary"}, R"(
    input %0 "x": f32[200,200]
    const %1: f32[200,200] = ...
    %2: f32[200,200] = Unary(%1) kind=neg
    %3: f32[200,200] = Binary(%2, %0) kind=sub
    output %3 "y")");
}

TEST(Fuse, KeepsTheNameOfTheOperator) {
  Graph g = graph_of(R"(
    input %0 "x": f32[2,3]
    input %1 "w": f32[3,3]
    %2 "product": f32[2,3] = MatMul(%0, %1) @"matmul_7"
    %3 "activated": f32[2,3] = Unary(%2) kind=relu @"relu_8"
    output %3 "y")");
  apply(g);
  const Node& n = g.node(g.order()[0]);
  EXPECT_EQ(n.name, "matmul_7");
  EXPECT_EQ(g.value(n.outputs[0]).name, "activated");
}

}  // namespace
}  // namespace quern::testing
