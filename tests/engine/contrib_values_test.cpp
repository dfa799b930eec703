// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that become several nodes, on numbers: those of ONNX Runtime's own
// tests, or worked out from the operator's text by hand or with NumPy.
#include <string>

#include "tests/engine/one_operator.h"

namespace quern::onnx_test {
namespace {

using quern::testing::expect_everywhere;
using quern::testing::expect_values;
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

// Two pixels of four channels.
const Fed pixels = {tensor<float>({1, 1, 2, 4}, {1, 2, -1, 0.5F, 3, -2, 0, 1.5F})};
const Fed gamma = {tensor<float>({4}, {1, 0.5F, -1, 2})};
const Fed beta = {tensor<float>({4}, {0, 1, 0.25F, -1})};

TEST(ContribValues, GroupsOfChannelsAreNormalised) {
  expect_values(
      {.op = "GroupNorm",
       .fed = {pixels, gamma, beta},
       .attributes = {integer("groups", 2), integer("activation", 1), number("epsilon", 0.01F)}},
      {{0, 0.98843F, 1.36115F, -0.17484F, 0.794369F, 0.109583F, 0.330361F, 1.49799F}});
  expect_values(
      {.op = "GroupNorm",
       .fed = {{tensor<float>({1, 4, 1, 2}, {1, 2, -1, 0.5F, 3, -2, 0, 1.5F})}, gamma, beta},
       .attributes = {integer("groups", 2), integer("activation", 0), integer("channels_last", 0)}},
      {{0.346409F, 1.27017F, 0.249448F, 0.942265F, -1.0339F, 1.66905F, -1.67574F, -0.0539691F}});
  for (const auto& [groups, activation] : {std::pair(0, 0), std::pair(3, 0), std::pair(2, 2)})
    expect_answer({.op = "GroupNorm",
                   .fed = {pixels, gamma, beta},
                   .attributes = {integer("groups", groups), integer("activation", activation)}},
                  HasSubstr("error"));
}

// x of 16 bits, parameters of 32.
TEST(ContribValues, GroupsOfChannelsInTwoPrecisions) {
  GraphParts g;
  g.inputs = {value("x", f32, {1, 1, 2, 4}), value("g", f32, {4}), value("b", f32, {4})};
  g.nodes = {node("Cast", {"x"}, {"h"}, {integer("to", f16)}),
             node("GroupNorm", {"h", "g", "b"}, {"n"},
                  {integer("groups", 2), integer("activation", 1), number("epsilon", 0.01F)},
                  {.domain = "com.microsoft"}),
             node("Cast", {"n"}, {"y"}, {integer("to", f32)})};
  g.outputs = {Message().text(1, "y")};
  const std::vector<float> wanted = {0,         0.98843F,  1.36115F,  -0.17484F,
                                     0.794369F, 0.109583F, 0.330361F, 1.49799F};
  for (const quern::testing::Way& way : quern::testing::ways()) {
    const auto found = quern::testing::must(quern::testing::run_onnx(
        make_model(make_graph(g)), {pixels.tensor, gamma.tensor, beta.tensor}, way));
    EXPECT_THAT(found[0].span<float>(), ::testing::Pointwise(::testing::FloatNear(1e-3F), wanted));
  }
}

TEST(ContribValues, GroupsOfASumThatIsHandedOut) {
  const std::vector<std::vector<float>> wanted = {
      {0.644502F, 1.17903F, 0.75128F, -2.00256F, 1.79028F, 0.0332465F, 0.178389F, -0.856777F},
      {2.5F, 2, 0.5F, 0.5F, 4.5F, -2, 1.5F, 1.5F}};
  for (const Shape& shape : {Shape{1, 4}, Shape{1, 1, 1, 4}})
    expect_values({.op = "SkipGroupNorm",
                   .fed = {pixels,
                           gamma,
                           beta,
                           {tensor<float>(shape, {1, 0, 2, -1})},
                           {tensor<float>({4}, {0.5F, 0, -0.5F, 1})}},
                   .attributes = {integer("groups", 1), integer("activation", 0)},
                   .outputs = 2},
                  wanted);
  expect_answer(
      {.op = "SkipGroupNorm",
       .fed = {pixels, gamma, beta, pixels},
       .attributes = {integer("groups", 1), integer("activation", 0), integer("channels_last", 0)}},
      HasSubstr("defined for channels that are last"));
}

TEST(ContribValues, SumsWithABias) {
  const Fed x = {tensor<float>({1, 2, 4}, {1, -2, 0.5F, 3, 0, 1, -1, -0.5F})};
  const Fed bias = {tensor<float>({4}, {0.5F, 1, -1, 0.25F})};
  expect_values({.op = "BiasSplitGelu", .fed = {x, bias}, .attributes = {}},
                {{-0.231403F, -3.24812F, -0.0227501F, -0.200647F}});
  expect_answer({.op = "BiasSplitGelu",
                 .fed = {{tensor<float>({1, 1, 3}, {1, 2, 3})}, {tensor<float>({3}, {1, 2, 3})}},
                 .attributes = {}},
                HasSubstr("a width of 3 has no halves"));
  expect_answer({.op = "BiasAdd", .fed = {x, bias, x}, .attributes = {}},
                "f32[1,2,4] 2.5 -3 0 6.25 0.5 3 -3 -0.75");
  const Fed no_training = {tensor<bool>({}, {false}), boolean, true};
  expect_answer({.op = "BiasDropout",
                 .fed = {x, bias, x, number_of(0.5F), no_training},
                 .attributes = {integer("seed", 3)}},
                "f32[1,2,4] 2.5 -3 0 6.25 0.5 3 -3 -0.75");
  expect_answer({.op = "BiasDropout", .fed = {x, bias}, .attributes = {}, .outputs = 2},
                "f32[1,2,4] 1.5 -1 -0.5 3.25 0.5 2 -2 -0.25; bool[1,2,4] 1 1 1 1 1 1 1 1");
  expect_answer({.op = "BiasDropout",
                 .fed = {x, bias, x, number_of(0.5F), {tensor<bool>({}, {false}), boolean}},
                 .attributes = {}},
                HasSubstr("training_mode is not known to be false"));
}

TEST(ContribValues, SoftmaxOfASumWithABias) {
  const Fed x = {tensor<float>({2, 2, 2}, {1, 2, 3, 4, 0, -1, 1, 0})};
  expect_values(
      {.op = "BiasSoftmax",
       .fed = {x, {tensor<float>({2, 2}, {0, 1, -1, 0.5F})}},
       .attributes = {integer("axis", 1), integer("is_inner_broadcast", 0)}},
      {{0.0226128F, 0.167087F, 0.0614679F, 0.748832F, 0.215113F, 0.215113F, 0.215113F, 0.354661F}});
  expect_values(
      {.op = "BiasSoftmax",
       .fed = {x, {tensor<float>({2, 1, 2}, {0, 1, -1, 0.5F})}},
       .attributes = {integer("axis", 2), integer("is_inner_broadcast", 1)}},
      {{0.119203F, 0.880797F, 0.119203F, 0.880797F, 0.377541F, 0.622459F, 0.377541F, 0.622459F}});
}

// Weights [3, 7] in blocks of 16, the second of which is not full; the numbers are NumPy's.
TEST(ContribValues, ProductsOfNumbersInTables) {
  const auto product = [](std::int64_t kind, std::int64_t transposed, const Fed& x) {
    return OneOperator{
        .op = "MatMulBnb4",
        .fed = {x,
                {tensor<std::uint8_t>({11}, {171, 206, 5, 206, 120, 131, 161, 73, 250, 13, 71}), u8,
                 transposed == 1},
                {tensor<float>({2}, {1.5F, 0.25F})}},
        .attributes = {integer("K", 7), integer("N", 3), integer("block_size", 16),
                       integer("quant_type", kind), integer("transB", transposed)}};
  };
  const Fed x = {tensor<float>({2, 7}, {-0.125F, -0.875F, -0.875F, 1, 0.25F, -0.5F, -0.125F, 1,
                                        0.75F, 0.75F, -0.25F, -0, 0.375F, -0.875F})};
  expect_values(product(0, 1, x),
                {{1.3125F, 0.5771484F, -0.1155599F, -1.71875F, -0.3505859F, 0.3691406F}});
  expect_values(product(1, 1, x),
                {{-0.3027092F, -0.3227752F, -0.4390484F, 0.2916461F, 2.196312F, 0.04146928F}});
  expect_values(product(0, 0, {tensor<float>({1, 3}, {0.125F, -0.5F, 0.75F})}),
                {{0.375F, -0.3808594F, -0.109375F, -0.15625F, -0.75F, 0.5F, -0.00390625F}});
  expect_answer(product(2, 1, x), HasSubstr("wants 0 or 1"));
}

TEST(ContribValues, ProductsOfWholeBlocksOfNumbersInTables) {
  OneOperator product = {
      .op = "MatMulBnb4",
      .fed = {{tensor<float>({1, 16}, {-1, 0, -0.125F, -0.625F, -0.375F, 0.625F, -0.375F, -0.75F,
                                       0.375F, -0.125F, 0.625F, -0.5F, -0.375F, 0.625F, 0, 0})},
              {tensor<std::uint8_t>(
                   {16}, {98, 47, 16, 95, 173, 31, 222, 87, 58, 139, 229, 226, 223, 78, 4, 199}),
               u8, true},
              {tensor<float>({2}, {2, 0.5F}), f32, true}},
      .attributes = {integer("K", 16), integer("N", 2), integer("block_size", 16),
                     integer("quant_type", 1)}};
  expect_values(product, {{-4.370485F, -0.173086F}});
  product.attributes[0] = integer("K", 15);
  expect_answer(product, HasSubstr("wants u8 of 15 elements"));
  product.attributes[2] = integer("block_size", 24);
  expect_answer(product, HasSubstr("no form of weights"));
}

}  // namespace
}  // namespace quern::onnx_test
