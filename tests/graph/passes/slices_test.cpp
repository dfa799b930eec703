// SPDX-License-Identifier: Apache-2.0
// Slices go before what they cut.
#include "engine/vocabulary/text_util.h"
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(SliceBefore, TheLogitsOfTheLastToken) {
  expect_becomes({"slice_before"}, R"(
    input %0 "x": f32[1,8,4]
    const %1: f32[4,6] = ...
    const %2: i64[1] = {-1}
    const %3: i64[1] = {9223372036854775807}
    const %4: i64[1] = {1}
    %5: f32[1,8,6] = MatMul(%0, %1)
    %6: f32[1,1,6] = Slice(%5, %2, %3, %4)
    output %6 "y")",
                 R"(
    input %0 "x": f32[1,8,4]
    const %1: f32[4,6] = ...
    const %2: i64[1] = {-1}
    const %3: i64[1] = {9223372036854775807}
    const %4: i64[1] = {1}
    const %5: i64[1] = {1}
    %6: f32[1,1,4] = Slice(%0, %2, %3, %4, %5)
    %7: f32[1,1,6] = MatMul(%6, %1)
    output %7 "y")");
}

// What broadcasts along the rows stays whole; the slices of both branches become one.
TEST(SliceBefore, AWholeLayer) {
  expect_becomes({"slice_before", "merge_common_slices"}, R"(
    input %0 "x": f32[2,8,4]
    input %1 "mask": bool[8,1]
    const %2: f32[4] = ...
    const %3: i64[1] = {0}
    const %4: i64[1] = {2}
    const %5: i64[1] = {-2}
    const %6: i64[1] = {-1}
    %7: f32[2,8,4] = LayerNorm(%0, %2)
    %8: f32[2,8,4] = Unary(%7) kind=gelu
    %9: f32[2,8,4] = Binary(%0, %8) kind=add
    %10: f32[2,8,4] = Where(%1, %9, %2)
    %11: f32[2,8,4] = Softmax(%10)
    %12: f32[2,8,1] = Reduce(%11, %6) kind=max
    %13: f32[2,2,1] = Slice(%12, %3, %4, %5)
    output %13 "y")",
                 R"(
    input %0 "x": f32[2,8,4]
    input %1 "mask": bool[8,1]
    const %2: i64[1] = {0}
    const %3: i64[1] = {2}
    const %4: i64[1] = {1}
    %5: bool[2,1] = Slice(%1, %2, %3, %2, %4)
    %6: f32[2,2,4] = Slice(%0, %2, %3, %4, %4)
    const %7: f32[4] = ...
    %8: f32[2,2,4] = LayerNorm(%6, %7)
    %9: f32[2,2,4] = Unary(%8) kind=gelu
    %10: f32[2,2,4] = Binary(%6, %9) kind=add
    %11: f32[2,2,4] = Where(%5, %10, %7)
    %12: f32[2,2,4] = Softmax(%11)
    const %13: i64[1] = {-1}
    %14: f32[2,2,1] = Reduce(%12, %13) kind=max
    output %14 "y")");
}

TEST(SliceBefore, StaysWhereARowHangsOnOthers) {
  struct {
    const char *x, *w, *node;
  } const cases[] = {
      {"f32[8,4]", "f32[8,4]", "LayerNorm(%0, %1) axis=0"},
      {"f32[8,4]", "f32[4]", "Softmax(%0) axis=0"},
      {"f32[8,4]", "f32[4]", "Softmax(%0) axis=0 flatten=true"},
      {"f32[2,8,4]", "f32[4]", "Reduce(%0, %2) kind=sum keepdims=false"},
      {"f32[5,8]", "f32[5,4]", "MatMul(%0, %1) transpose_a=true"},
      {"f32[8,4]", "f32[4]", "Cumulative(%0, %2) kind=sum"},  // the rule does not know it
  };
  for (const auto& c : cases)
    expect_stays(
        {"slice_before"},
        cat("input %0 \"x\": ", c.x, "\ninput %1 \"w\": ", c.w,
            "\nconst %2: i64[1] = {0}\n%3: f32[8,4] = ", c.node,
            "\nconst %4: i64[1] = {1}\n%5: f32[1,4] = Slice(%3, %2, %4)\n", "output %5 \"y\""));
}

TEST(SliceBefore, StaysBehindWhatOthersReadAndWhereMostIsLeft) {
  expect_stays({"slice_before"}, R"(
    input %0 "x": f32[8,4]
    const %1: i64[1] = {0}
    const %2: i64[1] = {1}
    %3: f32[8,4] = Unary(%0) kind=exp
    %4: f32[1,4] = Slice(%3, %1, %2)
    output %3 "all"
    output %4 "y")");
  expect_stays({"slice_before"}, R"(
    input %0 "x": f32[8,4]
    const %1: i64[1] = {0}
    const %2: i64[1] = {5}
    %3: f32[8,4] = Unary(%0) kind=exp
    %4: f32[5,4] = Slice(%3, %1, %2)
    output %4 "y")");
  expect_stays({"slice_before"}, R"(
    input %0 "x": f32[N,4]
    const %1: i64[1] = {0}
    const %2: i64[1] = {1}
    %3: f32[N,4] = Unary(%0) kind=exp
    %4: f32[?,4] = Slice(%3, %1, %2)
    output %4 "y")");
}

// Columns of a product, and the batch of one whose second factor has a batch, too.
TEST(SliceBefore, StaysAcrossTheRowsOfAProduct) {
  expect_stays({"slice_before"}, R"(
    input %0 "x": f32[8,4]
    input %1 "w": f32[4,6]
    const %2: i64[1] = {0}
    const %3: i64[1] = {1}
    %4: f32[8,6] = MatMul(%0, %1)
    %5: f32[8,1] = Slice(%4, %2, %3, %3)
    output %5 "y")");
  expect_stays({"slice_before"}, R"(
    input %0 "x": f32[3,8,4]
    input %1 "w": f32[3,4,6]
    const %2: i64[1] = {0}
    const %3: i64[1] = {1}
    %4: f32[3,8,6] = MatMul(%0, %1)
    %5: f32[1,8,6] = Slice(%4, %2, %3)
    output %5 "y")");
}

}  // namespace
}  // namespace quern::testing
