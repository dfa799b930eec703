// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/conv.h"
#include "tests/expect.h"
#include "tests/kernels/spatial_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

TEST(ConvTranspose, AddsTheKernelAtEachElement) {
  const Tensor x = tensor<float>({1, 1, 3}, {1, 2, 3});
  const Tensor w = tensor<float>({1, 1, 2}, {1, 10});
  EXPECT_ELEMENTS(values<float>(run(ConvTranspose{}, {x, w})), 1, 12, 23, 30);
  EXPECT_ELEMENTS(values<float>(run(ConvTranspose{.window = {.strides = {2}}},
                                    {x, w, tensor<float>({1}, {100})})),
                  101, 110, 102, 120, 103, 130);
}

// The example of ONNX's page: a 3 x 3 input, two kernels of ones.
TEST(ConvTranspose, TwoOutputChannels) {
  const Tensor y =
      run(ConvTranspose{}, {counting<float>({1, 1, 3, 3}), filled<float>({1, 2, 3, 3}, 1)});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 5, 5}));
  const auto v = values<float>(y);
  EXPECT_THAT(std::vector<float>(v.begin(), v.begin() + 10),
              ElementsAre(0, 1, 3, 3, 2, 3, 8, 15, 12, 7));
  EXPECT_TRUE(std::equal(v.begin(), v.begin() + 25, v.begin() + 25));
}

TEST(ConvTranspose, PadsCutOffAndOutputPaddingAdds) {
  const Tensor x = tensor<float>({1, 1, 3}, {1, 2, 3});
  const Tensor w = tensor<float>({1, 1, 2}, {1, 10});
  EXPECT_ELEMENTS(values<float>(run(ConvTranspose{.window = {.pads = {1, 0}}}, {x, w})), 12, 23,
                  30);
  EXPECT_ELEMENTS(
      (values<float>(run(ConvTranspose{.window = {.strides = {2}}, .output_padding = {1}},
                         {x, w, tensor<float>({1}, {5})}))),
      6, 15, 7, 25, 8, 35, 5);
}

TEST(ConvTranspose, OutputPaddingUncoversWhatPadsCutOff) {
  const ConvTranspose op{.window = {.strides = {2}, .pads = {0, 1}}, .output_padding = {1}};
  EXPECT_ELEMENTS(
      values<float>(run(op, {tensor<float>({1, 1, 2}, {1, 2}), tensor<float>({1, 1, 2}, {1, 10})})),
      1, 10, 2, 20);
}

TEST(ConvTranspose, Dilations) {
  EXPECT_ELEMENTS(
      (values<float>(run(ConvTranspose{.window = {.dilations = {2}}},
                         {tensor<float>({1, 1, 2}, {1, 2}), tensor<float>({1, 1, 2}, {1, 10})}))),
      1, 2, 10, 20);
}

TEST(ConvTranspose, SameMultipliesTheSize) {
  const Tensor x = tensor<float>({1, 1, 2}, {1, 2});
  const Tensor w = tensor<float>({1, 1, 3}, {1, 10, 100});
  // In full 1 10 102 20 200: one too much.
  ConvTranspose op{.window = {.strides = {2}, .auto_pad = AutoPad::same_upper}};
  EXPECT_ELEMENTS(values<float>(run(op, {x, w})), 1, 10, 102, 20);
  op.window.auto_pad = AutoPad::same_lower;
  EXPECT_ELEMENTS(values<float>(run(op, {x, w})), 10, 102, 20, 200);
}

TEST(ConvTranspose, OutputShapeDecidesThePads) {
  const Tensor x = tensor<float>({1, 1, 2}, {1, 2});
  const Tensor w = tensor<float>({1, 1, 3}, {1, 10, 100});
  ConvTranspose op{.window = {.strides = {2}, .pads = {1, 1}}, .output_shape = {4}};
  EXPECT_ELEMENTS(values<float>(run(op, {x, w})), 10, 102, 20, 200);
  op.output_shape = {7};  // more than there is: bias alone
  EXPECT_ELEMENTS(values<float>(run(op, {x, w, tensor<float>({1}, {5})})), 6, 15, 107, 25, 205, 5,
                  5);
}

TEST(ConvTranspose, Groups) {
  const Tensor x = tensor<float>({1, 2, 1}, {1, 2});
  const Tensor w = tensor<float>({2, 2, 1}, {1, 10, 100, 1000});
  EXPECT_ELEMENTS(values<float>(run(ConvTranspose{.group = 2}, {x, w})), 1, 10, 200, 2000);
  EXPECT_ELEMENTS(values<float>(run(ConvTranspose{}, {x, w})), 201, 2010);
}

TEST(ConvTranspose, ThreeDimensionsAndNarrowFloats) {
  const Tensor y = run(ConvTranspose{}, {filled<Half>({1, 1, 2, 2, 2}, Half(1.0f)),
                                         filled<Half>({1, 1, 2, 2, 2}, Half(1.0f))});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 3, 3, 3}));
  EXPECT_EQ(static_cast<float>(values<Half>(y)[13]), 8);  // the middle
}

TEST(ConvTranspose, EmptyTensors) {
  EXPECT_ELEMENTS(
      values<float>(run(ConvTranspose{}, {tensor<float>({1, 0, 2}, {}),
                                          tensor<float>({0, 1, 2}, {}), tensor<float>({1}, {3})})),
      3, 3, 3);
  EXPECT_EQ(
      run(ConvTranspose{}, {tensor<float>({0, 1, 2}, {}), counting<float>({1, 1, 2})}).shape(),
      (Shape{0, 1, 3}));
  // An input without elements along a dimension gives kernel - stride elements there.
  EXPECT_ELEMENTS(values<float>(run(ConvTranspose{},
                                    {tensor<float>({1, 1, 0}, {}), counting<float>({1, 1, 3})})),
                  0, 0);
}

TEST(ConvTranspose, InfersWhatItCan) {
  const Dim n = Dim::symbol(0);
  const Dim h = Dim::symbol(1);
  const ConvTranspose op{.window = {.pads = {1, 1, 1, 1}}};
  EXPECT_EQ(dims_of(op, {f32({n, 4, h, 5}), f32({4, 8, 3, 3})}), (Dims{n, 8, h, 5}));
  EXPECT_EQ(dims_of(op, {f32({n, 4, h, 5}), f32({4, 8, 4, 3})}), (Dims{n, 8, Dim(), 5}));
  EXPECT_EQ(dims_of(ConvTranspose{.window = {.auto_pad = AutoPad::same_upper}, .group = 2},
                    {f32({n, 4, h}), f32({4, 8, Dim()})}),
            (Dims{n, 16, h}));
  EXPECT_EQ(dims_of(ConvTranspose{.output_shape = {9}}, {f32({n, 4, h}), f32({4, 8, Dim()})}),
            (Dims{n, 8, 9}));
  EXPECT_EQ(dims_of(ConvTranspose{}, {f32({n, 4, 3}), unranked()}), (Dims{n, Dim(), Dim()}));
}

TEST(ConvTranspose, RefusesWhatDoesNotFit) {
  const Tensor x = counting<float>({1, 4, 5});
  EXPECT_CONTAINS(error_of(ConvTranspose{}, {x, counting<float>({3, 2, 3})}),
                  "weight has 3 input channels, input has 4");
  EXPECT_CONTAINS(error_of(ConvTranspose{.group = 3}, {x, counting<float>({4, 2, 3})}),
                  "4 input channels do not fall into 3 groups");
  EXPECT_CONTAINS(error_of(ConvTranspose{.output_padding = {-1}}, {x, counting<float>({4, 2, 3})}),
                  "output_padding holds -1");
  EXPECT_CONTAINS(error_of(ConvTranspose{.output_shape = {4, 4}}, {x, counting<float>({4, 2, 3})}),
                  "output_shape has 2 entries, wants 1");
  EXPECT_CONTAINS(error_of(ConvTranspose{}, {x, counting<float>({4, 2, 3}), counting<float>({3})}),
                  "one element for each output channel");
}

TEST(ConvTranspose, Cost) {
  EXPECT_EQ(cost(ConvTranspose{}, {{DType::f32, {1, 4, 5}}, {DType::f32, {4, 2, 3}}},
                 {{DType::f32, {1, 2, 7}}})
                .flops,
            2.0 * 20 * 6);
}

}  // namespace
}  // namespace quern::testing
