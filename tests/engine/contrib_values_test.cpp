// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that become several nodes, on numbers: those of ONNX Runtime's own
// tests, or worked out from the operator's text by hand or with NumPy.
#include <string>

#include "tests/engine/one_operator.h"

namespace quern::onnx_test {
namespace {

using quern::testing::expect_everywhere;
using quern::testing::Fed;
using quern::testing::OneOperator;
using quern::testing::tensor;
using ::testing::HasSubstr;

void expect_answer(const OneOperator& one, const ::testing::Matcher<std::string>& wanted) {
  expect_everywhere(model_of(one), inputs_of(one), wanted);
}

Fed number_of(float v) {
  return {tensor<float>({}, {v}), f32, true};
}
Fed byte_of(std::uint8_t v) {
  return {tensor<std::uint8_t>({}, {v}), u8, true};
}
template <class T>
Fed shorts(const Shape& shape, std::initializer_list<T> values) {
  const bool is_signed = std::is_signed_v<T>;
  return {Tensor::from_values<T>(is_signed ? DType::i16 : DType::u16, shape,
                                 std::span(values.begin(), values.size())),
          is_signed ? i16 : u16};
}

TEST(ContribValues, AQuantisedChoiceHasThreeScales) {
  expect_answer({.op = "QLinearWhere",
                 .fed = {{tensor<bool>({2, 2}, {true, false, false, true}), boolean},
                         {tensor<std::uint8_t>({2}, {10, 20}), u8},
                         number_of(0.5F),
                         byte_of(10),
                         {tensor<std::uint8_t>({2, 1}, {3, 9}), u8},
                         number_of(0.25F),
                         byte_of(1),
                         number_of(0.125F),
                         byte_of(100)},
                 .attributes = {}},
                "u8[2,2] 100 104 116 140");
}

TEST(ContribValues, AQuantisedMean) {
  const std::vector<Fed> fed = {{tensor<std::uint8_t>({2, 3}, {2, 4, 9, 1, 1, 4}), u8},
                                number_of(0.5F),
                                byte_of(2),
                                number_of(0.25F),
                                byte_of(8)};
  expect_answer({.op = "QLinearReduceMean",
                 .fed = fed,
                 .attributes = {integers("axes", {1}), integer("keepdims", 0)}},
                "u8[2] 14 8");
  expect_answer({.op = "QLinearReduceMean",
                 .fed = fed,
                 .attributes = {integers("axes", {-2, 1}), integer("keepdims", 1)}},
                "u8[1,1] 11");
}

TEST(ContribValues, WindowsOfBytesWhoseChannelsComeLast) {
  const Tensor x =
      tensor<std::int8_t>({1, 2, 3, 2}, {-5, 7, 3, -8, -128, 0, -6, 2, -1, 9, -120, -3});
  expect_answer({.op = "NhwcMaxPool",
                 .fed = {{x, i8}},
                 .attributes = {integers("kernel_shape", {2, 2}), integers("pads", {0, 1, 0, 0})}},
                "i8[1,1,3,2] -5 7 3 9 3 9");
  expect_answer({.op = "NhwcMaxPool", .fed = {{x, i8}}, .attributes = {}},
                HasSubstr("'kernel_shape' is missing"));
}

TEST(ContribValues, ProductsOfShorts) {
  expect_answer({.op = "MatMulInteger16",
                 .fed = {shorts<std::int16_t>({3, 2}, {-7, 10, 10, -1113, 22, -356}),
                         shorts<std::int16_t>({2, 4}, {-8, -11, 13, 14, -99, 1234, 321, -6})},
                 .attributes = {}},
                "i32[3,4] -934 12417 3119 -158 110107 -1373552 -357143 6818 35068 -439546 -113990 "
                "2444");
  expect_answer(
      {.op = "MatMulInteger16",
       .fed = {shorts<std::uint16_t>({1, 1}, {65535}), shorts<std::uint16_t>({1, 1}, {65535})},
       .attributes = {}},
      "u32[1,1] 4294836225");
  expect_answer(
      {.op = "MatMulInteger16",
       .fed = {shorts<std::uint16_t>({1, 2}, {65535, 2}), shorts<std::int16_t>({2, 1}, {-3, 5})},
       .attributes = {}},
      "i32[1,1] -196595");
  expect_answer(
      {.op = "MatMulInteger16",
       .fed = {{tensor<std::uint8_t>({1, 1}, {2}), u8}, shorts<std::int16_t>({1, 1}, {2})},
       .attributes = {}},
      HasSubstr("wants i16 or u16"));
}

TEST(ContribValues, ADimensionMore) {
  const auto expanded = [](std::int32_t axis, bool is_constant) {
    return OneOperator{.op = "ExpandDims",
                       .fed = {{tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
                               {tensor<std::int32_t>({}, {axis}), i32, is_constant}},
                       .attributes = {}};
  };
  expect_answer(expanded(-1, true), "f32[2,3,1] 1 2 3 4 5 6");
  expect_answer(expanded(1, false), "f32[2,1,3] 1 2 3 4 5 6");
  expect_answer(expanded(3, true), HasSubstr("error"));
  expect_answer(expanded(-4, false), HasSubstr("error"));
}

// The weights are [M, C, height, width], all else has its channels last.
TEST(ContribValues, ConvolutionOfChannelsLastWithASumAndAnActivation) {
  expect_answer({.op = "NhwcFusedConv",
                 .fed = {{tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4})},
                         {tensor<float>({2, 2, 1, 1}, {1, 10, 100, -1}), f32, true},
                         {tensor<float>({2}, {1, -300})},
                         {tensor<float>({1, 1, 2, 2}, {0, 203, -50, 0})}},
                 .attributes = {word("activation", "Relu")}},
                "f32[1,1,2,2] 22 1 0 0");
}

}  // namespace
}  // namespace quern::onnx_test
