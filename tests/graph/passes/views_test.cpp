// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(MergeReshapes, OfEveryKind) {
  expect_becomes({"merge_reshapes"}, R"(
    input %0 "x": f32[2,3,4]
    const %1: i64[2] = {6, 4}
    const %2: i64[2] = {0, 3}
    %3: f32[6,4] = Reshape(%0, %1)
    %4: f32[1,6,4,1] = Unsqueeze(%3, %2)
    %5: f32[6,4] = Flatten(%4) axis=2
    output %5 "y")",
                 R"(
    input %0 "x": f32[2,3,4]
    const %1: i64[2] = {6, 4}
    %2: f32[6,4] = Reshape(%0, %1)
    output %2 "y")",
                 0);
}

TEST(MergeReshapes, WithOneOpenDimension) {
  expect_becomes({"merge_reshapes"}, R"(
    input %0 "x": f32[N,3,4]
    const %1: i64[2] = {0, 12}
    const %2: i64[1] = {1}
    %3: f32[N,12] = Reshape(%0, %1)
    %4: f32[N,1,12] = Unsqueeze(%3, %2)
    output %4 "y")",
                 R"(
    input %0 "x": f32[N,3,4]
    const %1: i64[3] = {-1, 1, 12}
    %2: f32[N,1,12] = Reshape(%0, %1)
    output %2 "y")");
  expect_stays({"merge_reshapes"}, R"(
    input %0 "x": f32[N,M,4]
    const %1: i64[1] = {0}
    const %2: i64[1] = {1}
    %3: f32[1,N,M,4] = Unsqueeze(%0, %1)
    %4: f32[1,1,N,M,4] = Unsqueeze(%3, %2)
    output %4 "y")");
}

// The pass keeps an inner reshape that a run may refuse, so that the run still refuses it.
TEST(MergeReshapes, StaysWhereTheInnerOneMayNotFit) {
  expect_stays({"merge_reshapes"}, R"(
    input %0 "x": f32[N,M]
    const %1: i64[1] = {1}
    %2: f32[N] = Squeeze(%0, %1)
    const %3: i64[2] = {-1, 1}
    %4: f32[N,1] = Reshape(%2, %3)
    output %4 "y")");
  expect_stays({"merge_reshapes"}, R"(
    input %0 "x": f32[N,3]
    const %1: i64[2] = {2, -1}
    %2: f32[2,?] = Reshape(%0, %1)
    const %3: i64[1] = {-1}
    %4: f32[?] = Reshape(%2, %3)
    output %4 "y")");
  expect_stays({"merge_reshapes"}, R"(
    input %0 "x": f32[6]
    input %1 "target": i64[2]
    %2: f32[?,?] = Reshape(%0, %1)
    const %3: i64[1] = {6}
    %4: f32[6] = Reshape(%2, %3)
    output %4 "y")");
}

TEST(ToReshape, StaysWhereARunSaysWhichAxes) {
  expect_stays({"to_reshape", "drop_movement"}, R"(
    input %0 "x": i64[1]
    %1: i64[] = Squeeze(%0, %0)
    output %1 "y")");
}

TEST(ToReshape, OfKnownShape) {
  expect_becomes({"to_reshape"}, R"(
    input %0 "x": f32[2,1,0]
    const %1: i64[1] = {1}
    %2: f32[2,0] = Squeeze(%0, %1)
    output %2 "y")",
                 R"(
    input %0 "x": f32[2,1,0]
    const %1: i64[2] = {2, 0}
    %2: f32[2,0] = Reshape(%0, %1) allow_zero=true
    output %2 "y")");
  expect_stays({"to_reshape"}, R"(
    input %0 "x": f32[N,3]
    %1: f32[N,3] = Flatten(%0)
    output %1 "y")");
}

TEST(DropTranspose, OfNothingAndOfOnes) {
  expect_becomes({"drop_transpose"}, R"(
    input %0 "x": f32[2,1,3]
    %1: f32[2,1,3] = Transpose(%0) perm=[0,1,2]
    %2: f32[1,2,3] = Transpose(%1) perm=[1,0,2]
    output %2 "y")",
                 R"(
    input %0 "x": f32[2,1,3]
    const %1: i64[3] = {1, 2, 3}
    %2: f32[1,2,3] = Reshape(%0, %1)
    output %2 "y")",
                 0);
  expect_stays({"drop_transpose"}, R"(
    input %0 "x": f32[2,?,3]
    %1: f32[?,2,3] = Transpose(%0) perm=[1,0,2]
    output %1 "y")");
}

TEST(MergeTransposes, CancelOrCompose) {
  expect_becomes({"merge_transposes", "drop_transpose"}, R"(
    input %0 "x": f32[2,3,4]
    %1: f32[3,4,2] = Transpose(%0) perm=[1,2,0]
    %2: f32[2,3,4] = Transpose(%1) perm=[2,0,1]
    %3: f32[4,3,2] = Transpose(%0)
    %4: f32[3,4,2] = Transpose(%3) perm=[1,0,2]
    output %2 "y"
    output %4 "z")",
                 R"(
    input %0 "x": f32[2,3,4]
    %1: f32[3,4,2] = Transpose(%0) perm=[1,2,0]
    output %0 "y"
    output %1 "z")",
                 0);
}

TEST(PullTranspose, ThroughElementwiseNodes) {
  expect_becomes({"pull_transpose", "merge_transposes", "drop_transpose"}, R"(
    input %0 "x": f32[2,3,4]
    const %1: f32[] = {3}
    %2: f32[3,4,2] = Transpose(%0) perm=[1,2,0]
    %3: f32[3,4,2] = Unary(%2) kind=relu
    %4: f32[3,4,2] = Binary(%1, %3) kind=sub
    %5: f32[2,3,4] = Transpose(%4) perm=[2,0,1]
    output %5 "y")",
                 R"(
    input %0 "x": f32[2,3,4]
    const %1: f32[] = {3}
    %2: f32[2,3,4] = Unary(%0) kind=relu
    %3: f32[2,3,4] = Binary(%1, %2) kind=sub
    output %3 "y")",
                 0);
}

TEST(PullTranspose, StaysWhereOthersReadOrNothingIsToMeet) {
  expect_stays({"pull_transpose"}, R"(
    input %0 "x": f32[2,3]
    input %1 "b": f32[2]
    %2: f32[3,2] = Transpose(%0)
    %3: f32[3,2] = Unary(%2) kind=relu
    %4: f32[2,3] = Transpose(%3)
    %5: f32[2,3] = Unary(%0) kind=exp
    %6: f32[3,2] = Transpose(%5)
    %7: f32[3,2] = Binary(%2, %1) kind=add
    %8: f32[2,3] = Transpose(%7)
    output %3 "r"
    output %4 "y"
    output %6 "z"
    output %8 "w")");
}

TEST(SinkTransposes, OfBothOperands) {
  expect_becomes({"sink_transposes"}, R"(
    input %0 "a": f32[2,3]
    input %1 "b": f32[2,3]
    %2: f32[3,2] = Transpose(%0) perm=[1,0]
    %3: f32[3,2] = Transpose(%1)
    %4: f32[3,2] = Binary(%2, %3) kind=sub
    output %4 "y")",
                 R"(
    input %0 "a": f32[2,3]
    input %1 "b": f32[2,3]
    %2: f32[2,3] = Binary(%0, %1) kind=sub
    %3: f32[3,2] = Transpose(%2) perm=[1,0]
    output %3 "y")",
                 0);
  expect_stays({"sink_transposes"}, R"(
    input %0 "a": f32[2,2,2]
    input %1 "b": f32[2,2,2]
    %2: f32[2,2,2] = Transpose(%0) perm=[1,0,2]
    %3: f32[2,2,2] = Transpose(%1) perm=[0,2,1]
    %4: f32[2,2,2] = Binary(%2, %3) kind=sub
    output %4 "y")");
  expect_stays({"sink_transposes"}, R"(
    input %0 "a": f32[2,3]
    input %1 "b": f32[2,3]
    %2: f32[3,2] = Transpose(%0)
    %3: f32[3,2] = Transpose(%1)
    %4: f32[3,2] = Binary(%2, %3) kind=sub | relu
    output %4 "y")");
}

TEST(ReduceBeforeTranspose, WithAndWithoutDimensions) {
  expect_becomes({"reduce_before_transpose"}, R"(
    input %0 "x": f32[2,3,4,5]
    const %1: i64[2] = {1, 2}
    %2: f32[2,4,5,3] = Transpose(%0) perm=[0,2,3,1]
    %3: f32[2,3] = Reduce(%2, %1) kind=mean keepdims=false
    %4: f32[2,1,1,3] = Reduce(%2, %1) kind=max
    output %3 "y"
    output %4 "z")",
                 R"(
    input %0 "x": f32[2,3,4,5]
    const %1: i64[2] = {2, 3}
    %2: f32[2,3] = Reduce(%0, %1) kind=mean keepdims=false
    const %3: i64[2] = {2, 3}
    %4: f32[2,3,1,1] = Reduce(%0, %3) kind=max
    %5: f32[2,1,1,3] = Transpose(%4) perm=[0,2,3,1]
    output %2 "y"
    output %5 "z")");
  // The result of an earlier Reduce would still have to be transposed.
  expect_stays({"reduce_before_transpose"}, R"(
    input %0 "x": f32[2,3,4]
    const %1: i64[1] = {0}
    %2: f32[3,4,2] = Transpose(%0) perm=[1,2,0]
    %3: f32[4,2] = Reduce(%2, %1) kind=sum keepdims=false
    output %3 "y")");
}

TEST(TransposeInMatmul, OfTheLastTwoDimensions) {
  expect_becomes({"transpose_in_matmul"}, R"(
    input %0 "a": f32[2,4,3]
    input %1 "b": f32[5,4]
    %2: f32[2,3,4] = Transpose(%0) perm=[0,2,1]
    %3: f32[4,5] = Transpose(%1)
    %4: f32[2,3,5] = MatMul(%2, %3)
    output %4 "y")",
                 R"(
    input %0 "a": f32[2,4,3]
    input %1 "b": f32[5,4]
    %2: f32[2,3,5] = MatMul(%0, %1) transpose_a=true transpose_b=true
    output %2 "y")");
  expect_stays({"transpose_in_matmul"}, R"(
    input %0 "a": f32[2,4,3]
    input %1 "b": f32[5,3]
    %2: f32[4,2,3] = Transpose(%0) perm=[1,0,2]
    %3: f32[4,2,5] = MatMul(%2, %1) transpose_b=true
    output %3 "y")");
}

}  // namespace
}  // namespace quern::testing
