// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

// Weights stay an expression when they are large; the rule alone leaves them one.
TEST(FoldScale, IntoConvWithBias) {
  expect_becomes({"fold_scale"}, R"(
    input %0 "x": f32[1,2,3,3]
    const %1: f32[2,2,1,1] = {1, 2, 3, 4}
    const %2: f32[2] = {5, 6}
    const %3: f32[1,2,1,1] = {10, 20}
    %4: f32[1,2,3,3] = Conv(%0, %1, %2)
    %5: f32[1,2,3,3] = Binary(%4, %3) kind=mul
    output %5 "y")",
                 R"(
    input %0 "x": f32[1,2,3,3]
    const %1: f32[2,2,1,1] = {1, 2, 3, 4}
    const %2: f32[2,1,1,1] = {10, 20}
    %3: f32[2,2,1,1] = Binary(%1, %2) kind=mul
    const %4: f32[2] = {5, 6}
    const %5: f32[2] = {10, 20}
    %6: f32[2] = Binary(%4, %5) kind=mul
    %7: f32[1,2,3,3] = Conv(%0, %3, %6)
    output %7 "y")");
}

TEST(FoldScale, IntoMatMulAndByDivision) {
  expect_becomes({"fold_scale", "fold_constants"}, R"(
    input %0 "x": f32[3,2]
    const %1: f32[2,2] = {1, 2, 3, 4}
    const %2: f32[2] = {2, 4}
    const %3: f32[] = {4}
    %4: f32[3,2] = MatMul(%0, %1)
    %5: f32[3,2] = Binary(%4, %2) kind=mul
    %6: f32[3,2] = MatMul(%0, %1) transpose_b=true
    %7: f32[3,2] = Binary(%6, %2) kind=mul
    %8: f32[3,2] = Binary(%7, %3) kind=div
    output %5 "y"
    output %8 "z")",
                 R"(
    input %0 "x": f32[3,2]
    const %1: f32[2,2] = {2, 8, 6, 16}
    %2: f32[3,2] = MatMul(%0, %1)
    const %3: f32[2,2] = {0.5, 1, 3, 4}
    %4: f32[3,2] = MatMul(%0, %3) transpose_b=true
    output %2 "y"
    output %4 "z")");
}

TEST(FoldScale, IntoGroupedConvTranspose) {
  expect_becomes({"fold_scale", "fold_constants"}, R"(
    input %0 "x": f32[1,4,3]
    const %1: f32[4,2,1] = {1, 2, 3, 4, 5, 6, 7, 8}
    const %2: f32[4,1] = {1, 10, 100, 1000}
    %3: f32[1,4,3] = ConvTranspose(%0, %1) group=2
    %4: f32[1,4,3] = Binary(%3, %2) kind=mul
    output %4 "y")",
                 R"(
    input %0 "x": f32[1,4,3]
    const %1: f32[4,2,1] = {1, 20, 3, 40, 500, 6000, 700, 8000}
    %2: f32[1,4,3] = ConvTranspose(%0, %1) group=2
    output %2 "y")");
}

TEST(FoldScale, IntoGroupedConvTransposeByOneNumber) {
  expect_becomes({"fold_scale", "fold_constants"}, R"(
    input %0 "x": f32[1,4,3]
    const %1: f32[4,2,1] = {1, 2, 3, 4, 5, 6, 7, 8}
    const %2: f32[] = {10}
    %3: f32[1,4,3] = ConvTranspose(%0, %1) group=2
    %4: f32[1,4,3] = Binary(%3, %2) kind=mul
    output %4 "y")",
                 R"(
    input %0 "x": f32[1,4,3]
    const %1: f32[4,2,1] = {10, 20, 30, 40, 50, 60, 70, 80}
    %2: f32[1,4,3] = ConvTranspose(%0, %1) group=2
    output %2 "y")");
}

TEST(FoldScale, IntoConvTranspose) {
  expect_becomes({"fold_scale", "fold_constants"}, R"(
    input %0 "x": f32[1,2,3,3]
    const %1: f32[2,3,1,1] = {1, 2, 3, 4, 5, 6}
    const %2: f32[3,1,1] = {1, 10, 100}
    %3: f32[1,3,3,3] = ConvTranspose(%0, %1)
    %4: f32[1,3,3,3] = Binary(%3, %2) kind=mul
    output %4 "y")",
                 R"(
    input %0 "x": f32[1,2,3,3]
    const %1: f32[2,3,1,1] = {1, 20, 300, 4, 50, 600}
    %2: f32[1,3,3,3] = ConvTranspose(%0, %1)
    output %2 "y")");
}

TEST(FoldScale, StaysForOtherAxesVariablesAndSharedResults) {
  expect_stays({"fold_scale", "fold_bias"}, R"(
    input %0 "x": f32[1,2,3,2]
    input %1 "w": f32[2,2,1,1]
    input %2 "s": f32[2,1,1]
    const %3: f32[2,2,1,1] = {1, 2, 3, 4}
    const %4: f32[2] = {2, 4}
    const %5: f32[2,1,1] = {2, 4}
    %6: f32[1,2,3,2] = Conv(%0, %3)
    %7: f32[1,2,3,2] = Binary(%6, %4) kind=mul
    %8: f32[1,2,3,2] = Conv(%7, %3)
    %9: f32[1,2,3,2] = Binary(%8, %2) kind=add
    %10: f32[1,2,3,2] = Conv(%9, %1)
    %11: f32[1,2,3,2] = Binary(%10, %5) kind=mul
    %12: f32[1,2,3,2] = Conv(%11, %3)
    %13: f32[1,2,3,2] = Binary(%12, %5) kind=mul
    output %12 "shared"
    output %13 "y")");
}

TEST(FoldBias, IntoConvWithAndWithoutOne) {
  expect_becomes({"fold_bias", "fold_constants"}, R"(
    input %0 "x": f32[1,2,3]
    const %1: f32[2,2,1] = {1, 2, 3, 4}
    const %2: f32[2] = {5, 6}
    const %3: f32[2,1] = {10, 20}
    const %4: f32[] = {7}
    %5: f32[1,2,3] = Conv(%0, %1, %2)
    %6: f32[1,2,3] = Binary(%5, %3) kind=add
    %7: f32[1,2,3] = Conv(%6, %1)
    %8: f32[1,2,3] = Binary(%7, %4) kind=add
    output %8 "y")",
                 R"(
    input %0 "x": f32[1,2,3]
    const %1: f32[2,2,1] = {1, 2, 3, 4}
    const %2: f32[2] = {15, 26}
    %3: f32[1,2,3] = Conv(%0, %1, %2)
    const %4: f32[2] = {7, 7}
    %5: f32[1,2,3] = Conv(%3, %1, %4)
    output %5 "y")");
}

TEST(ScaleBeforeBias, OfMatMul) {
  expect_becomes({"scale_before_bias", "fold_scale", "fold_constants"}, R"(
    input %0 "x": f32[3,2]
    const %1: f32[2,2] = {1, 2, 3, 4}
    const %2: f32[2] = {5, 6}
    const %3: f32[2] = {2, 4}
    %4: f32[3,2] = MatMul(%0, %1)
    %5: f32[3,2] = Binary(%4, %2) kind=add
    %6: f32[3,2] = Binary(%5, %3) kind=mul
    output %6 "y")",
                 R"(
    input %0 "x": f32[3,2]
    const %1: f32[2,2] = {2, 8, 6, 16}
    %2: f32[3,2] = MatMul(%0, %1)
    const %3: f32[2] = {10, 24}
    %4: f32[3,2] = Binary(%2, %3) kind=add
    output %4 "y")");
}

TEST(FoldAlpha, OfTwoVariables) {
  expect_becomes({"fold_alpha"}, R"(
    input %0 "a": f32[3,2]
    input %1 "b": f32[2,3]
    const %2: f32[1,1] = {0.25}
    %3: f32[3,3] = MatMul(%0, %1)
    %4: f32[3,3] = Binary(%3, %2) kind=mul
    output %4 "y")",
                 R"(
    input %0 "a": f32[3,2]
    input %1 "b": f32[2,3]
    %2: f32[3,3] = MatMul(%0, %1) alpha=0.25
    output %2 "y")");
  expect_stays({"fold_alpha"}, R"(
    input %0 "a": i32[3,2]
    input %1 "b": f32[2,3]
    const %2: i32[] = {2}
    const %3: f32[1,1,1] = {2}
    %4: i32[3,3] = MatMul(%0, %0) transpose_b=true
    %5: i32[3,3] = Binary(%4, %2) kind=mul
    %6: f32[2,2] = MatMul(%1, %1) transpose_b=true
    %7: f32[1,2,2] = Binary(%6, %3) kind=mul
    output %5 "y"
    output %7 "z")");
}

TEST(FoldInputScale, IntoConvAndMatMul) {
  expect_becomes({"fold_input_scale", "fold_constants"}, R"(
    input %0 "x": f32[1,2,3,3]
    const %1: f32[2,2,1,1] = {1, 2, 3, 4}
    const %2: f32[1,2,1,1] = {10, 100}
    %3: f32[1,2,3,3] = Binary(%0, %2) kind=mul
    %4: f32[1,2,5,5] = Conv(%3, %1) pads=[1,1,1,1]
    output %4 "y")",
                 R"(
    input %0 "x": f32[1,2,3,3]
    const %1: f32[2,2,1,1] = {10, 200, 30, 400}
    %2: f32[1,2,5,5] = Conv(%0, %1) pads=[1,1,1,1]
    output %2 "y")");
  expect_becomes({"fold_input_scale", "fold_constants"}, R"(
    input %0 "x": f32[3,2]
    const %1: f32[2,2] = {1, 2, 3, 4}
    const %2: f32[2] = {2, 4}
    %3: f32[3,2] = Binary(%0, %2) kind=div
    %4: f32[3,2] = MatMul(%3, %1)
    output %4 "y")",
                 R"(
    input %0 "x": f32[3,2]
    const %1: f32[2,2] = {0.5, 1, 0.75, 1}
    %2: f32[3,2] = MatMul(%0, %1)
    output %2 "y")");
}

TEST(FoldInputScale, IntoGroupedConv) {
  expect_becomes({"fold_input_scale", "fold_constants"}, R"(
    input %0 "x": f32[1,4,3]
    const %1: f32[2,2,1] = {1, 2, 3, 4}
    const %2: f32[4,1] = {1, 10, 100, 1000}
    %3: f32[1,4,3] = Binary(%0, %2) kind=mul
    %4: f32[1,2,3] = Conv(%3, %1) group=2
    output %4 "y")",
                 R"(
    input %0 "x": f32[1,4,3]
    const %1: f32[2,2,1] = {1, 20, 300, 4000}
    %2: f32[1,2,3] = Conv(%0, %1) group=2
    output %2 "y")");
}

TEST(FoldInputShift, WhereNothingIsPadded) {
  expect_becomes({"fold_input_shift", "fold_constants"}, R"(
    input %0 "x": f32[1,2,3]
    const %1: f32[2,2,2] = {1, 2, 3, 4, 5, 6, 7, 8}
    const %2: f32[2] = {1, 2}
    const %3: f32[2,1] = {10, 100}
    %4: f32[1,2,3] = Binary(%0, %3) kind=add
    %5: f32[1,2,2] = Conv(%4, %1, %2)
    output %5 "y")",
                 R"(
    input %0 "x": f32[1,2,3]
    const %1: f32[2,2,2] = {1, 2, 3, 4, 5, 6, 7, 8}
    const %2: f32[2] = {731, 1612}
    %3: f32[1,2,2] = Conv(%0, %1, %2)
    output %3 "y")");
  expect_stays({"fold_input_shift"}, R"(
    input %0 "x": f32[1,2,3]
    const %1: f32[2,2,2] = {1, 2, 3, 4, 5, 6, 7, 8}
    const %2: f32[2,1] = {10, 100}
    %3: f32[1,2,3] = Binary(%0, %2) kind=add
    %4: f32[1,2,3] = Conv(%3, %1) pads=[0,1]
    output %4 "y")");
}

TEST(ExpandBatchNorm, AloneAndIntoConv) {
  expect_becomes({"expand_batch_norm"}, R"(
    input %0 "x": f32[1,2,3]
    const %1: f32[2] = {2, 3}
    const %2: f32[2] = {4, 5}
    const %3: f32[2] = {6, 7}
    const %4: f32[2] = {0.25, 1}
    %5: f32[1,2,3] = BatchNorm(%0, %1, %2, %3, %4) epsilon=0
    output %5 "y")",
                 R"(
    input %0 "x": f32[1,2,3]
    const %1: f32[2,1] = {4, 3}
    %2: f32[1,2,3] = Binary(%0, %1) kind=mul
    const %3: f32[2,1] = {-20, -16}
    %4: f32[1,2,3] = Binary(%2, %3) kind=add
    output %4 "y")");
  expect_becomes({}, R"(
    input %0 "x": f32[1,2,3]
    const %1: f32[2] = {2, 3}
    const %2: f32[2] = {4, 5}
    const %3: f32[2] = {6, 7}
    const %4: f32[2] = {0.25, 1}
    const %5: f32[2,2,1] = {1, 2, 3, 4}
    const %6: f32[2] = {100, 200}
    %7: f32[1,2,3] = Conv(%0, %5, %6)
    %8: f32[1,2,3] = BatchNorm(%7, %1, %2, %3, %4) epsilon=0
    %9: f32[1,2,3] = Unary(%8) kind=relu
    output %9 "y")",
                 R"(
    input %0 "x": f32[1,2,3]
    const %1: f32[2,2,1] = {4, 8, 9, 12}
    const %2: f32[2] = {380, 584}
    %3: f32[1,2,3] = Conv(%0, %1, %2) | relu
    output %3 "y")");
  // A matrix product has no bias: it stays the first post-op.
  expect_becomes({}, R"(
    input %0 "x": f32[3,2]
    const %1: f32[2] = {2, 3}
    const %2: f32[2] = {4, 5}
    const %3: f32[2] = {6, 7}
    const %4: f32[2] = {0.25, 1}
    const %5: f32[2,2] = {1, 2, 3, 4}
    %6: f32[3,2] = MatMul(%0, %5)
    %7: f32[3,2] = BatchNorm(%6, %1, %2, %3, %4) epsilon=0
    output %7 "y")",
                 R"(
    input %0 "x": f32[3,2]
    const %1: f32[2,2] = {4, 6, 12, 12}
    const %2: f32[2] = {-20, -16}
    %3: f32[3,2] = MatMul(%0, %1) | add(%2)
    output %3 "y")");
}

TEST(ExpandBatchNorm, StaysForVariableParametersAndUnknownRank) {
  expect_stays({"expand_batch_norm"}, R"(
    input %0 "x": f32[1,2,3]
    input %1 "u": f32[*]
    input %2 "m": f32[2]
    const %3: f32[2] = {2, 3}
    %4: f32[1,2,3] = BatchNorm(%0, %3, %3, %2, %3)
    %5: f32[*] = BatchNorm(%1, %3, %3, %3, %3)
    output %4 "y"
    output %5 "z")");
}

TEST(ExpandBatchNorm, StaysWhereFactorsAreNoNumbers) {
  expect_stays({"expand_batch_norm"}, R"(
    input %0 "x": f32[1,2,3]
    const %1: f32[2] = {2, 3}
    const %2: f32[2] = {1, 0}
    %3: f32[1,2,3] = BatchNorm(%0, %1, %1, %1, %2) epsilon=0
    output %3 "y")");
  expect_stays({"expand_batch_norm"}, R"(
    input %0 "x": f16[1,2,3]
    const %1: f16[2] = {2, 3}
    const %2: f16[2] = {1, 0}
    %3: f16[1,2,3] = BatchNorm(%0, %1, %1, %1, %2) epsilon=1e-10
    output %3 "y")");
}

TEST(FoldScale, StaysForWeightsOf16BitsWithLittleRange) {
  expect_stays({"fold_scale", "fold_input_scale", "fold_input_shift", "scale_before_bias"}, R"(
    input %0 "x": f16[1,2,3]
    const %1: f16[2,2,1] = {0.0001, 0.0002, 0.0003, 0.0004}
    const %2: f16[2,1] = {0.001, 2000}
    %3: f16[1,2,3] = Binary(%0, %2) kind=add
    %4: f16[1,2,3] = Conv(%3, %1)
    %5: f16[1,2,3] = Binary(%4, %2) kind=mul
    output %5 "y")");
}

}  // namespace
}  // namespace quern::testing
