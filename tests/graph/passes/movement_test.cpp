// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/text_util.h"
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

// Its result has the shape of its input, or there is none.
TEST(DropMovement, KeepsWhatOnlyARunCanCheck) {
  expect_stays({"drop_movement"}, R"(
    input %0 "x": f32[2,3,4]
    input %1 "shape": i64[2]
    %2: f32[2,3,4] = Expand(%0, %1)
    output %2 "y")");
  expect_stays({"drop_movement"}, R"(
    input %0 "x": f32[2]
    input %1 "shape": i64[1]
    %2: f32[2] = Reshape(%0, %1)
    output %2 "y")");
}

TEST(DropMovement, OfWhatMovesNothing) {
  expect_becomes({"drop_movement"}, R"(
    input %0 "x": f32[1,2,4,4]
    const %1: i64[4] = {0, 2, -1, 4}
    const %2: i64[4] = {1, 2, 1, 4}
    const %3: i64[4] = {1, 1, 1, 1}
    const %4: i64[8] = {0, 0, 0, 0, 0, 0, 0, 0}
    const %5: i64[1] = {0}
    const %6: i64[1] = {100}
    const %7: f32[4] = {1, 1, 1, 1}
    %8: f32[1,2,4,4] = Identity(%0)
    %9: f32[1,2,4,4] = Reshape(%8, %1)
    %10: f32[1,2,4,4] = Expand(%9, %2)
    %11: f32[1,2,4,4] = Tile(%10, %3)
    %12: f32[1,2,4,4] = Pad(%11, %4) mode=reflect
    %13: f32[1,2,4,4] = Slice(%12, %5, %6)
    %14: f32[1,2,4,4] = Concat(%13) axis=2
    %15: f32[1,2,4,4] = DepthSpace(%14) kind=depth_to_space_crd
    output %15 "y")",
                 R"(
    input %0 "x": f32[1,2,4,4]
    output %0 "y")",
                 0);
}

TEST(DropMovement, OfSymbolicShapes) {
  expect_becomes({"drop_movement"}, R"(
    input %0 "x": f32[N,?]
    const %1: i64[1] = {0}
    const %2: i64[1] = {9223372036854775807}
    %3: f32[N,?] = Identity(%0)
    %4: f32[N,?] = Concat(%3)
    output %4 "y")",
                 R"(
    input %0 "x": f32[N,?]
    output %0 "y")");
}

TEST(DropMovement, StaysWhereSomethingMoves) {
  expect_stays({"drop_movement"}, R"(
    input %0 "x": f32[4,4]
    input %1 "u": f32[?,4]
    const %2: i64[4] = {1, 0, -1, 0}
    const %3: i64[1] = {-1}
    const %4: i64[1] = {-100}
    const %5: i64[1] = {0}
    const %6: i64[2] = {4, 4}
    %7: f32[4,4] = Pad(%0, %2)
    %8: f32[4,4] = Slice(%7, %3, %4, %5, %3)
    %9: f32[?,4] = Expand(%1, %6)
    output %8 "y"
    output %9 "z")");
}

TEST(DropMovement, ResizeToTheSameSizeOnly) {
  expect_becomes({"drop_movement"}, R"(
    input %0 "x": f32[1,1,3,3]
    const %1: i64[4] = {1, 1, 3, 3}
    const %2: f32[4] = {1, 1, 1, 1}
    %3: f32[1,1,3,3] = Resize(%0, _, _, %1) mode=linear
    %4: f32[1,1,3,3] = Resize(%3, _, %2) mode=nearest
    output %4 "y")",
                 R"(
    input %0 "x": f32[1,1,3,3]
    output %0 "y")",
                 0);
  // 3 * 1.2 is 3 elements too, of other coordinates.
  expect_stays({"drop_movement"}, R"(
    input %0 "x": f32[1,1,3,3]
    const %1: f32[4] = {1, 1, 1.2, 1.2}
    %2: f32[1,1,3,3] = Resize(%0, _, %1) mode=linear
    output %2 "y")");
}

TEST(DropMovement, ASplitIntoOnePart) {
  expect_becomes({"drop_movement"}, R"(
    input %0 "x": f32[4,3]
    const %1: i64[1] = {4}
    %2: f32[4,3] = Split(%0, %1)
    %3: f32[4,3] = Unary(%2) kind=neg
    output %3 "y")",
                 R"(
    input %0 "x": f32[4,3]
    %1: f32[4,3] = Unary(%0) kind=neg
    output %1 "y")",
                 0);
}

TEST(DropMovement, StaysWhereOnlyARunKnowsTheRank) {
  expect_stays({"drop_movement"}, R"(
    input %0 "x": f32[*]
    %1: f32[*] = Concat(%0) axis=3
    output %1 "y")");
}

TEST(DropEmptyParts, OfConcat) {
  expect_becomes({"drop_empty_parts", "drop_movement"}, R"(
    input %0 "x": f32[2,3]
    const %1: f32[2,0] = {}
    %2: f32[2,3] = Concat(%1, %0, %1) axis=-1
    output %2 "y")",
                 R"(
    input %0 "x": f32[2,3]
    output %0 "y")");
  expect_stays({"drop_empty_parts"}, R"(
    input %0 "x": f32[?,3]
    input %1 "z": f32[2,3]
    %2: f32[?,3] = Concat(%0, %1)
    output %2 "y")");
  // The empty part may have other rows: then a run refuses.
  expect_stays({"drop_empty_parts"}, R"(
    input %0 "x": f32[2,0]
    input %1 "z": f32[?,3]
    %2: f32[2,3] = Concat(%0, %1) axis=1
    output %2 "y")");
}

TEST(MergeConcats, AlongOneAxis) {
  expect_becomes({"merge_concats"}, R"(
    input %0 "a": f32[2,1]
    input %1 "b": f32[2,2]
    %2: f32[2,3] = Concat(%0, %1) axis=1
    %3: f32[2,5] = Concat(%2, %1) axis=-1
    output %3 "y")",
                 R"(
    input %0 "a": f32[2,1]
    input %1 "b": f32[2,2]
    %2: f32[2,5] = Concat(%0, %1, %1) axis=1
    output %2 "y")",
                 0);
  expect_stays({"merge_concats"}, R"(
    input %0 "a": f32[2,2]
    %1: f32[4,2] = Concat(%0, %0)
    %2: f32[4,4] = Concat(%1, %1) axis=1
    %3: f32[2,4] = Concat(%0, %0) axis=1
    %4: f32[2,8] = Concat(%3, %3) axis=1
    output %2 "y"
    output %4 "z")");
}

TEST(DropExpand, WhereTheOthersGiveTheShape) {
  expect_becomes({"drop_expand"}, R"(
    input %0 "x": f32[2,3]
    input %1 "b": f32[3]
    input %2 "c": bool[2,1]
    const %3: i64[2] = {2, 3}
    %4: f32[2,3] = Expand(%1, %3)
    %5: f32[2,3] = Binary(%0, %4) kind=add
    %6: bool[2,3] = Expand(%2, %3)
    %7: f32[2,3] = Where(%6, %5, %4)
    output %7 "y")",
                 R"(
    input %0 "x": f32[2,3]
    input %1 "b": f32[3]
    input %2 "c": bool[2,1]
    %3: f32[2,3] = Binary(%0, %1) kind=add
    %4: f32[2,3] = Where(%2, %3, %1)
    output %4 "y")",
                 0);
}

TEST(DropExpand, StaysWhereItGivesTheShape) {
  expect_stays({"drop_expand"}, R"(
    input %0 "x": f32[3]
    input %1 "u": f32[N,3]
    const %2: i64[2] = {2, 3}
    %3: f32[2,3] = Expand(%0, %2)
    %4: f32[2,3] = Binary(%3, %0) kind=add
    %5: f32[2,3] = Binary(%1, %3) kind=add
    output %4 "y"
    output %5 "z")");
}

TEST(DropReduce, OverDimensionsOfOne) {
  expect_becomes({"drop_reduce"}, R"(
    input %0 "x": f32[2,1,3]
    const %1: i64[1] = {1}
    %2: f32[2,1,3] = Reduce(%0, %1) kind=max
    %3: f32[2,3] = Reduce(%2, %1) kind=mean keepdims=false
    output %3 "y")",
                 R"(
    input %0 "x": f32[2,1,3]
    const %1: i64[2] = {2, 3}
    %2: f32[2,3] = Reshape(%0, %1)
    output %2 "y")",
                 0);
  expect_stays({"drop_reduce"}, R"(
    input %0 "x": f32[2,1,?]
    const %1: i64[1] = {1}
    const %2: i64[1] = {-1}
    %3: f32[2,1,?] = Reduce(%0, %1) kind=l2
    %4: f32[2,1,1] = Reduce(%3, %2) kind=sum
    output %4 "y")");
}

TEST(DropWhere, OfOneCondition) {
  expect_becomes({"drop_where"}, R"(
    input %0 "x": f32[2]
    input %1 "z": f32[]
    const %2: bool[2] = {true, true}
    %3: f32[2] = Where(%2, %0, %1)
    output %3 "y")",
                 R"(
    input %0 "x": f32[2]
    input %1 "z": f32[]
    output %0 "y")");
  expect_stays({"drop_where"}, R"(
    input %0 "x": f32[2]
    input %1 "z": f32[]
    const %2: bool[2] = {false, false}
    const %3: bool[2] = {false, true}
    %4: f32[2] = Where(%2, %0, %1)
    %5: f32[2] = Where(%3, %0, %4)
    output %5 "y")");
}

TEST(DropExpand, StaysWhereAProductNeedsTheSize) {
  expect_stays({"drop_expand"}, R"(
    input %0 "x": f32[3,1]
    input %1 "w": f32[K,5]
    input %2 "s": i64[2]
    %3: f32[3,K] = Expand(%0, %2)
    %4: f32[3,5] = MatMul(%3, %1)
    output %4 "y")");
  expect_becomes({"drop_expand"}, R"(
    input %0 "x": f32[1,3,2]
    input %1 "w": f32[4,2,5]
    const %2: i64[3] = {4, 3, 2}
    %3: f32[4,3,2] = Expand(%0, %2)
    %4: f32[4,3,5] = MatMul(%3, %1)
    output %4 "y")",
                 R"(
    input %0 "x": f32[1,3,2]
    input %1 "w": f32[4,2,5]
    %2: f32[4,3,5] = MatMul(%0, %1)
    output %2 "y")");
}

TEST(GatherToSlice, OneOrSomeThatCountUp) {
  expect_becomes({"gather_to_slice"}, R"(
    input %0 "x": f32[3,N,4]
    const %1: i64[] = {-2}
    const %2: i32[2] = {1, 3}
    %3: f32[N,4] = Gather(%0, %1)
    %4: f32[N,2] = Gather(%3, %2) axis=-1
    output %4 "y")",
                 R"(
    input %0 "x": f32[3,N,4]
    const %1: i64[1] = {1}
    const %2: i64[1] = {2}
    const %3: i64[1] = {0}
    const %4: i64[1] = {1}
    %5: f32[1,N,4] = Slice(%0, %1, %2, %3, %4)
    const %6: i64[1] = {0}
    %7: f32[N,4] = Squeeze(%5, %6)
    const %8: i64[1] = {1}
    const %9: i64[1] = {4}
    const %10: i64[1] = {1}
    const %11: i64[1] = {2}
    %12: f32[N,2] = Slice(%7, %8, %9, %10, %11)
    output %12 "y")");
}

// One out of range is an error of the run; a slice would take what there is.
TEST(GatherToSlice, StaysWhereASliceWouldSayAnother) {
  struct Row {
    std::string_view indices, type;
  };
  for (const auto& [indices, type] :
       {Row{"i64[2] = {3, 1}", "[2,3]"}, Row{"i64[2] = {1, 1}", "[2,3]"},
        Row{"i64[3] = {0, 1, 3}", "[3,3]"}, Row{"i64[1] = {4}", "[1,3]"},
        Row{"i64[2] = {-5, 0}", "[2,3]"}, Row{"i64[1,2] = {0, 1}", "[1,2,3]"},
        Row{"i64[0] = {}", "[0,3]"}})
    expect_stays({"gather_to_slice"}, cat(R"(
    input %0 "x": f32[4,3]
    const %1: )",
                                          indices, R"(
    %2: f32)",
                                          type, R"( = Gather(%0, %1)
    output %2 "y")"));
  expect_stays({"gather_to_slice"}, R"(
    input %0 "x": f32[N,3]
    const %1: i64[] = {1}
    %2: f32[3] = Gather(%0, %1)
    output %2 "y")");
  expect_stays({"gather_to_slice"}, R"(
    input %0 "x": f32[4,3]
    const %1: i64[1,3] = {1, 1, 1}
    %2: f32[1,3] = Gather(%0, %1) kind=elements
    output %2 "y")");
}

}  // namespace
}  // namespace quern::testing
