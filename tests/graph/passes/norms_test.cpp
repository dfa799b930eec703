// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

constexpr std::string_view whole_layer_norm = R"(
    input %0 "x": f32[2,3,8]
    input %1 "s": f32[8]
    const %2: f32[8] = {1, 2, 3, 4, 5, 6, 7, 8}
    %3: f32[2,3,8] = LayerNorm(%0, %1, %2) epsilon=1e-06
    output %3 "y")";

TEST(LayerNorm, AsExportedForOpset13) {
  expect_becomes({}, R"(
    input %0 "x": f32[2,3,8]
    input %1 "s": f32[8]
    const %2: f32[8] = {1, 2, 3, 4, 5, 6, 7, 8}
    const %3: i64[1] = {-1}
    const %4: f32[] = {2}
    const %5: f32[] = {1e-6}
    %6: f32[2,3,1] = Reduce(%0, %3) kind=mean
    %7: f32[2,3,8] = Binary(%0, %6) kind=sub
    %8: f32[2,3,8] = Binary(%7, %4) kind=pow
    %9: f32[2,3,1] = Reduce(%8, %3) kind=mean
    %10: f32[2,3,1] = Binary(%9, %5) kind=add
    %11: f32[2,3,1] = Unary(%10) kind=sqrt
    %12: f32[2,3,8] = Binary(%7, %11) kind=div
    %13: f32[2,3,8] = Binary(%12, %1) kind=mul
    %14: f32[2,3,8] = Binary(%13, %2) kind=add
    output %14 "y")",
                 whole_layer_norm);
}

// The difference twice, a reciprocal, axes from the front.
TEST(LayerNorm, ByReciprocal) {
  expect_becomes({}, R"(
    input %0 "x": f32[2,3,8]
    input %1 "s": f32[8]
    const %2: f32[8] = {1, 2, 3, 4, 5, 6, 7, 8}
    const %3: i64[1] = {2}
    const %4: f32[] = {1}
    const %5: f32[] = {1e-6}
    %6: f32[2,3,1] = Reduce(%0, %3) kind=mean
    %7: f32[2,3,8] = Binary(%0, %6) kind=sub
    %8: f32[2,3,8] = Binary(%0, %6) kind=sub
    %9: f32[2,3,8] = Binary(%8, %8) kind=mul
    %10: f32[2,3,1] = Reduce(%9, %3) kind=mean
    %11: f32[2,3,1] = Binary(%5, %10) kind=add
    %12: f32[2,3,1] = Unary(%11) kind=sqrt
    %13: f32[2,3,1] = Binary(%4, %12) kind=div
    %14: f32[2,3,8] = Binary(%7, %13) kind=mul
    %15: f32[2,3,8] = Binary(%1, %14) kind=mul
    %16: f32[2,3,8] = Binary(%2, %15) kind=add
    output %16 "y")",
                 whole_layer_norm);
}

TEST(LayerNorm, OverTwoDimensionsOfUnknownRank) {
  expect_becomes({}, R"(
    input %0 "x": f32[*]
    const %1: i64[2] = {-1, -2}
    const %2: f32[] = {1e-5}
    %3: f32[*] = Reduce(%0, %1) kind=mean
    %4: f32[*] = Binary(%0, %3) kind=sub
    %5: f32[*] = Binary(%4, %4) kind=mul
    %6: f32[*] = Reduce(%5, %1) kind=mean
    %7: f32[*] = Binary(%6, %2) kind=add
    %8: f32[*] = Unary(%7) kind=sqrt
    %9: f32[*] = Binary(%4, %8) kind=div
    output %9 "y")",
                 R"(
    input %0 "x": f32[*]
    %1: f32[*] = LayerNorm(%0) axis=-2
    output %1 "y")");
}

TEST(RmsNorm, WithoutMean) {
  expect_becomes({}, R"(
    input %0 "x": f32[2,8]
    input %1 "s": f32[8]
    const %2: i64[1] = {-1}
    const %3: f32[] = {1e-6}
    const %4: f32[] = {-0.5}
    %5: f32[2,8] = Binary(%0, %0) kind=mul
    %6: f32[2,1] = Reduce(%5, %2) kind=mean
    %7: f32[2,1] = Binary(%6, %3) kind=add
    %8: f32[2,1] = Binary(%7, %4) kind=pow
    %9: f32[2,8] = Binary(%0, %8) kind=mul
    %10: f32[2,8] = Binary(%1, %9) kind=mul
    output %10 "y")",
                 R"(
    input %0 "x": f32[2,8]
    input %1 "s": f32[8]
    %2: f32[2,8] = LayerNorm(%0, %1) epsilon=1e-06 center=false
    output %2 "y")");
}

// 0.01 as float is off by 2e-10 of it: a thousand thousand units in the last place of f64.
TEST(RmsNorm, StaysWhereItsEpsilonWouldLoseDigits) {
  expect_stays({"recognise_rms_norm"}, R"(
    input %0 "x": f64[2,8]
    const %1: i64[1] = {-1}
    const %2: f64[] = {0.01}
    %3: f64[2,8] = Binary(%0, %0) kind=mul
    %4: f64[2,1] = Reduce(%3, %1) kind=mean
    %5: f64[2,1] = Binary(%4, %2) kind=add
    %6: f64[2,1] = Unary(%5) kind=sqrt
    %7: f64[2,8] = Binary(%0, %6) kind=div
    output %7 "y")");
}

TEST(RmsNorm, OfDoublesWhoseEpsilonIsAFloat) {
  expect_becomes({"recognise_rms_norm"}, R"(
    input %0 "x": f64[2,8]
    const %1: i64[1] = {-1}
    const %2: f64[] = {0.0078125}
    %3: f64[2,8] = Binary(%0, %0) kind=mul
    %4: f64[2,1] = Reduce(%3, %1) kind=mean
    %5: f64[2,1] = Binary(%4, %2) kind=add
    %6: f64[2,1] = Unary(%5) kind=sqrt
    %7: f64[2,8] = Binary(%0, %6) kind=div
    output %7 "y")",
                 R"(
    input %0 "x": f64[2,8]
    %1: f64[2,8] = LayerNorm(%0) epsilon=0.0078125 center=false
    output %1 "y")");
}

TEST(LayerNorm, StaysOverChannelsAndOfOtherValues) {
  expect_stays({"recognise_rms_norm", "center_layer_norm"}, R"(
    input %0 "x": f32[2,3,4,4]
    input %1 "z": f32[2,3,4,4]
    const %2: i64[1] = {1}
    const %3: f32[] = {1e-6}
    const %4: i64[1] = {-1}
    %5: f32[2,3,4,4] = Binary(%0, %0) kind=mul
    %6: f32[2,1,4,4] = Reduce(%5, %2) kind=mean
    %7: f32[2,1,4,4] = Binary(%6, %3) kind=add
    %8: f32[2,1,4,4] = Unary(%7) kind=sqrt
    %9: f32[2,3,4,4] = Binary(%0, %8) kind=div
    %10: f32[2,3,4,1] = Reduce(%5, %4) kind=mean
    %11: f32[2,3,4,1] = Binary(%10, %3) kind=add
    %12: f32[2,3,4,1] = Unary(%11) kind=sqrt
    %13: f32[2,3,4,4] = Binary(%1, %12) kind=div
    %14: f32[2,3,4,1] = Reduce(%0, %4) kind=mean
    %15: f32[2,3,4,4] = Binary(%1, %14) kind=sub
    %16: f32[2,3,4,4] = LayerNorm(%15) center=false
    output %9 "a"
    output %13 "b"
    output %16 "c")");
}

// No axes are all of them: the sums run over samples as well.
TEST(LayerNorm, StaysOverAllAxesByDefault) {
  expect_stays({"recognise_rms_norm", "center_layer_norm"}, R"(
    input %0 "x": f32[2,3]
    const %1: i64[0] = {}
    const %2: f32[] = {1e-6}
    %3: f32[1,1] = Reduce(%0, %1) kind=mean
    %4: f32[2,3] = Binary(%0, %3) kind=sub
    %5: f32[2,3] = Binary(%4, %4) kind=mul
    %6: f32[1,1] = Reduce(%5, %1) kind=mean
    %7: f32[1,1] = Binary(%6, %2) kind=add
    %8: f32[1,1] = Unary(%7) kind=sqrt
    %9: f32[2,3] = Binary(%4, %8) kind=div
    output %9 "y")");
}

TEST(LayerNorm, TakesOnlyParametersOfWhatItNormalises) {
  expect_stays({"scale_layer_norm", "bias_layer_norm"}, R"(
    input %0 "x": f32[2,3,8]
    input %1 "s": f32[3,1]
    input %2 "b": f32[1]
    input %3 "t": f32[2,1,8]
    input %4 "u": f32[8]
    %5: f32[2,3,8] = LayerNorm(%0)
    %6: f32[2,3,8] = Binary(%5, %1) kind=mul
    %7: f32[2,3,8] = LayerNorm(%0)
    %8: f32[2,3,8] = Binary(%7, %2) kind=add
    %9: f32[2,3,8] = LayerNorm(%0)
    %10: f32[2,3,8] = Binary(%9, %3) kind=mul
    %11: f32[2,3,8] = LayerNorm(%0, _, %4)
    %12: f32[2,3,8] = Binary(%11, %4) kind=mul
    %13: f32[2,3,8] = LayerNorm(%0)
    %14: f32[2,3,8] = Binary(%13, %4) kind=mul
    output %6 "a"
    output %8 "b"
    output %10 "c"
    output %12 "d"
    output %13 "e"
    output %14 "f")");
}

TEST(GroupNorm, AroundReshapes) {
  expect_becomes({}, R"(
    input %0 "x": f32[2,4,3,3]
    const %1: i64[3] = {2, 2, -1}
    const %2: i64[4] = {2, 4, 3, 3}
    const %3: f32[2] = {1, 1}
    const %4: f32[2] = {0, 0}
    const %5: f32[4,1,1] = {1, 2, 3, 4}
    const %6: f32[4,1,1] = {5, 6, 7, 8}
    %7: f32[2,2,18] = Reshape(%0, %1)
    %8: f32[2,2,18] = GroupNorm(%7, %3, %4) epsilon=0.001
    %9: f32[2,4,3,3] = Reshape(%8, %2)
    %10: f32[2,4,3,3] = Binary(%9, %5) kind=mul
    %11: f32[2,4,3,3] = Binary(%10, %6) kind=add
    output %11 "y")",
                 R"(
    input %0 "x": f32[2,4,3,3]
    const %1: f32[4] = {1, 2, 3, 4}
    const %2: f32[4] = {5, 6, 7, 8}
    %3: f32[2,4,3,3] = GroupNorm(%0, %1, %2) groups=2 epsilon=0.001
    output %3 "y")");
}

TEST(GroupNorm, StaysWhereTheReshapeMixesSamplesOrHasAScale) {
  expect_stays({"recognise_group_norm"}, R"(
    input %0 "x": f32[2,4,3,3]
    const %1: i64[3] = {1, 2, -1}
    const %2: i64[4] = {2, 4, 3, 3}
    const %3: f32[2] = {1, 1}
    const %4: f32[2] = {0, 0}
    const %5: f32[2] = {2, 1}
    const %6: i64[3] = {2, 2, -1}
    %7: f32[1,2,36] = Reshape(%0, %1)
    %8: f32[1,2,36] = GroupNorm(%7, %3, %4)
    %9: f32[2,4,3,3] = Reshape(%8, %2)
    %10: f32[2,2,18] = Reshape(%0, %6)
    %11: f32[2,2,18] = GroupNorm(%10, %5, %4)
    %12: f32[2,4,3,3] = Reshape(%11, %2)
    output %9 "y"
    output %12 "z")");
}

TEST(Reductions, SpelledOut) {
  expect_becomes({"recognise_reduction"}, R"(
    input %0 "x": f32[2,3]
    const %1: i64[1] = {1}
    %2: f32[2,3] = Binary(%0, %0) kind=mul
    %3: f32[2,1] = Reduce(%2, %1) kind=sum
    %4: f32[2,1] = Unary(%3) kind=sqrt
    %5: f32[2,3] = Unary(%0) kind=exp
    %6: f32[2] = Reduce(%5, %1) kind=sum keepdims=false
    %7: f32[2] = Unary(%6) kind=log
    %8: f32[2,3] = Unary(%0) kind=abs
    %9: f32[2,1] = Reduce(%8, %1) kind=sum
    output %4 "a"
    output %7 "b"
    output %9 "c")",
                 R"(
    input %0 "x": f32[2,3]
    const %1: i64[1] = {1}
    %2: f32[2,1] = Reduce(%0, %1) kind=l2
    %3: f32[2] = Reduce(%0, %1) kind=log_sum_exp keepdims=false
    %4: f32[2,1] = Reduce(%0, %1) kind=l1
    output %2 "a"
    output %3 "b"
    output %4 "c")");
  expect_stays({"recognise_reduction"}, R"(
    input %0 "x": i32[2,3]
    input %1 "z": f32[2,3]
    const %2: i64[1] = {1}
    %3: i32[2,3] = Binary(%0, %0) kind=mul
    %4: i32[2,1] = Reduce(%3, %2) kind=sum
    %5: f32[2,1] = Reduce(%1, %2) kind=sum_square
    %6: f32[2,1] = Unary(%5) kind=sqrt
    output %4 "a"
    output %5 "b"
    output %6 "c")");
}

TEST(VectorNorm, StaysWhereItsLeastNormWouldLoseDigits) {
  expect_stays({"recognise_vector_norm"}, R"(
    input %0 "x": f64[2,3]
    const %1: i64[1] = {1}
    %2: f64[2,1] = Reduce(%0, %1) kind=l2
    %3: f64[2,1] = Unary(%2) kind=clip alpha=0.01 beta=inf
    %4: f64[2,3] = Binary(%0, %3) kind=div
    output %4 "y")");
}

TEST(VectorNorm, WithALeastNorm) {
  expect_becomes({}, R"(
    input %0 "x": f32[2,3]
    const %1: i64[1] = {1}
    const %2: i64[2] = {2, 3}
    const %3: f32[] = {0.0009765625}
    %4: f32[2,1] = Reduce(%0, %1) kind=l2
    %5: f32[2,1] = Binary(%4, %3) kind=max
    %6: f32[2,3] = Expand(%5, %2)
    %7: f32[2,3] = Binary(%0, %6) kind=div
    output %7 "y")",
                 R"(
    input %0 "x": f32[2,3]
    %1: f32[2,3] = LpNorm(%0) axis=1 epsilon=0.0009765625
    output %1 "y")");
  // Zero vectors are NaN here.
  expect_stays({"recognise_vector_norm"}, R"(
    input %0 "x": f32[2,3]
    const %1: i64[1] = {1}
    %2: f32[2,1] = Reduce(%0, %1) kind=l2
    %3: f32[2,3] = Binary(%0, %2) kind=div
    output %3 "y")");
}

TEST(RecogniseGroupNorm, StaysWhereTheGroupsAreUnknown) {
  expect_stays({"recognise_group_norm"}, R"(
    input %0 "x": f32[1,4,6]
    input %1 "s": i64[?]
    const %2: f32[2] = {1, 1}
    const %3: f32[2] = {0, 0}
    const %4: i64[3] = {1, 4, 6}
    %5: f32[*] = Reshape(%0, %1)
    %6: f32[*] = GroupNorm(%5, %2, %3)
    %7: f32[1,4,6] = Reshape(%6, %4)
    output %7 "y")");
}

}  // namespace
}  // namespace quern::testing
