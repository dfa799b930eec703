// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(Softmax, WithTheGreatestTakenOff) {
  expect_becomes({}, R"(
    input %0 "x": f32[2,3,4]
    const %1: i64[1] = {1}
    const %2: i64[1] = {-2}
    %3: f32[2,1,4] = Reduce(%0, %2) kind=max
    %4: f32[2,3,4] = Binary(%0, %3) kind=sub
    %5: f32[2,3,4] = Unary(%4) kind=exp
    %6: f32[2,1,4] = Reduce(%5, %1) kind=sum
    %7: f32[2,3,4] = Binary(%5, %6) kind=div
    output %7 "y")",
                 R"(
    input %0 "x": f32[2,3,4]
    %1: f32[2,3,4] = Softmax(%0) kind=softmax axis=1
    output %1 "y")");
}

TEST(Softmax, PlainAndByReciprocal) {
  expect_becomes({}, R"(
    input %0 "x": f32[2,3]
    const %1: i64[1] = {-1}
    %2: f32[2,3] = Unary(%0) kind=exp
    %3: f32[2,1] = Reduce(%2, %1) kind=sum
    %4: f32[2,1] = Unary(%3) kind=reciprocal
    %5: f32[2,3] = Binary(%4, %2) kind=mul
    output %5 "y")",
                 R"(
    input %0 "x": f32[2,3]
    %1: f32[2,3] = Softmax(%0) kind=softmax
    output %1 "y")");
}

TEST(Softmax, StaysOverTwoAxesOrOtherSums) {
  expect_stays({"recognise_softmax", "drop_softmax_shift"}, R"(
    input %0 "x": f32[2,3]
    const %1: i64[2] = {0, 1}
    const %2: i64[1] = {1}
    const %3: i64[1] = {0}
    %4: f32[2,3] = Unary(%0) kind=exp
    %5: f32[1,1] = Reduce(%4, %1) kind=sum
    %6: f32[2,3] = Binary(%4, %5) kind=div
    %7: f32[2,1] = Reduce(%0, %2) kind=sum
    %8: f32[2,3] = Binary(%4, %7) kind=div
    %9: f32[1,3] = Reduce(%0, %3) kind=max
    %10: f32[2,3] = Binary(%0, %9) kind=sub
    %11: f32[2,3] = Softmax(%10) kind=softmax
    output %6 "a"
    output %8 "b"
    output %11 "c")");
}

TEST(LogSoftmax, OfSoftmaxAndSpelledOut) {
  expect_becomes({}, R"(
    input %0 "x": f32[2,3]
    const %1: i64[1] = {1}
    %2: f32[2,3] = Softmax(%0) kind=softmax
    %3: f32[2,3] = Unary(%2) kind=log
    %4: f32[2,1] = Reduce(%0, %1) kind=max
    %5: f32[2,3] = Binary(%0, %4) kind=sub
    %6: f32[2,3] = Unary(%5) kind=exp
    %7: f32[2,1] = Reduce(%6, %1) kind=sum
    %8: f32[2,1] = Unary(%7) kind=log
    %9: f32[2,3] = Binary(%5, %8) kind=sub
    output %3 "y"
    output %9 "z")",
                 R"(
    input %0 "x": f32[2,3]
    %1: f32[2,3] = Softmax(%0) kind=log_softmax
    %2: f32[2,3] = Softmax(%0) kind=log_softmax axis=1
    output %1 "y"
    output %2 "z")");
}

}  // namespace
}  // namespace quern::testing
