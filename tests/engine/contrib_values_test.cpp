// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that become several nodes, on numbers: those of ONNX Runtime's own
// tests, or worked out from the operator's text by hand or with NumPy.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/one_operator.h"

namespace quern::onnx_test {
namespace {

using quern::testing::Declared;
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
  OneOperator wrong = expanded(1, true);
  wrong.fed[1] = number_of(1e30F);
  expect_answer(wrong, HasSubstr("its axis is f32"));
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

TEST(ContribValues, TransformsOfRealSignals) {
  const Fed signals = {tensor<float>(
      {2, 4}, {0.8129F, 1.3108F, -0.8790F, -1.2046F, 0.1661F, -0.9831F, 0.5879F, 0.4918F})};
  const std::vector<float> spectra = {0.0400F, 0, 1.6919F,  -2.5154F, -0.1722F, 0,
                                      0.2627F, 0, -0.4218F, 1.4748F,  1.2454F,  0};
  expect_values({.op = "Rfft", .fed = {signals}, .attributes = {integer("signal_ndim", 1)}},
                {spectra}, 2e-4F);
  const Tensor complex = Tensor::from_values<float>(DType::f32, Shape{2, 3, 2}, spectra);
  expect_values({.op = "Irfft", .fed = {{complex}}, .attributes = {integer("signal_ndim", 1)}},
                {{0.8129F, 1.3108F, -0.8790F, -1.2046F, 0.1661F, -0.9831F, 0.5879F, 0.4918F}},
                2e-4F);
  expect_answer({.op = "Rfft", .fed = {signals}, .attributes = {integer("onesided", 0)}},
                HasSubstr("only transforms of one dimension"));
}

TEST(ContribValues, ProductsOfComplexNumbers) {
  const Fed a = {tensor<float>({2, 2}, {1, 2, -3, 0.5F})}, b = {tensor<float>({2}, {4, -1})};
  expect_answer({.op = "ComplexMul", .fed = {a, b}, .attributes = {}}, "f32[2,2] 6 7 -11.5 5");
  expect_answer({.op = "ComplexMulConj", .fed = {a, b}, .attributes = {}}, "f32[2,2] 2 9 -12.5 -1");
  expect_answer({.op = "ComplexMul", .fed = {a, {tensor<float>({1}, {4})}}, .attributes = {}},
                HasSubstr("holds no complex numbers"));
}

TEST(ContribValues, DistancesOfRows) {
  const Fed a = {tensor<float>({4, 2}, {-1.0856307F, 0.99734545F, 0.2829785F, -1.5062947F,
                                        -0.5786002F, 1.6514366F, -2.4266791F, -0.42891264F})};
  const Fed b = {tensor<float>(
      {3, 2}, {1.2659363F, -0.8667404F, -0.6788862F, -0.09470897F, 1.4913896F, -0.638902F})};
  expect_values({.op = "CDist", .fed = {a, b}, .attributes = {word("metric", "euclidean")}},
                {{3.0007803F, 1.1653428F, 3.0525956F, 1.1727045F, 1.7081447F, 1.4874904F,
                  3.1214628F, 1.749023F, 3.0871522F, 3.718481F, 1.7794584F, 3.923692F}});
  expect_values({.op = "CDist", .fed = {a, b}, .attributes = {}},
                {{9.004683F, 1.3580238F, 9.318338F, 1.3752356F, 2.917758F, 2.2126276F, 9.74353F,
                  3.0590816F, 9.530509F, 13.827101F, 3.1664724F, 15.395359F}});
  expect_answer({.op = "CDist", .fed = {a, b}, .attributes = {word("metric", "cosine")}},
                HasSubstr("metric"));
}

TEST(ContribValues, SlicesSideBySide) {
  const Tensor x = tensor<std::int32_t>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 6, 7, 8, 9});
  for (const Declared dims : {Declared::all, Declared::last}) {
    expect_answer({.op = "UnfoldTensor",
                   .fed = {{tensor<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})}},
                   .attributes = {integer("size", 3)},
                   .dims = dims},
                  "f32[2,2,3] 1 2 3 2 3 4 5 6 7 6 7 8");
    expect_answer({.op = "UnfoldTensor",
                   .fed = {{x, i32}},
                   .attributes = {integer("size", 1), integer("step", 2), integer("dim", 0)},
                   .dims = dims},
                  "i32[2,4,1] 1 2 3 4 6 7 8 9");
  }
  for (const auto& [size, step] : {std::pair(5, 1), std::pair(0, 1), std::pair(1, 0)})
    expect_answer({.op = "UnfoldTensor",
                   .fed = {{x, i32}},
                   .attributes = {integer("size", size), integer("step", step)}},
                  HasSubstr("slices of"));
}

TEST(ContribValues, RowsOfATable) {
  expect_answer({.op = "TorchEmbedding",
                 .fed = {{tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6})},
                         {tensor<std::int64_t>({2, 1}, {2, 0}), i64},
                         {tensor<std::int64_t>({}, {1}), i64}},
                 .attributes = {}},
                "f32[2,1,2] 5 6 1 2");
}

// The buckets of T5: both ways 8 up to a distance of 16, one way 4 up to 9.
TEST(ContribValues, PositionsInBuckets) {
  const auto bias = [](const Tensor& table, std::int64_t both_ways, std::int64_t greatest,
                       std::int64_t length) {
    const Fed one = {tensor<std::int64_t>({1}, {length}), i64};
    return OneOperator{
        .op = "RelativePositionBias",
        .fed = {{table}, one, {one.tensor, i64, true}},
        .attributes = {integer("is_bidirectional", both_ways), integer("max_distance", greatest)}};
  };
  const Tensor four = tensor<float>({4, 2}, {1, 3, 5, 7, 2, 4, 6, 8});
  expect_answer(bias(four, 1, 128, 2), "f32[1,2,2,2] 1 7 3 1 2 8 4 2");
  expect_values(bias(tensor<float>({8, 1}, {0, 1, 2, 3, 4, 5, 6, 7}), 1, 16, 5),
                {{0, 5, 6, 6, 6, 1, 0, 5, 6, 6, 2, 1, 0, 5, 6, 2, 2, 1, 0, 5, 2, 2, 2, 1, 0}});
  expect_values(bias(tensor<float>({4, 1}, {0, 1, 2, 3}), 0, 9, 5),
                {{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 1, 0, 0, 0, 2, 2, 1, 0, 0, 2, 2, 2, 1, 0}});
  expect_answer(bias(four, 0, 2, 2), HasSubstr("a greatest distance of 2"));
}

TEST(ContribValues, Hashes) {
  const auto hash = [](const Fed& x, std::int64_t positive, std::int64_t seed) {
    return OneOperator{.op = "MurmurHash3",
                       .fed = {x},
                       .attributes = {integer("positive", positive), integer("seed", seed)}};
  };
  const Fed ints = {tensor<std::int32_t>({2}, {3, 4}), i32};
  expect_answer(hash(ints, 1, 0), "u32[2] 847579505 1889779975");
  const Fed three = {tensor<std::int32_t>({1}, {3}), i32};
  expect_answer(hash(three, 0, 42), "i32[1] -1823081949");
  expect_answer(hash(three, 1, 42), "u32[1] 2471885347");
  expect_answer(hash({tensor<std::int64_t>({1}, {4}), i64}, 1, 0), "u32[1] 3491892518");
  expect_answer(hash({tensor<float>({2}, {3, 4})}, 1, 0), "u32[2] 6814352 313312394");
  const Tensor x = Tensor::from_values<double>(DType::f64, Shape{1}, std::array{3.0});
  expect_answer(hash({x, f64}, 1, 0), "u32[1] 3554953595");
  expect_answer(hash({tensor<std::int8_t>({1}, {3}), i8}, 1, 0), HasSubstr("hashes of i8"));
}

TEST(ContribValues, TransposedConvolutionWhosePadsAreAnOperand) {
  OneOperator conv = {
      .op = "ConvTransposeWithDynamicPads",
      .fed = {{tensor<float>({1, 1, 3, 3},
                             {0.16857791F, -0.15161794F, 0.08540368F, 0.1820628F, -0.21746576F,
                              0.08245695F, 0.1431433F, -0.43156421F, 0.30591947F})},
              {tensor<float>({1, 1, 3, 3},
                             {-0.06230065F, 0.37932432F, -0.25388849F, 0.33878803F, 0.43709868F,
                              -0.22477469F, 0.04118127F, -0.44696793F, 0.06373066F})},
              {tensor<std::int64_t>({4}, {1, 1, 1, 1}), i64, true}},
      .attributes = {integers("kernel_shape", {3, 3}), integers("output_padding", {1, 1}),
                     integers("strides", {2, 2}), integers("dilations", {1, 1})}};
  expect_values(
      conv, {{0.07368518F,  -0.08925839F, -0.06627201F, 0.06301362F,  0.03732984F,  -0.01919658F,
              -0.00628807F, -0.02817563F, -0.01472169F, 0.04392925F,  -0.00689478F, -0.01549204F,
              0.07957941F,  -0.11459791F, -0.09505399F, 0.07681622F,  0.03604182F,  -0.01853423F,
              -0.0270785F,  -0.00680824F, -0.06650258F, 0.08004665F,  0.07918708F,  -0.0724144F,
              0.06256775F,  -0.17838378F, -0.18863615F, 0.20064656F,  0.133717F,    -0.06876295F,
              -0.06398046F, -0.00864975F, 0.19289537F,  -0.01490572F, -0.13673618F, 0.01949645F}});
  conv.fed[2].is_constant = false;
  expect_answer(conv, HasSubstr("its pads are no constant"));
}

TEST(ContribValues, AProductThroughAnActivation) {
  expect_answer(
      {.op = "FusedMatMulActivation",
       .fed = {{tensor<float>({1, 2}, {1, 2})}, {tensor<float>({2, 2}, {1, 2, -3, 1})}},
       .attributes = {word("activation", "Relu"), integer("transB", 1), number("alpha", 0.5F)}},
      "f32[1,2] 2.5 0");
}

// Of ai.onnx, as exporters wrote them before opset 10.
TEST(ContribValues, OperatorsOfOldExporters) {
  GraphParts g;
  g.inputs = {value("x", f32, {3, 3}), value("from", i32, {1}), value("to", i32, {1})};
  g.nodes = {node("Scale", {"x"}, {"scaled"}, {number("scale", 10)}),
             node("DynamicSlice", {"scaled", "from", "to"}, {"y"}),
             node("DynamicSlice", {"y", "from", "to", "axis"}, {"z"})};
  g.initializers = {raw_tensor("axis", i32, {1}, bytes_of<std::int32_t>({-1}))};
  g.outputs = {Message().text(1, "y"), Message().text(1, "z")};
  expect_everywhere(make_model(make_graph(g), {.opsets = {opset("", 9)}}),
                    {tensor<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
                     tensor<std::int32_t>({1}, {1}), tensor<std::int32_t>({1}, {3})},
                    "f32[2,3] 40 50 60 70 80 90; f32[2,2] 50 60 80 90");
}

// Two pictures of two channels, 3 x 4; one crop is the whole, one is turned, one reaches beyond.
TEST(ContribValues, CropsOfPictures) {
  const Fed x = {tensor<float>(
      {2, 2, 3, 4}, {0,      0,      0.25F,  0.5F,   0.75F,  1,      1.5F,   1.75F, 2.25F,  2.75F,
                     3.25F,  3.75F,  4.25F,  4.75F,  5.25F,  5.75F,  6.5F,   7,     7.75F,  8.25F,
                     9,      9.5F,   10.25F, 11,     11.75F, 12.5F,  13.25F, 14,    14.75F, 15.5F,
                     16.5F,  17.25F, 18,     19,     19.75F, 20.75F, 21.5F,  22.5F, 23.5F,  24.25F,
                     25.25F, 26.25F, 27.25F, 28.25F, 29.25F, 30.25F, 31.25F, 32.25F})};
  const Fed corners = {
      tensor<float>({3, 4}, {0, 0, 1, 1, 0.25F, 0.9F, 0.75F, -0.1F, 0.5F, 0.125F, 1.25F, 0.5F})};
  const Fed pictures = {tensor<std::int32_t>({3}, {1, 0, 1}), i32};
  const auto crop = [&](std::int32_t height, std::int32_t width, std::string_view mode) {
    return OneOperator{
        .op = "CropAndResize",
        .fed = {x, corners, pictures, {tensor<std::int32_t>({2}, {height, width}), i32, true}},
        .attributes = {word("mode", mode), number("extrapolation_value", -1)},
        .dims = Declared::last};
  };
  expect_values(
      crop(3, 2, "bilinear"),
      {{11.75F,    14,     14.75F, 17.25F,  18,      20.75F,  21.5F,     24.25F,  25.25F,
        28.25F,    29.25F, 32.25F, 1.05F,   -1,      1.675F,  -1,        2.6375F, -1,
        6.85F,     -1,     8.1F,   -1,      9.4375F, -1,      15.03125F, 16,      17.53906F,
        18.53125F, -1,     -1,     25.625F, 26.75F,  28.625F, 29.75F,    -1,      -1}});
  expect_values(crop(1, 3, "nearest"),
                {{14.75F, 16.5F, 17.25F, 25.25F, 27.25F, 28.25F, 1.75F, 1, -1, 8.25F, 7, -1, 18, 19,
                  19.75F, 29.25F, 30.25F, 31.25F}});
  expect_answer(crop(0, 3, "nearest"), HasSubstr("wants a height and a width"));
  OneOperator wrong = crop(1, 3, "nearest");
  for (const std::int32_t picture : {2, -1}) {
    wrong.fed[2].tensor = tensor<std::int32_t>({3}, {0, picture, 1});
    expect_answer(wrong, HasSubstr("error"));
  }
}

// Tables of bytes; the numbers are NumPy's.
TEST(ContribValues, EmbeddingsOfBytes) {
  OneOperator embedded = {
      .op = "QEmbedLayerNormalization",
      .fed = {{tensor<std::int32_t>({1, 3}, {1, 0, 2}), i32},
              {tensor<std::int32_t>({1, 3}, {0, 1, 1}), i32},
              {tensor<std::uint8_t>({3, 4}, {207, 21, 45, 60, 46, 205, 222, 149, 10, 24, 85, 110}),
               u8},
              {tensor<std::uint8_t>({4, 4}, {159, 122, 67, 40, 177, 188, 8, 29, 115, 100, 227, 132,
                                             107, 110, 170, 150}),
               u8},
              {tensor<std::uint8_t>({2, 4}, {44, 188, 193, 244, 201, 72, 81, 166}), u8},
              {tensor<std::uint8_t>({4}, {166, 178, 222, 74}), u8},
              {tensor<std::uint8_t>({4}, {240, 0, 19, 249}), u8},
              {tensor<std::int32_t>({1, 3}, {1, 1, 0}), i32},
              number_of(0.015625F),
              number_of(0.03125F),
              number_of(0.0078125F),
              number_of(0.0625F),
              number_of(0.015625F),
              byte_of(128),
              byte_of(100),
              byte_of(120),
              byte_of(10),
              byte_of(200)},
      .attributes = {number("epsilon", 0.01F)}};
  expect_values(embedded,
                {{-5.630905F, 12.58305F, 0.6672339F, -3.707073F, 14.6666F, 0.9308651F, -17.96858F,
                  -1.969418F, -4.92107F, -16.09117F, 15.83614F, 2.345932F}},
                1e-4F);
  embedded.fed[11] = {};
  expect_answer(embedded, HasSubstr("input 11 is left out"));
}

// The numbers are NumPy's; the last word begins with no character.
TEST(ContribValues, EmbeddingsOfWords) {
  OneOperator words = {
      .op = "WordConvEmbedding",
      .fed = {{tensor<std::int32_t>({4, 5},
                                    {1, 2, 3, 4, 0, 4, 3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1, 2, 0, 0}),
               i32},
              {tensor<float>({2, 1, 2, 3}, {0.1F, 0.2F, 0.3F, 0.2F, 0.3F, 0.1F, 0.3F, 0.1F, 0.2F, 1,
                                            1.1F, -1.2F})},
              {tensor<float>({2}, {0.1F, 0.2F})},
              {tensor<float>({5, 3}, {0.1F, 0.2F, 0.3F, 0.2F, 0.3F, 0.1F, 0.3F, 0.1F, 0.2F, 0.4F,
                                      0.5F, 0.6F, 0.7F, 0.8F, 0.9F})}},
      .attributes = {integer("embedding_size", 2), integer("conv_window_size", 2),
                     integer("char_embedding_size", 3)}};
  expect_values(words,
                {{0.7113937F, 0.7573623F, 0.7113937F, 0.7162979F, 0.3095069F, 0.2913126F, 0, 0}});
  words.attributes[2] = integer("char_embedding_size", 4);
  expect_answer(words, HasSubstr("'char_embedding_size' is 4 beside 3 of input 3"));
}

}  // namespace
}  // namespace quern::onnx_test
