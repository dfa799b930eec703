// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/quantised_products.h"
#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

using i8 = std::int8_t;
using u8 = std::uint8_t;

std::vector<std::int32_t> convolve(const ConvInteger& op, const std::vector<Tensor>& inputs) {
  return values<std::int32_t>(run(op, inputs));
}

const Tensor x33 = tensor<u8>({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10});
const Tensor ones_of = tensor<u8>({1, 1, 2, 2}, {1, 1, 1, 1});

// ONNX's test_convinteger_without_padding and _with_padding.
TEST(ConvInteger, ZeroPointsAndPadding) {
  const Tensor one = tensor<u8>({}, {1});
  EXPECT_ELEMENTS(convolve({}, {x33, ones_of, one}), 12, 16, 24, 28);
  EXPECT_ELEMENTS(convolve({.window = {.pads = {1, 1, 1, 1}}}, {x33, ones_of, one}), 1, 3, 5, 3, 5,
                  12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9);
}

TEST(ConvInteger, ZeroPointsPerOutputChannel) {
  const Tensor x = tensor<i8>({1, 1, 2}, {-1, 3});
  const Tensor w = tensor<u8>({2, 1, 1}, {5, 5});
  EXPECT_ELEMENTS(convolve({}, {x, w, absent(), tensor<u8>({2}, {5, 3})}), 0, 0, -2, 6);
  EXPECT_ELEMENTS(convolve({}, {x, w, tensor<i8>({1}, {-1}), tensor<u8>({1}, {4})}), 0, 4, 0, 4);
}

TEST(ConvInteger, GroupsStridesAndDilations) {
  const Tensor x = tensor<u8>({1, 2, 5}, {1, 2, 3, 4, 5, 10, 20, 30, 40, 50});
  const Tensor w = tensor<i8>({2, 1, 2}, {1, -1, 1, 1});
  const ConvInteger op = {.window = {.strides = {2}, .dilations = {2}}, .group = 2};
  EXPECT_ELEMENTS(convolve(op, {x, w}), -2, -2, 40, 80);
}

TEST(ConvInteger, ExtremesOfTheTypes) {
  EXPECT_ELEMENTS(convolve({}, {tensor<i8>({1, 1, 1}, {-128}), tensor<i8>({1, 1, 1}, {-128}),
                                tensor<i8>({}, {127}), tensor<i8>({}, {127})}),
                  255 * 255);
  EXPECT_EQ(run(ConvInteger{}, {tensor<u8>({0, 1, 3, 3}, {}), ones_of}).shape(),
            Shape({0, 1, 2, 2}));
  EXPECT_ELEMENTS(convolve({}, {tensor<u8>({1, 0, 2}, {}), tensor<u8>({1, 0, 1}, {})}), 0, 0);
}

TEST(ConvInteger, RefusesWhatDoesNotFit) {
  EXPECT_CONTAINS(error_of(ConvInteger{}, {x33, tensor<u8>({1, 2, 1, 1}, {1, 1})}),
                  "weight has 2 input channels for each of 1 groups, input has 1");
  EXPECT_CONTAINS(error_of(ConvInteger{.group = 0}, {x33, ones_of}), "group is 0");
  EXPECT_CONTAINS(error_of(ConvInteger{}, {x33, ones_of, tensor<u8>({2}, {1, 1})}),
                  "input 2 (u8[2]) must be a scalar");
  EXPECT_CONTAINS(error_of(ConvInteger{}, {x33, ones_of, tensor<i8>({}, {1})}),
                  "must have one element type");
  EXPECT_CONTAINS(error_of(ConvInteger{}, {x33, ones_of, absent(), tensor<u8>({2}, {1, 1})}),
                  "input 3 (u8[2]) must be a scalar or a list of 1");
  EXPECT_CONTAINS(error_of(ConvInteger{}, {tensor<float>({1, 1, 1}, {1}), ones_of}),
                  "must be of i8 or u8");
  EXPECT_CONTAINS(error_of(ConvInteger{}, {x33, tensor<u8>({1, 1, 1}, {1})}), "one rank");
  EXPECT_CONTAINS(error_of(ConvInteger{.window = {.strides = {0, 1}}}, {x33, ones_of}), "strides");
}

Tensor conv_scale(float v) {
  return tensor<float>({}, {v});
}
Tensor zero(u8 v) {
  return tensor<u8>({}, {v});
}

TEST(ConvIntegerToFloat, ScalesTheSumsAndAddsTheBias) {
  const Tensor x = tensor<u8>({1, 1, 2}, {10, 200});
  const Tensor w = tensor<i8>({2, 1, 1}, {1, -1});
  const Tensor scales = tensor<float>({2}, {0.5f, 2});
  const Tensor zeros = tensor<i8>({2}, {0, 1});
  const auto bare = run(ConvIntegerToFloat{}, {x, conv_scale(0.25f), zero(8), w, scales, zeros});
  EXPECT_THAT(values<float>(bare), ElementsAre(0.25f, 24, -2, -192));
  const auto y = run(ConvIntegerToFloat{}, {x, conv_scale(0.25f), zero(8), w, scales, zeros,
                                            tensor<float>({2}, {1, -0.5f})});
  EXPECT_THAT(values<float>(y), ElementsAre(1.25f, 25, -2.5f, -192.5f));
}

TEST(ConvIntegerToFloat, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<u8>({1, 1, 1}, {7});
  const auto with = [&](const Tensor& w_scale, const Tensor& bias) {
    return error_of(ConvIntegerToFloat{}, {x, conv_scale(1), zero(0), x, w_scale, zero(0), bias});
  };
  EXPECT_CONTAINS(with(tensor<float>({2}, {1, 1}), absent()), "input 4 (f32[2]) must be a scalar");
  EXPECT_CONTAINS(with(conv_scale(1), tensor<float>({2}, {1, 1})), "one element for each output");
  EXPECT_CONTAINS(with(conv_scale(1), tensor<std::int32_t>({1}, {1})), "f32");
}

TEST(QLinearConv, RequantizesWithHalvesToEven) {
  const Tensor x = tensor<u8>({1, 1, 4}, {1, 3, 5, 255});
  const Tensor w = tensor<u8>({1, 1, 1}, {1});
  const Tensor y = run(QLinearConv{}, {x, conv_scale(1), zero(0), w, conv_scale(1), zero(0),
                                       conv_scale(2), zero(10)});
  EXPECT_EQ(y.dtype(), DType::u8);
  EXPECT_THAT(values<u8>(y), ElementsAre(10, 12, 12, 138));
}

TEST(QLinearConv, ScalesPerOutputChannelBiasAndOutputType) {
  const Tensor x = tensor<u8>({1, 1, 2}, {10, 200});
  const Tensor w = tensor<i8>({2, 1, 1}, {1, -1});
  const Tensor y = run(QLinearConv{}, {x, conv_scale(1), zero(0), w, tensor<float>({2}, {1, 0.5f}),
                                       tensor<i8>({2}, {0, 0}), conv_scale(1), tensor<i8>({}, {0}),
                                       tensor<std::int32_t>({2}, {5, -6})});
  EXPECT_EQ(y.dtype(), DType::i8);
  EXPECT_THAT(values<i8>(y), ElementsAre(15, 127, -8, -103));
}

TEST(QLinearConv, PaddingCountsAsTheZeroPoint) {
  const Tensor x = tensor<u8>({1, 1, 1}, {7});
  const Tensor w = tensor<u8>({1, 1, 3}, {1, 1, 1});
  const Tensor y =
      run(QLinearConv{.window = {.pads = {1, 1}}},
          {x, conv_scale(1), zero(5), w, conv_scale(1), zero(0), conv_scale(1), zero(0)});
  EXPECT_THAT(values<u8>(y), ElementsAre(2));
}

TEST(QLinearConv, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<u8>({1, 1, 1}, {7});
  const auto with = [&](const Tensor& w_scale, const Tensor& y_zero, const Tensor& bias) {
    return error_of(QLinearConv{},
                    {x, conv_scale(1), zero(0), x, w_scale, zero(0), conv_scale(1), y_zero, bias});
  };
  EXPECT_CONTAINS(with(tensor<float>({2}, {1, 1}), zero(0), absent()),
                  "input 4 (f32[2]) must be a scalar");
  EXPECT_CONTAINS(with(tensor<double>({}, {1}), zero(0), absent()), "input 4 (f64[]) must be f32");
  EXPECT_CONTAINS(with(conv_scale(1), conv_scale(0), absent()),
                  "input 7 (f32[]) must be of i8 or u8");
  EXPECT_CONTAINS(with(conv_scale(1), zero(0), conv_scale(0)), "input 8 (f32[]) must be i32");
  EXPECT_CONTAINS(with(conv_scale(1), zero(0), tensor<std::int32_t>({2}, {1, 1})),
                  "one element for each output channel");
}

}  // namespace
}  // namespace quern::testing
