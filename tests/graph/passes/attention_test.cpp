// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(Attention, WithScaleAndMask) {
  expect_becomes({}, R"(
    input %0 "q": f32[2,3,4,8]
    input %1 "k": f32[2,3,5,8]
    input %2 "v": f32[2,3,5,6]
    input %3 "mask": f32[2,1,1,5]
    const %4: f32[] = {3}
    %5: f32[2,3,8,5] = Transpose(%1) perm=[0,1,3,2]
    %6: f32[2,3,4,5] = MatMul(%0, %5)
    %7: f32[2,3,4,5] = Binary(%6, %4) kind=div
    %8: f32[2,3,4,5] = Binary(%7, %3) kind=add
    %9: f32[2,3,4,5] = Softmax(%8) kind=softmax
    %10: f32[2,3,4,6] = MatMul(%9, %2)
    output %10 "y")",
                 R"(
    input %0 "q": f32[2,3,4,8]
    input %1 "k": f32[2,3,5,8]
    input %2 "v": f32[2,3,5,6]
    input %3 "mask": f32[2,1,1,5]
    %4: f32[2,3,4,6] = Attention(%0, %1, %2, %3) scale=0.33333334
    output %4 "y")");
}

TEST(Attention, StaysWhereItsScaleWouldLoseDigits) {
  expect_stays({"recognise_attention"}, R"(
    input %0 "q": f64[2,3,4,8]
    input %1 "k": f64[2,3,8,5]
    input %2 "v": f64[2,3,5,6]
    const %3: f64[] = {0.1}
    %4: f64[2,3,4,5] = MatMul(%0, %1)
    %5: f64[2,3,4,5] = Binary(%4, %3) kind=mul
    %6: f64[2,3,4,5] = Softmax(%5) kind=softmax
    %7: f64[2,3,4,6] = MatMul(%6, %2)
    output %7 "y")");
}

// Keys turned by a transpose that does more, scaled query and key, dimensions that are symbols.
TEST(Attention, OfSymbolicShapes) {
  expect_becomes({"recognise_attention", "move_constant_right"}, R"(
    input %0 "q": f32[N,12,S,64]
    input %1 "k": f32[N,S,12,64]
    input %2 "v": f32[N,12,S,64]
    const %3: f32[] = {0.5}
    %4: f32[N,12,64,S] = Transpose(%1) perm=[0,2,3,1]
    %5: f32[N,12,S,64] = Binary(%0, %3) kind=mul
    %6: f32[N,12,64,S] = Binary(%4, %3) kind=mul
    %7: f32[N,12,S,S] = MatMul(%5, %6)
    %8: f32[N,12,S,S] = Softmax(%7) kind=softmax axis=3
    %9: f32[N,12,S,64] = MatMul(%8, %2)
    output %9 "y")",
                 R"(
    input %0 "q": f32[N,12,S,64]
    input %1 "k": f32[N,S,12,64]
    input %2 "v": f32[N,12,S,64]
    %3: f32[N,12,64,S] = Transpose(%1) perm=[0,2,3,1]
    %4: f32[N,12,S,64] = Attention(%0, %3, %2) scale=0.25 k_transposed=true
    output %4 "y")");
}

TEST(Attention, WithABoolMask) {
  expect_becomes({"recognise_attention"}, R"(
    input %0 "q": f32[1,3,4,8]
    input %1 "k": f32[1,3,5,8]
    input %2 "v": f32[1,3,5,6]
    const %3: bool[1,1,4,5] = {true,false,false,false,false,true,true,false,false,false,true,true,true,false,false,true,true,true,true,false}
    const %4: f32[] = {-inf}
    %5: f32[1,3,4,5] = MatMul(%0, %1) transpose_b=true alpha=0.5
    %6: f32[1,3,4,5] = Where(%3, %5, %4)
    %7: f32[1,3,4,5] = Softmax(%6) kind=softmax
    %8: f32[1,3,4,6] = MatMul(%7, %2)
    output %8 "y")",
                 R"(
    input %0 "q": f32[1,3,4,8]
    input %1 "k": f32[1,3,5,8]
    input %2 "v": f32[1,3,5,6]
    const %3: bool[1,1,4,5] = {true,false,false,false,false,true,true,false,false,false,true,true,true,false,false,true,true,true,true,false}
    %4: f32[1,3,4,6] = Attention(%0, %1, %2, %3) scale=0.5
    output %4 "y")");
  expect_becomes({"recognise_attention"}, R"(
    input %0 "q": f32[3,4,8]
    input %1 "k": f32[3,2,8]
    input %2 "v": f32[3,2,6]
    const %3: bool[2] = {true,false}
    const %4: f32[] = {-inf}
    %5: f32[3,4,2] = MatMul(%0, %1) transpose_b=true
    %6: f32[3,4,2] = Where(%3, %4, %5)
    %7: f32[3,4,2] = Softmax(%6) kind=softmax
    %8: f32[3,4,6] = MatMul(%7, %2)
    output %8 "y")",
                 R"(
    input %0 "q": f32[3,4,8]
    input %1 "k": f32[3,2,8]
    input %2 "v": f32[3,2,6]
    const %3: bool[2] = {true,false}
    %4: bool[2] = Unary(%3) kind=logical_not
    %5: f32[3,4,6] = Attention(%0, %1, %2, %4)
    output %5 "y")");
}

// A finite number hides a key only from others that are not hidden.
TEST(Attention, StaysForAFiniteNumberUnderTheMask) {
  expect_stays({"recognise_attention"}, R"(
    input %0 "q": f32[1,3,4,8]
    input %1 "k": f32[1,3,5,8]
    input %2 "v": f32[1,3,5,6]
    input %3 "mask": bool[1,1,4,5]
    const %4: f32[] = {-1e9}
    %5: f32[1,3,4,5] = MatMul(%0, %1) transpose_b=true
    %6: f32[1,3,4,5] = Where(%3, %5, %4)
    %7: f32[1,3,4,5] = Softmax(%6) kind=softmax
    %8: f32[1,3,4,6] = MatMul(%7, %2)
    output %8 "y")");
}

TEST(Attention, StaysWhereSomethingElseIsRead) {
  expect_stays({"recognise_attention"}, R"(
    input %0 "q": f32[1,3,4,8]
    input %1 "k": f32[1,3,5,8]
    input %2 "v": f32[1,3,5,6]
    %3: f32[1,3,4,5] = MatMul(%0, %1) transpose_b=true
    %4: f32[1,3,4,5] = Softmax(%3) kind=softmax
    %5: f32[1,3,4,6] = MatMul(%4, %2)
    output %4 "weights"
    output %5 "y")");
}

TEST(Attention, StaysForRanksThatDiffer) {
  expect_stays({"recognise_attention"}, R"(
    input %0 "q": f32[2,5,4,8]
    input %1 "k": f32[5,5,8]
    input %2 "v": f32[5,5,6]
    %3: f32[2,5,4,5] = MatMul(%0, %1) transpose_b=true
    %4: f32[2,5,4,5] = Softmax(%3) kind=softmax
    %5: f32[2,5,4,6] = MatMul(%4, %2)
    output %5 "y")");
}

TEST(Attention, StaysWhereARankIsUnknown) {
  expect_stays({"recognise_attention"}, R"(
    input %0 "q": f32[*]
    input %1 "k": f32[1,3,5,8]
    input %2 "v": f32[1,3,5,6]
    %3: f32[*] = MatMul(%0, %1) transpose_b=true
    %4: f32[*] = Softmax(%3) kind=softmax
    %5: f32[*] = MatMul(%4, %2)
    output %5 "y")");
}

TEST(Attention, StaysForOtherAxesRanksHeadsAndOrders) {
  expect_stays({"recognise_attention"}, R"(
    input %0 "q": f32[1,3,5,8]
    input %1 "k": f32[1,3,5,8]
    input %2 "v": f32[1,3,5,6]
    input %3 "a": f32[5,8]
    input %4 "w": f32[3,1,5,6]
    input %5 "mask": f32[5,5]
    const %6: f32[] = {0.5}
    %7: f32[1,3,5,5] = MatMul(%0, %1) transpose_b=true
    %8: f32[1,3,5,5] = Softmax(%7) kind=softmax axis=2
    %9: f32[1,3,5,6] = MatMul(%8, %2)
    %10: f32[5,5] = MatMul(%3, %3) transpose_b=true
    %11: f32[5,5] = Softmax(%10) kind=softmax
    %12: f32[5,8] = MatMul(%11, %3)
    %13: f32[1,3,5,5] = MatMul(%0, %1) transpose_b=true
    %14: f32[1,3,5,5] = Softmax(%13) kind=softmax
    %15: f32[3,3,5,6] = MatMul(%14, %4)
    %16: f32[1,3,5,5] = MatMul(%0, %1) transpose_b=true
    %17: f32[1,3,5,5] = Binary(%16, %5) kind=add
    %18: f32[1,3,5,5] = Binary(%17, %6) kind=mul
    %19: f32[1,3,5,5] = Softmax(%18) kind=softmax
    %20: f32[1,3,5,6] = MatMul(%19, %2)
    output %9 "a"
    output %12 "b"
    output %15 "c"
    output %20 "d")");
}

}  // namespace
}  // namespace quern::testing
