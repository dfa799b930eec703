// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/quantized.h"

#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(CancelQuantize, OfEqualSteps) {
  expect_becomes({"cancel_quantize"}, R"(
    input %0 "x": u8[2,3]
    const %1: f32[] = {0.1}
    const %2: u8[] = {3}
    const %3: f32[] = {0.1}
    const %4: u8[] = {3}
    %5: f32[2,3] = Dequantize(%0, %1, %2)
    %6: u8[2,3] = Quantize(%5, %3, %4)
    output %6 "y")",
                 R"(
    input %0 "x": u8[2,3]
    output %0 "y")",
                 0);
  expect_stays({"cancel_quantize"}, R"(
    input %0 "x": u8[2,3]
    input %1 "s": f32[]
    const %2: f32[] = {0.1}
    const %3: f32[] = {0.2}
    const %4: u8[] = {3}
    const %5: i8[] = {0}
    const %6: f32[3] = {1, 2, 3}
    const %7: f32[2] = {1, 2}
    %8: f32[2,3] = Dequantize(%0, %2, %4)
    %9: u8[2,3] = Quantize(%8, %3, %4)
    %10: f32[2,3] = Dequantize(%0, %2)
    %11: i8[2,3] = Quantize(%10, %2, %5)
    %12: f32[2,3] = Dequantize(%0, %1)
    %13: u8[2,3] = Quantize(%12, %1)
    %14: f32[2,3] = Dequantize(%0, %6)
    %15: u8[2,3] = Quantize(%14, %7) axis=0
    output %9 "a"
    output %11 "b"
    output %13 "c"
    output %15 "d")");
}

// Steps are equal only where they are known.
TEST(CancelQuantize, StaysForVariableZeros) {
  expect_stays({"cancel_quantize"}, R"(
    input %0 "x": u8[2,3]
    input %1 "z": u8[]
    input %2 "another": u8[]
    const %3: f32[] = {0.1}
    const %4: u8[] = {3}
    %5: f32[2,3] = Dequantize(%0, %3, %1)
    %6: u8[2,3] = Quantize(%5, %3, %4)
    %7: f32[2,3] = Dequantize(%0, %3, %1)
    %8: u8[2,3] = Quantize(%7, %3, %2)
    output %6 "constant"
    output %8 "both variable")");
}

TEST(MoveQuantized, WithoutFloats) {
  expect_becomes({"move_quantized"}, R"(
    input %0 "x": u8[1,2,3]
    input %1 "z": u8[1,3,2]
    const %2: f32[] = {0.1}
    const %3: u8[] = {3}
    %4: f32[1,2,3] = Dequantize(%0, %2, %3)
    %5: f32[1,3,2] = Transpose(%4) perm=[0,2,1]
    %6: u8[1,3,2] = Quantize(%5, %2, %3)
    %7: f32[1,3,2] = Dequantize(%1, %2, %3)
    %8: f32[1,3,2] = Dequantize(%6, %2, %3)
    %9: f32[1,6,2] = Concat(%7, %8) axis=1
    %10: u8[1,6,2] = Quantize(%9, %2, %3)
    output %10 "y")",
                 R"(
    input %0 "x": u8[1,2,3]
    input %1 "z": u8[1,3,2]
    %2: u8[1,3,2] = Transpose(%0) perm=[0,2,1]
    %3: u8[1,6,2] = Concat(%1, %2) axis=1
    output %3 "y")",
                 0);
  expect_stays({"move_quantized"}, R"(
    input %0 "x": u8[2,2]
    const %1: f32[2] = {0.1, 0.2}
    const %2: f32[] = {0.1}
    %3: f32[2,2] = Dequantize(%0, %1)
    %4: f32[2,2] = Transpose(%3)
    %5: u8[2,2] = Quantize(%4, %1)
    %6: f32[2,2] = Dequantize(%0, %2)
    %7: f32[2,2] = Unary(%6) kind=exp
    %8: u8[2,2] = Quantize(%7, %2)
    output %5 "y"
    output %8 "z")");
}

TEST(QLinearConv, WithBiasAndRelu) {
  expect_becomes({"recognise_qlinear_conv"}, R"(
    input %0 "x": u8[1,2,3]
    const %1: f32[] = {0.5}
    const %2: u8[] = {3}
    const %3: i8[2,2,1] = {1, -2, 3, 4}
    const %4: f32[2] = {0.25, 0.5}
    const %5: i8[2] = {0, 0}
    const %6: f32[2] = {1, -1}
    const %7: f32[] = {0.125}
    const %8: u8[] = {0}
    %9: f32[1,2,3] = Dequantize(%0, %1, %2)
    %10: f32[2,2,1] = Dequantize(%3, %4, %5) axis=0
    %11: f32[1,2,3] = Conv(%9, %10, %6)
    %12: f32[1,2,3] = Unary(%11) kind=relu
    %13: u8[1,2,3] = Quantize(%12, %7, %8)
    output %13 "y")",
                 R"(
    input %0 "x": u8[1,2,3]
    const %1: f32[] = {0.5}
    const %2: u8[] = {3}
    const %3: i8[2,2,1] = {1, -2, 3, 4}
    const %4: f32[2] = {0.25, 0.5}
    const %5: i8[2] = {0, 0}
    const %6: f32[] = {0.125}
    const %7: u8[] = {0}
    const %8: i32[2] = {8, -4}
    %9: u8[1,2,3] = QLinearConv(%0, %1, %2, %3, %4, %5, %6, %7, %8)
    output %9 "y")",
                 0);
}

// The range of the result cuts at -0.125 only: relu has to stay.
// Products have steps of 1, results of 8: a quarter may be rounded away, and no more.
TEST(QLinearConv, StaysWhereTheBiasIsNoWholeNumberOfSteps) {
  const Rules rules = {"recognise_qlinear_conv"};
  expect_becomes(rules, R"(
    input %0: u8[1,1,4]
    const %1: f32[] = {4}
    const %2: u8[] = {3}
    %3: f32[1,1,4] = Dequantize(%0, %1, %2)
    const %4: i8[1,1,1] = {5}
    const %5: f32[] = {0.25}
    const %6: i8[] = {0}
    %7: f32[1,1,1] = Dequantize(%4, %5, %6)
    const %8: f32[1] = {7.25}
    %9: f32[1,1,4] = Conv(%3, %7, %8)
    const %10: f32[] = {8}
    const %11: u8[] = {0}
    %12: u8[1,1,4] = Quantize(%9, %10, %11)
    output %12 "y")",
                 R"(
    input %0: u8[1,1,4]
    const %1: f32[] = {4}
    const %2: u8[] = {3}
    const %3: i8[1,1,1] = {5}
    const %4: f32[] = {0.25}
    const %5: i8[] = {0}
    const %6: f32[] = {8}
    const %7: u8[] = {0}
    const %8: i32[1] = {7}
    %9: u8[1,1,4] = QLinearConv(%0, %1, %2, %3, %4, %5, %6, %7, %8)
    output %9 "y")");
  expect_stays(rules, R"(
    input %0: u8[1,1,4]
    const %1: f32[] = {4}
    const %2: u8[] = {3}
    %3: f32[1,1,4] = Dequantize(%0, %1, %2)
    const %4: i8[1,1,1] = {5}
    const %5: f32[] = {0.25}
    const %6: i8[] = {0}
    %7: f32[1,1,1] = Dequantize(%4, %5, %6)
    const %8: f32[1] = {7.375}
    %9: f32[1,1,4] = Conv(%3, %7, %8)
    const %10: f32[] = {8}
    const %11: u8[] = {0}
    %12: u8[1,1,4] = Quantize(%9, %10, %11)
    output %12 "y")");
}

TEST(QLinearConv, StaysWhereTheRangeDoesNotCut) {
  // One scale for all weights, and a bias for each.
  expect_becomes({"recognise_qlinear_conv"}, R"(
    input %0 "x": u8[1,2,3]
    const %1: f32[] = {0.5}
    const %2: u8[] = {3}
    const %3: i8[2,2,1] = {1, -2, 3, 4}
    const %4: f32[] = {0.25}
    const %5: i8[] = {0}
    const %6: f32[2] = {1, -1}
    const %7: f32[] = {0.125}
    const %8: u8[] = {0}
    %9: f32[1,2,3] = Dequantize(%0, %1, %2)
    %10: f32[2,2,1] = Dequantize(%3, %4, %5)
    %11: f32[1,2,3] = Conv(%9, %10, %6)
    %12: u8[1,2,3] = Quantize(%11, %7, %8)
    output %12 "y")",
                 R"(
    input %0 "x": u8[1,2,3]
    const %1: f32[] = {0.5}
    const %2: u8[] = {3}
    const %3: i8[2,2,1] = {1, -2, 3, 4}
    const %4: f32[] = {0.25}
    const %5: i8[] = {0}
    const %6: f32[] = {0.125}
    const %7: u8[] = {0}
    const %8: i32[2] = {8, -8}
    %9: u8[1,2,3] = QLinearConv(%0, %1, %2, %3, %4, %5, %6, %7, %8)
    output %9 "y")");
  expect_stays({"recognise_qlinear_conv"}, R"(
    input %0 "x": u8[1,2,3]
    input %1 "s": f32[]
    const %2: f32[] = {0.5}
    const %3: i8[2,2,1] = {1, -2, 3, 4}
    const %4: u8[] = {1}
    const %5: f32[2] = {0.5, 0.25}
    %6: f32[1,2,3] = Dequantize(%0, %2)
    %7: f32[2,2,1] = Dequantize(%3, %2)
    %8: f32[1,2,3] = Conv(%6, %7)
    %9: f32[1,2,3] = Unary(%8) kind=relu
    %10: u8[1,2,3] = Quantize(%9, %2, %4)
    %11: f32[1,2,3] = Conv(%6, %7)
    %12: u8[1,2,3] = Quantize(%11, %1)
    %13: f32[2,2,1] = Dequantize(%3, %5)
    %14: f32[1,2,3] = Conv(%6, %13)
    %15: u8[1,2,3] = Quantize(%14, %2)
    %16: f32[1,2,3] = Conv(%6, %7)
    %17: u8[1,2,3] = Quantize(%16, %2)
    output %10 "a"
    output %12 "b"
    output %15 "c"
    output %16 "d"
    output %17 "e")");
}

TEST(QLinearMatMul, WithColumnScales) {
  expect_becomes({"recognise_qlinear_matmul"}, R"(
    input %0 "a": i8[3,2]
    const %1: f32[] = {0.5}
    const %2: i8[2,2] = {1, -2, 3, 4}
    const %3: f32[2] = {0.25, 0.5}
    const %4: f32[] = {0.25}
    const %5: i8[] = {-5}
    %6: f32[3,2] = Dequantize(%0, %1)
    %7: f32[2,2] = Dequantize(%2, %3)
    %8: f32[3,2] = MatMul(%6, %7)
    %9: i8[3,2] = Quantize(%8, %4, %5)
    output %9 "y")",
                 R"(
    input %0 "a": i8[3,2]
    const %1: f32[] = {0.5}
    const %2: i8[] = {0}
    const %3: i8[2,2] = {1, -2, 3, 4}
    const %4: f32[2] = {0.25, 0.5}
    const %5: i8[] = {0}
    const %6: f32[] = {0.25}
    const %7: i8[] = {-5}
    %8: i8[3,2] = QLinearMatMul(%0, %1, %2, %3, %4, %5, %6, %7)
    output %8 "y")",
                 0);
}

TEST(CancelQuantize, StaysWhere16BitsLoseSteps) {
  expect_stays({"cancel_quantize"}, R"(
    input %0 "x": u8[4]
    const %1: bf16[] = {0.1}
    const %2: u8[] = {0}
    %3: bf16[4] = Dequantize(%0, %1, %2)
    %4: u8[4] = Quantize(%3, %1, %2)
    output %4 "y")");
}

// ---- integer convolutions whose result is f32

void expect_converted(std::string_view before, std::string_view after) {
  const Graph original = graph_of(before);
  Graph g = original.clone();
  const auto always = [](const Shape&, std::int64_t) { return true; };
  ASSERT_TRUE(convolve_dequantized(g, always).ok());
  ASSERT_TRUE(scale_integer_convolutions(g).ok());
  expect_is(g, original, after, 1e-6);
}

// The bias need not be a whole number of steps.
TEST(ConvIntegerToFloat, OfDequantizedTensors) {
  expect_converted(R"(
    input %0 "x": u8[1,2,3]
    const %1: f32[] = {0.5}
    const %2: u8[] = {3}
    const %3: i8[2,2,1] = {1, -2, 3, 4}
    const %4: f32[2] = {0.25, 0.3}
    const %5: f32[2] = {1.01, -1}
    %6: f32[1,2,3] = Dequantize(%0, %1, %2)
    %7: f32[2,2,1] = Dequantize(%3, %4) axis=0
    %8: f32[1,2,3] = Conv(%6, %7, %5)
    %9: f32[1,2,3] = Unary(%8) kind=relu
    output %8 "y"
    output %9 "z")",
                   R"(
    input %0 "x": u8[1,2,3]
    const %1: f32[] = {0.5}
    const %2: u8[] = {3}
    const %3: i8[2,2,1] = {1, -2, 3, 4}
    const %4: f32[2] = {0.25, 0.3}
    const %5: i8[] = {0}
    const %6: f32[2] = {1.01, -1}
    %7: f32[1,2,3] = ConvIntegerToFloat(%0, %1, %2, %3, %4, %5, %6)
    %8: f32[1,2,3] = Unary(%7) kind=relu
    output %7 "y"
    output %8 "z")");
}

// Weights that come as an input, and what the callback refuses, stay.
TEST(ConvIntegerToFloat, StaysWhereWeightsAreNoConstantsOrNothingIsGained) {
  const std::string_view weights_from_outside = R"(
    input %0 "x": u8[1,2,3]
    const %1: f32[] = {0.5}
    input %2 "w": i8[2,2,1]
    %3: f32[1,2,3] = Dequantize(%0, %1)
    %4: f32[2,2,1] = Dequantize(%2, %1)
    %5: f32[1,2,3] = Conv(%3, %4)
    output %5 "y")";
  Graph g = graph_of(weights_from_outside);
  ASSERT_TRUE(convolve_dequantized(g, [](const Shape&, std::int64_t) { return true; }).ok());
  EXPECT_EQ(plain_text(g), plain_text(graph_of(weights_from_outside)));
  const std::string_view dequantized = R"(
    input %0 "x": u8[1,2,3]
    const %1: f32[] = {0.5}
    const %2: i8[2,2,1] = {1, -2, 3, 4}
    %3: f32[1,2,3] = Dequantize(%0, %1)
    %4: f32[2,2,1] = Dequantize(%2, %1)
    %5: f32[1,2,3] = Conv(%3, %4)
    output %5 "y")";
  Graph refused = graph_of(dequantized);
  ASSERT_TRUE(convolve_dequantized(refused, [](const Shape&, std::int64_t) { return false; }).ok());
  EXPECT_EQ(plain_text(refused), plain_text(graph_of(dequantized)));
}

TEST(ConvIntegerToFloat, StaysWhereTheSumsAreReadUnscaledToo) {
  const std::string_view read_twice = R"(
    input %0 "x": u8[1,2,3]
    input %1 "scale": f32[]
    input %2 "zero": u8[]
    const %3: i8[2,2,1] = {1, -2, 3, 4}
    const %4: f32[1,2,1] = {1, 2}
    %5: i32[1,2,3] = ConvInteger(%0, %3, %2)
    %6: f32[1,2,3] = Cast(%5)
    %7: f32[1,2,3] = Binary(%6, %1) kind=mul | add(%4) | relu | add(%6)
    output %7 "y")";
  expect_converted(read_twice, read_twice);
}

// As exporters of dynamic quantisation write it, with the scale known at run time alone.
TEST(ConvIntegerToFloat, OfIntegersThatAreCastAndScaled) {
  expect_converted(R"(
    input %0 "x": u8[1,2,3]
    input %1 "scale": f32[]
    input %2 "zero": u8[]
    input %3 "r": f32[1,2,3]
    const %4: i8[2,2,1] = {1, -2, 3, 4}
    const %5: f32[2,1] = {1, 2}
    %6: i32[1,2,3] = ConvInteger(%0, %4, %2)
    %7: f32[1,2,3] = Cast(%6)
    %8: f32[1,2,3] = Binary(%1, %7) kind=mul | add(%5) | relu | add(%3)
    output %8 "y")",
                   R"(
    input %0 "x": u8[1,2,3]
    input %1 "scale": f32[]
    input %2 "zero": u8[]
    input %3 "r": f32[1,2,3]
    const %4: i8[2,2,1] = {1, -2, 3, 4}
    const %5: f32[] = {1}
    const %6: i8[] = {0}
    const %7: f32[2] = {1, 2}
    %8: f32[1,2,3] = ConvIntegerToFloat(%0, %1, %2, %4, %5, %6, %7) | relu | add(%3)
    output %8 "y")");
}

// The scale of the weights is a constant: the kernel multiplies with both.
TEST(ConvIntegerToFloat, TakesBothScales) {
  expect_converted(R"(
    input %0 "x": u8[1,2,3]
    input %1 "scale": f32[]
    input %2 "zero": u8[]
    const %3: f32[1] = {0.5}
    const %4: i8[2,2,1] = {1, -2, 3, 4}
    %5: i32[1,2,3] = ConvInteger(%0, %4, %2)
    %6: f32[1,2,3] = Cast(%5)
    %7: f32[1] = Binary(%1, %3) kind=mul
    %8: f32[1,2,3] = Binary(%6, %7) kind=mul
    output %8 "y")",
                   R"(
    input %0 "x": u8[1,2,3]
    input %1 "scale": f32[]
    input %2 "zero": u8[]
    const %3: f32[1] = {0.5}
    const %4: i8[2,2,1] = {1, -2, 3, 4}
    const %5: i8[] = {0}
    %6: f32[1,2,3] = ConvIntegerToFloat(%0, %1, %2, %4, %3, %5)
    output %6 "y")");
}

}  // namespace
}  // namespace quern::testing
