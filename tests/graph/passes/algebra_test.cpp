// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(MoveConstantRight, OfCommutativeOperators) {
  expect_becomes({"move_constant_right"}, R"(
    input %0 "x": f32[2,3]
    const %1: f32[3] = {1, 2, 3}
    %2: f32[2,3] = Binary(%1, %0) kind=mul
    %3: f32[2,3] = Binary(%1, %2) kind=sub
    output %3 "y")",
                 R"(
    input %0 "x": f32[2,3]
    const %1: f32[3] = {1, 2, 3}
    %2: f32[2,3] = Binary(%0, %1) kind=mul
    %3: f32[2,3] = Binary(%1, %2) kind=sub
    output %3 "y")");
}

TEST(DropNeutral, OfEveryOperatorThatHasOne) {
  expect_becomes({"drop_neutral"}, R"(
    input %0 "x": f32[2,3]
    const %1: f32[] = {0}
    const %2: f32[1,3] = {1, 1, 1}
    const %3: i64[] = {1}
    %4: f32[2,3] = Binary(%0, %1) kind=add
    %5: f32[2,3] = Binary(%4, %1) kind=sub
    %6: f32[2,3] = Binary(%5, %2) kind=mul
    %7: f32[2,3] = Binary(%6, %2) kind=div
    %8: f32[2,3] = Binary(%7, %3) kind=pow
    output %8 "y")",
                 R"(
    input %0 "x": f32[2,3]
    output %0 "y")");
}

TEST(DropNeutral, OfUnknownRankByAScalar) {
  expect_becomes({"drop_neutral"}, R"(
    input %0 "x": f32[*]
    const %1: f32[] = {0}
    %2: f32[*] = Binary(%0, %1) kind=add
    output %2 "y")",
                 R"(
    input %0 "x": f32[*]
    output %0 "y")");
}

TEST(DropNeutral, StaysWhereTheShapeGrowsOrMayGrow) {
  expect_stays({"drop_neutral"}, R"(
    input %0 "x": f32[1,3]
    const %1: f32[2,1] = {0, 0}
    %2: f32[2,3] = Binary(%0, %1) kind=add
    output %2 "y")");
  expect_stays({"drop_neutral"}, R"(
    input %0 "x": f32[?]
    const %1: f32[2] = {1, 1}
    %2: f32[2] = Binary(%0, %1) kind=mul
    output %2 "y")");
  expect_stays({"drop_neutral"}, R"(
    input %0 "x": f32[*]
    const %1: f32[1] = {1}
    %2: f32[*] = Binary(%0, %1) kind=mul
    output %2 "y")");
}

TEST(DropNeutral, StaysWhereTheNumberIsNotNeutral) {
  expect_stays({"drop_neutral"}, R"(
    input %0 "x": f32[2]
    const %1: f32[2] = {0, 1}
    const %2: f32[] = {0}
    %3: f32[2] = Binary(%0, %1) kind=add
    %4: f32[2] = Binary(%3, %2) kind=mul
    %5: f32[2] = Binary(%1, %4) kind=sub
    output %5 "y")");
}

TEST(DropLeftConstant, ZeroMinusAndOneOver) {
  expect_becomes({"drop_left_constant"}, R"(
    input %0 "x": f32[2]
    const %1: f32[] = {0}
    const %2: f32[1] = {1}
    %3: f32[2] = Binary(%1, %0) kind=sub
    %4: f32[2] = Binary(%2, %3) kind=div
    output %4 "y")",
                 R"(
    input %0 "x": f32[2]
    %1: f32[2] = Unary(%0) kind=neg
    %2: f32[2] = Unary(%1) kind=reciprocal
    output %2 "y")");
  expect_stays({"drop_left_constant"}, R"(
    input %0 "x": f32[]
    const %1: f32[2] = {1, 1}
    %2: f32[2] = Binary(%1, %0) kind=div
    output %2 "y")");
}

TEST(SubtractToAdd, FloatsOnly) {
  expect_becomes({"subtract_to_add"}, R"(
    input %0 "x": f32[2]
    const %1: f32[2] = {1, -2}
    %2: f32[2] = Binary(%0, %1) kind=sub
    output %2 "y")",
                 R"(
    input %0 "x": f32[2]
    const %1: f32[2] = {-1, 2}
    %2: f32[2] = Binary(%0, %1) kind=add
    output %2 "y")");
  expect_stays({"subtract_to_add"}, R"(
    input %0 "x": u8[2]
    const %1: u8[] = {1}
    %2: u8[2] = Binary(%0, %1) kind=sub
    output %2 "y")");
}

TEST(DivideToMultiply, ByPowersOfTwo) {
  expect_becomes({"divide_to_multiply"}, R"(
    input %0 "x": f32[3]
    const %1: f32[3] = {8, -0.25, 1}
    %2: f32[3] = Binary(%0, %1) kind=div
    output %2 "y")",
                 R"(
    input %0 "x": f32[3]
    const %1: f32[3] = {0.125, -4, 1}
    %2: f32[3] = Binary(%0, %1) kind=mul
    output %2 "y")",
                 0);
}

// The least normal reciprocal of each type, and the greatest.
TEST(DivideToMultiply, AsFarAsReciprocalsAreNormal) {
  expect_becomes({"divide_to_multiply"}, R"(
    input %0 "h": f16[2]
    const %1: f16[2] = {16384, 6.103515625e-05}
    %2: f16[2] = Binary(%0, %1) kind=div
    output %2 "y")",
                 R"(
    input %0 "h": f16[2]
    const %1: f16[2] = {6.103515625e-05, 16384}
    %2: f16[2] = Binary(%0, %1) kind=mul
    output %2 "y")",
                 0);
}

TEST(DivideToMultiply, StaysWhereTheReciprocalIsRounded) {
  expect_stays({"divide_to_multiply"}, R"(
    input %0 "x": f32[2]
    input %1 "h": f16[2]
    input %2 "i": i32[2]
    const %3: f32[] = {3}
    const %4: f32[] = {1.7014118e38}
    const %5: f16[] = {32768}
    const %6: i32[] = {2}
    const %7: f32[] = {0}
    %8: f32[2] = Binary(%0, %3) kind=div
    %9: f32[2] = Binary(%8, %4) kind=div
    %10: f32[2] = Binary(%9, %7) kind=div
    %11: f16[2] = Binary(%1, %5) kind=div
    %12: i32[2] = Binary(%2, %6) kind=div
    output %10 "a"
    output %11 "b"
    output %12 "c")");
}

TEST(SimplifyPower, OfTwoHalfAndMinusOne) {
  expect_becomes({"simplify_power"}, R"(
    input %0 "x": f32[2]
    const %1: f32[] = {2}
    const %2: f32[] = {0.5}
    const %3: i64[1] = {-1}
    %4: f32[2] = Binary(%0, %1) kind=pow
    %5: f32[2] = Binary(%4, %2) kind=pow
    %6: f32[2] = Binary(%5, %3) kind=pow
    output %6 "y")",
                 R"(
    input %0 "x": f32[2]
    %1: f32[2] = Binary(%0, %0) kind=mul
    %2: f32[2] = Unary(%1) kind=sqrt
    %3: f32[2] = Unary(%2) kind=reciprocal
    output %3 "y")");
}

TEST(SimplifyPower, StaysForOtherExponentsAndShapes) {
  expect_stays({"simplify_power"}, R"(
    input %0 "x": f32[2]
    input %1 "i": i32[2]
    const %2: f32[] = {3}
    const %3: f32[2,1] = {2, 2}
    const %4: f32[] = {0.5}
    %5: f32[2] = Binary(%0, %2) kind=pow
    %6: f32[2,2] = Binary(%5, %3) kind=pow
    %7: i32[2] = Binary(%1, %4) kind=pow
    output %6 "a"
    output %7 "b")");
}

TEST(ExtremumToClip, OfOneNumber) {
  expect_becomes({"extremum_to_clip", "merge_clips"}, R"(
    input %0 "x": f32[2]
    const %1: f32[] = {-1}
    const %2: f32[1] = {6}
    %3: f32[2] = Binary(%0, %1) kind=max
    %4: f32[2] = Binary(%3, %2) kind=min
    output %4 "y")",
                 R"(
    input %0 "x": f32[2]
    %1: f32[2] = Unary(%0) kind=clip alpha=-1 beta=6
    output %1 "y")",
                 0);
}

TEST(ExtremumToClip, StaysForNanIntegersAndGrowth) {
  expect_stays({"extremum_to_clip"}, R"(
    input %0 "x": f32[2]
    input %1 "i": i64[2]
    const %2: f32[] = {nan}
    const %3: i64[] = {1}
    const %4: f32[3,1] = {1, 1, 1}
    const %5: f32[2] = {1, 2}
    %6: f32[2] = Binary(%0, %2) kind=max
    %7: i64[2] = Binary(%1, %3) kind=max
    %8: f32[3,2] = Binary(%6, %4) kind=min
    %9: f32[3,2] = Binary(%8, %5) kind=min
    output %7 "a"
    output %9 "b")");
}

TEST(ReassociateIntegers, WrapAnyway) {
  expect_becomes({"reassociate_integers", "fold_constants"}, R"(
    input %0 "x": i32[2]
    const %1: i32[] = {2147483647}
    const %2: i32[2] = {1, 2}
    %3: i32[2] = Binary(%0, %1) kind=add
    %4: i32[2] = Binary(%3, %2) kind=add
    output %4 "y")",
                 R"(
    input %0 "x": i32[2]
    const %1: i32[2] = {-2147483648, -2147483647}
    %2: i32[2] = Binary(%0, %1) kind=add
    output %2 "y")");
  expect_stays({"reassociate_integers"}, R"(
    input %0 "x": f32[2]
    const %1: f32[] = {3}
    %2: f32[2] = Binary(%0, %1) kind=mul
    %3: f32[2] = Binary(%2, %1) kind=mul
    output %3 "y")");
}

TEST(DropRepeatedUnary, IdempotentInvolutionAndRange) {
  expect_becomes({"drop_repeated_unary"}, R"(
    input %0 "x": f32[2]
    input %1 "b": bool[2]
    %2: f32[2] = Unary(%0) kind=neg
    %3: f32[2] = Unary(%2) kind=neg
    %4: f32[2] = Unary(%3) kind=relu
    %5: f32[2] = Unary(%4) kind=relu
    %6: f32[2] = Unary(%5) kind=sigmoid
    %7: f32[2] = Unary(%6) kind=relu
    %8: bool[2] = Unary(%1) kind=logical_not
    %9: bool[2] = Unary(%8) kind=logical_not
    output %7 "y"
    output %9 "z")",
                 R"(
    input %0 "x": f32[2]
    input %1 "b": bool[2]
    %2: f32[2] = Unary(%0) kind=relu
    %3: f32[2] = Unary(%2) kind=sigmoid
    output %3 "y"
    output %1 "z")",
                 0);
}

TEST(DropRepeatedUnary, KeepsWhatSomebodyElseReads) {
  expect_becomes({"drop_repeated_unary"}, R"(
    input %0 "x": f32[2]
    %1: f32[2] = Unary(%0) kind=neg
    %2: f32[2] = Unary(%1) kind=neg
    %3: f32[2] = Unary(%1) kind=abs
    output %1 "a"
    output %2 "b"
    output %3 "c")",
                 R"(
    input %0 "x": f32[2]
    %1: f32[2] = Unary(%0) kind=neg
    %2: f32[2] = Unary(%0) kind=abs
    output %1 "a"
    output %0 "b"
    output %2 "c")",
                 0);
  expect_stays({"drop_repeated_unary"}, R"(
    input %0 "x": f32[2]
    %1: f32[2] = Unary(%0) kind=exp
    %2: f32[2] = Unary(%1) kind=exp
    %3: f32[2] = Unary(%2) kind=neg
    %4: f32[2] = Unary(%3) kind=relu
    output %4 "y")");
}

TEST(MergeClips, WhereTheRangesMeet) {
  expect_becomes({"merge_clips"}, R"(
    input %0 "x": f32[2]
    %1: f32[2] = Unary(%0) kind=clip alpha=-1 beta=6
    %2: f32[2] = Unary(%1) kind=relu
    output %2 "y")",
                 R"(
    input %0 "x": f32[2]
    %1: f32[2] = Unary(%0) kind=clip beta=6
    output %1 "y")",
                 0);
  expect_stays({"merge_clips"}, R"(
    input %0 "x": f32[2]
    input %1 "i": i32[2]
    %2: f32[2] = Unary(%0) kind=clip alpha=1 beta=2
    %3: f32[2] = Unary(%2) kind=clip alpha=3 beta=4
    %4: i32[2] = Unary(%1) kind=clip alpha=1 beta=4
    %5: i32[2] = Unary(%4) kind=clip alpha=2 beta=5
    output %3 "y"
    output %5 "z")");
}

TEST(SimplifyClip, WithoutBoundsAndAsRelu) {
  expect_becomes({"simplify_clip"}, R"(
    input %0 "x": f32[2]
    %1: f32[2] = Unary(%0) kind=clip alpha=-inf beta=inf
    %2: f32[2] = Unary(%1) kind=clip alpha=0 beta=inf
    output %2 "y")",
                 R"(
    input %0 "x": f32[2]
    %1: f32[2] = Unary(%0) kind=relu
    output %1 "y")",
                 0);
  // The greatest finite number cuts infinity.
  expect_stays({"simplify_clip"}, R"(
    input %0 "x": f32[2]
    %1: f32[2] = Unary(%0) kind=clip alpha=0 beta=3.4028234663852886e38
    output %1 "y")");
  // Of integers, and of another function of two such numbers.
  expect_stays({"simplify_clip"}, R"(
    input %0 "x": i32[2]
    input %1 "z": f32[2]
    %2: i32[2] = Unary(%0) kind=clip alpha=0 beta=inf
    %3: f32[2] = Unary(%1) kind=hard_sigmoid alpha=0 beta=inf
    output %2 "y"
    output %3 "s")");
}

TEST(SimplifyPower, OfIntegersOnlyByIntegers) {
  expect_becomes({"simplify_power"}, R"(
    input %0 "x": i32[3]
    const %1: i64[] = {2}
    %2: i32[3] = Binary(%0, %1) kind=pow
    output %2 "y")",
                 R"(
    input %0 "x": i32[3]
    %1: i32[3] = Binary(%0, %0) kind=mul
    output %1 "y")");
  expect_stays({"simplify_power"}, R"(
    input %0 "x": i32[3]
    const %1: f32[] = {2}
    %2: i32[3] = Binary(%0, %1) kind=pow
    output %2 "y")");
}

TEST(DropRepeatedUnary, StaysForTheLeastInteger) {
  expect_stays({"drop_repeated_unary"}, R"(
    input %0 "x": i8[3]
    %1: i8[3] = Unary(%0) kind=abs
    %2: i8[3] = Unary(%1) kind=relu
    output %2 "y")");
}

}  // namespace
}  // namespace quern::testing
