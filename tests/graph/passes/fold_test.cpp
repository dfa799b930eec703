// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "engine/vocabulary/text_util.h"
#include "tests/expect.h"
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(FoldConstants, Chain) {
  expect_becomes({"fold_constants"}, R"(
    const %0: f32[2] = {1, 2}
    const %1: f32[] = {10}
    %2: f32[2] = Binary(%0, %1) kind=mul
    %3: f32[2] = Unary(%2) kind=neg
    output %3 "y")",
                 R"(
    const %0: f32[2] = {-10, -20}
    output %0 "y")");
}

TEST(FoldConstants, AllOutputsAndPostOps) {
  expect_becomes({"fold_constants"}, R"(
    const %0: f32[4] = {1, 2, 3, 4}
    const %1: f32[] = {2}
    %2: f32[2], %3: f32[2] = Split(%0)
    %4: f32[2] = Unary(%3) kind=neg | mul(%1) | sub(%2) swapped
    output %2 "a"
    output %4 "b")",
                 R"(
    const %0: f32[2] = {1, 2}
    const %1: f32[2] = {7, 10}
    output %0 "a"
    output %1 "b")");
}

TEST(FoldConstants, ViewsOfAnySizeShareTheBytes) {
  Graph g = graph_of(R"(
    const %0: f32[300,300] = ...
    const %1: i64[1] = {-1}
    %2: f32[90000] = Reshape(%0, %1)
    output %2 "y")");
  const ValueId big = g.node(g.order()[0]).inputs[0];
  const std::byte* data = g.value(big).constant.data();
  apply(g, {"fold_constants"});
  EXPECT_EQ(g.value(g.outputs()[0]).constant.data(), data);
}

TEST(FoldConstants, StaysWhereTheResultIsLarge) {
  expect_stays({"fold_constants"}, R"(
    const %0: f32[200,200] = ...
    %1: f32[200,200] = Unary(%0) kind=neg
    output %1 "y")");
  // Few bytes that say how to make many.
  expect_stays({"fold_constants"}, R"(
    const %0: f32[1] = {3}
    const %1: i64[1] = {9000}
    %2: f32[9000] = Expand(%0, %1)
    output %2 "y")");
}

// What is left of a graph whose output is one node over constants.
bool folds(const std::string& text) {
  Graph g = graph_of(text);
  apply(g, {"fold_constants"});
  return g.order().empty();
}

std::string negated(std::int64_t n) {
  return cat("const %0: f32[", n, "] = ...\n%1: f32[", n,
             "] = Unary(%0) kind=neg\noutput %1 \"y\"");
}
std::string summed(std::int64_t n) {
  return cat("const %0: f32[", n,
             "] = ...\n%1: f32[] = Reduce(%0) kind=sum keepdims=false\noutput %1 \"y\"");
}
// One row as many.
std::string expanded(std::int64_t rows, std::int64_t columns) {
  return cat("const %0: f32[", columns, "] = ...\nconst %1: i64[2] = {", rows, ", ", columns,
             "}\n%2: f32[", rows, ",", columns, "] = Expand(%0, %1)\noutput %2 \"y\"");
}

TEST(FoldConstants, HasLimitsOfBytes) {
  EXPECT_TRUE(folds(negated(16 << 10)));  // a result of 64 KiB
  EXPECT_FALSE(folds(negated((16 << 10) + 1)));
  EXPECT_TRUE(folds(summed(256 << 10)));  // operands of 1 MiB
  EXPECT_FALSE(folds(summed((256 << 10) + 1)));
  EXPECT_TRUE(folds(expanded(1024, 1)));  // a result of 4 KiB
  EXPECT_FALSE(folds(expanded(1025, 1)));
  EXPECT_TRUE(folds(expanded(8, 252)));  // a result of eight times its operands
  EXPECT_FALSE(folds(expanded(9, 252)));
}

TEST(FoldConstants, StaysWhereItIsAnErrorOfTheRun) {
  expect_stays({"fold_constants"}, R"(
    const %0: f32[2] = {1, 2}
    const %1: i64[] = {5}
    %2: f32[] = Gather(%0, %1) kind=axis
    output %2 "y")");
}

// Once the shape is a constant, the two no longer broadcast; the type of the sum is known before.
TEST(FoldConstants, StaysWhereInferenceNowRefuses) {
  Graph g = graph_of(R"(
    const %0: f32[2,3] = {0, 1, 2, 3, 4, 5}
    const %1: f32[3,2] = {0, 1, 2, 3, 4, 5}
    %2: i64[2] = ShapeOf(%1)
    %3: f32[?,?] = Reshape(%1, %2)
    %4: f32[2,3] = Binary(%0, %3) kind=mod
    output %4 "y")");
  apply(g);
  EXPECT_CONTAINS(plain_text(g), "kind=mod");
}

// Quantised weights wait for the operators of integers; other weights do not.
TEST(FoldConstants, WeightsOfBytesUnlessTheyAreQuantised) {
  expect_becomes({"fold_constants"}, R"(
    input %0 "x": f32[1,2]
    const %1: u8[2,2] = {1, 2, 3, 4}
    %2: f32[2,2] = Cast(%1) to=f32
    %3: f32[1,2] = MatMul(%0, %2)
    output %3 "y")",
                 R"(
    input %0 "x": f32[1,2]
    const %1: f32[2,2] = {1, 2, 3, 4}
    %2: f32[1,2] = MatMul(%0, %1)
    output %2 "y")");
  expect_stays({"fold_constants"}, R"(
    input %0 "x": f32[1,2]
    const %1: u8[2,2] = {1, 2, 3, 4}
    const %2: f32[] = {0.5}
    %3: f32[2,2] = Dequantize(%1, %2)
    %4: f32[1,2] = MatMul(%0, %3)
    output %4 "y")");
}

TEST(FoldConstants, StaysForShapesThatDependOnData) {
  expect_stays({"fold_constants"}, R"(
    const %0: f32[2] = {1, 0}
    %1: i64[1,?] = NonZero(%0)
    output %1 "y")");
}

TEST(FoldShape, OfKnownDimensions) {
  expect_becomes({"fold_shape"}, R"(
    input %0 "x": f32[2,3]
    %1: i64[2] = ShapeOf(%0)
    %2: i64[1] = ShapeOf(%0) start=-1
    %3: i64[] = SizeOf(%0)
    output %1 "a"
    output %2 "b"
    output %3 "c")",
                 R"(
    input %0 "x": f32[2,3]
    const %1: i64[2] = {2, 3}
    output %1 "a"
    const %2: i64[1] = {3}
    output %2 "b"
    const %3: i64[] = {6}
    output %3 "c")");
  expect_stays({"fold_shape"}, R"(
    input %0 "x": f32[N,3]
    %1: i64[2] = ShapeOf(%0)
    %2: i64[] = SizeOf(%0)
    output %1 "a"
    output %2 "b")");
}

TEST(FoldGatheredShape, OfTheDimensionsThatAreKnown) {
  expect_becomes({"fold_gathered_shape"}, R"(
    input %0 "x": f32[N,3,?]
    const %1: i64[] = {1}
    const %2: i64[1] = {0}
    const %3: i64[2] = {-2, 1}
    %4: i64[3] = ShapeOf(%0)
    %5: i64[] = Gather(%4, %1) kind=axis
    %6: i64[1] = Gather(%4, %2) kind=axis
    %7: i64[2] = Gather(%4, %3) kind=axis
    output %5 "a"
    output %6 "b"
    output %7 "c")",
                 R"(
    input %0 "x": f32[N,3,?]
    %1: i64[3] = ShapeOf(%0)
    const %2: i64[1] = {0}
    %3: i64[1] = Gather(%1, %2) kind=axis
    const %4: i64[] = {3}
    output %4 "a"
    output %3 "b"
    const %5: i64[2] = {3, 3}
    output %5 "c")");
}

TEST(FoldGatheredShape, IndicesCountFromBothEndsOfThePart) {
  expect_becomes({"fold_gathered_shape"}, R"(
    input %0 "x": f32[2,3,5,N]
    const %1: i64[] = {-3}
    const %2: i64[] = {2}
    const %3: i64[] = {0}
    %4: i64[3] = ShapeOf(%0) start=1
    %5: i64[] = Gather(%4, %1) kind=axis
    %6: i64[] = Gather(%4, %2) kind=axis
    %7: i64[] = Gather(%4, %3) kind=axis
    output %5 "a"
    output %6 "b"
    output %7 "c")",
                 R"(
    input %0 "x": f32[2,3,5,N]
    const %1: i64[] = {2}
    %2: i64[3] = ShapeOf(%0) start=1
    %3: i64[] = Gather(%2, %1) kind=axis
    const %4: i64[] = {3}
    output %4 "a"
    output %3 "b"
    const %5: i64[] = {3}
    output %5 "c")");
  // Outside of the part, though the shape has them.
  expect_stays({"fold_gathered_shape"}, R"(
    input %0 "x": f32[2,3,5]
    const %1: i64[] = {2}
    const %2: i64[] = {-3}
    %3: i64[2] = ShapeOf(%0) start=1
    %4: i64[] = Gather(%3, %1) kind=axis
    %5: i64[] = Gather(%3, %2) kind=axis
    output %4 "a"
    output %5 "b")");
}

TEST(FoldSlicedShape, BecomesAPartOfTheShape) {
  expect_becomes({"fold_sliced_shape"}, R"(
    input %0 "x": f32[N,3,?]
    const %1: i64[1] = {1}
    const %2: i64[1] = {9223372036854775807}
    %3: i64[3] = ShapeOf(%0)
    %4: i64[2] = Slice(%3, %1, %2)
    output %4 "y")",
                 R"(
    input %0 "x": f32[N,3,?]
    %1: i64[2] = ShapeOf(%0) start=1 end=3
    output %1 "y")");
  expect_stays({"fold_sliced_shape"}, R"(
    input %0 "x": f32[N,3,?]
    const %1: i64[1] = {0}
    const %2: i64[1] = {3}
    const %3: i64[1] = {2}
    %4: i64[3] = ShapeOf(%0)
    %5: i64[2] = Slice(%4, %1, %2, %1, %3)
    output %5 "y")");
  // Backwards: the same elements in another order.
  expect_stays({"fold_sliced_shape"}, R"(
    input %0 "x": f32[N,3,?]
    const %1: i64[1] = {2}
    const %2: i64[1] = {-9223372036854775808}
    const %3: i64[1] = {0}
    const %4: i64[1] = {-1}
    %5: i64[3] = ShapeOf(%0)
    %6: i64[3] = Slice(%5, %1, %2, %3, %4)
    output %6 "y")");
}

// A shape that becomes known makes known what depends on it.
TEST(FoldShape, RefinesTypesFromThereOn) {
  expect_becomes({"fold_shape", "fold_constants"}, R"(
    input %0 "x": f32[2,3,4]
    input %1 "z": f32[24]
    const %2: i64[1] = {0}
    const %3: i64[1] = {2}
    const %4: i64[1] = {-1}
    %5: i64[3] = ShapeOf(%0)
    %6: i64[2] = Slice(%5, %2, %3)
    %7: i64[3] = Concat(%6, %4)
    %8: f32[?,?,?] = Reshape(%1, %7)
    %9: f32[?,?,?] = Unary(%8) kind=relu
    output %9 "y")",
                 R"(
    input %0 "x": f32[2,3,4]
    input %1 "z": f32[24]
    const %2: i64[3] = {2, 3, -1}
    %3: f32[2,3,4] = Reshape(%1, %2)
    %4: f32[2,3,4] = Unary(%3) kind=relu
    output %4 "y")");
}

TEST(DropUnreadOutputs, LeavesTheirPlaceEmpty) {
  expect_becomes({"drop_unread_outputs"}, R"(
    input %0 "x": f32[4]
    %1: f32[2], %2: f32[2] = Split(%0)
    output %2 "y")",
                 R"(
    input %0 "x": f32[4]
    _, %1: f32[2] = Split(%0)
    output %1 "y")");
  expect_stays({"drop_unread_outputs"}, R"(
    input %0 "x": f32[4]
    %1: f32[2], %2: f32[2] = Split(%0)
    output %1 "a"
    output %2 "b")");
}

TEST(DeadNodes, GoWithWhatTheyRead) {
  expect_becomes({"drop_cast"}, R"(
    input %0 "x": f32[4]
    %1: f32[4] = Unary(%0) kind=exp
    %2: f32[4] = Unary(%1) kind=neg
    %3: f32[4] = Unary(%0) kind=abs
    output %3 "y")",
                 R"(
    input %0 "x": f32[4]
    %1: f32[4] = Unary(%0) kind=abs
    output %1 "y")");
}

TEST(FoldConstants, StaysForSmallOperandsAndMuchWork) {
  expect_stays({"fold_constants"}, R"(
    const %0: f32[200] = ...
    %1: f32[] = Einsum(%0, %0, %0) equation="a,b,c->"
    output %1 "y")");
}

}  // namespace
}  // namespace quern::testing
