// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/conv.h"

#include "tests/expect.h"
#include "tests/kernels/spatial_test.h"

namespace quern::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(Conv, SlidesTheKernelOverTheInput) {
  const Tensor x = tensor<float>({1, 1, 5}, {0, 1, 4, 9, 16});
  const Tensor w = tensor<float>({1, 1, 3}, {1, 0, -1});
  EXPECT_ELEMENTS(values<float>(run(Conv{}, {x, w})), -4, -8, -12);
  EXPECT_ELEMENTS(values<float>(run(Conv{}, {x, w, tensor<float>({1}, {100})})), 96, 92, 88);
}

// The examples of ONNX's page on Conv.
TEST(Conv, Padding) {
  const Tensor y = run(Conv{.window = {.pads = {1, 1, 1, 1}}},
                       {counting<float>({1, 1, 5, 5}), filled<float>({1, 1, 3, 3}, 1)});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 5, 5}));
  EXPECT_ELEMENTS(values<float>(y), 12, 21, 27, 33, 24, 33, 54, 63, 72, 51, 63, 99, 108, 117, 81,
                  93, 144, 153, 162, 111, 72, 111, 117, 123, 84);
}

TEST(Conv, StridesAndAsymmetricPadding) {
  const Tensor y = run(Conv{.window = {.strides = {2, 2}, .pads = {1, 0, 1, 0}}},
                       {counting<float>({1, 1, 7, 5}), filled<float>({1, 1, 3, 3}, 1)});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 4, 2}));
  EXPECT_ELEMENTS(values<float>(y), 21, 33, 99, 117, 189, 207, 171, 183);
}

TEST(Conv, SameUpperAndLower) {
  const Tensor x = counting<float>({1, 1, 4});
  const Tensor w = filled<float>({1, 1, 3}, 1);
  Conv op{.window = {.strides = {2}, .auto_pad = AutoPad::same_upper}};
  EXPECT_ELEMENTS(values<float>(run(op, {x, w})), 3, 5);
  op.window.auto_pad = AutoPad::same_lower;
  EXPECT_ELEMENTS(values<float>(run(op, {x, w})), 1, 6);
}

TEST(Conv, Dilations) {
  const Tensor y = run(Conv{.window = {.dilations = {2}}},
                       {counting<float>({1, 1, 5}), tensor<float>({1, 1, 2}, {1, 10})});
  EXPECT_ELEMENTS(values<float>(y), 20, 31, 42);
}

TEST(Conv, ChannelsAreSummedAndKernelsAreOutputChannels) {
  const Tensor x = tensor<float>({1, 2, 2}, {1, 2, 3, 4});
  const Tensor w = tensor<float>({3, 2, 1}, {1, 0, 0, 1, 1, 10});
  EXPECT_ELEMENTS(values<float>(run(Conv{}, {x, w})), 1, 2, 3, 4, 31, 42);
}

TEST(Conv, GroupsKeepTheirChannels) {
  const Tensor x = tensor<float>({1, 4, 1}, {1, 2, 3, 4});
  const Tensor w = tensor<float>({2, 2, 1}, {1, 10, 1, 10});
  EXPECT_ELEMENTS(values<float>(run(Conv{.group = 2}, {x, w})), 21, 43);
  const Tensor depthwise = tensor<float>({8, 1, 1}, {1, -1, 1, -1, 1, -1, 1, -1});
  EXPECT_ELEMENTS(values<float>(run(Conv{.group = 4}, {x, depthwise})), 1, -1, 2, -2, 3, -3, 4, -4);
}

TEST(Conv, FourSpatialDimensions) {
  const Tensor x = filled<float>({2, 1, 2, 3, 2, 2}, 1);
  const Tensor y = run(Conv{}, {x, filled<float>({1, 1, 2, 2, 2, 2}, 1)});
  EXPECT_EQ(y.shape(), (Shape{2, 1, 1, 2, 1, 1}));
  EXPECT_THAT(values<float>(y), Each(16));
}

TEST(Conv, NarrowFloatsRoundOnce) {
  const Tensor half = run(Conv{}, {tensor<Half>({1, 1, 3}, {Half(2048.0f), Half(1.0f), Half(1.0f)}),
                                   filled<Half>({1, 1, 3}, Half(1.0f))});
  EXPECT_EQ(static_cast<float>(values<Half>(half)[0]), 2050);
  const Tensor brain =
      run(Conv{}, {tensor<BFloat16>({1, 1, 3}, {BFloat16(256.0f), BFloat16(1.0f), BFloat16(1.0f)}),
                   filled<BFloat16>({1, 1, 3}, BFloat16(1.0f))});
  EXPECT_EQ(static_cast<float>(values<BFloat16>(brain)[0]), 258);
  const Tensor wide = run(
      Conv{}, {tensor<double>({1, 1, 2}, {1e300, 1}), tensor<double>({1, 1, 2}, {1e-300, 1e-9})});
  EXPECT_DOUBLE_EQ(values<double>(wide)[0], 1 + 1e-9);
}

TEST(Conv, EmptyTensors) {
  const Tensor bias = tensor<float>({1}, {7});
  const Tensor nothing = tensor<float>({1, 0, 3}, {});
  EXPECT_ELEMENTS(values<float>(run(Conv{}, {nothing, tensor<float>({1, 0, 2}, {}), bias})), 7, 7);
  EXPECT_EQ(run(Conv{}, {tensor<float>({0, 1, 3}, {}), tensor<float>({1, 1, 2}, {1, 1})}).shape(),
            (Shape{0, 1, 2}));
  EXPECT_EQ(run(Conv{}, {tensor<float>({1, 1, 1}, {1}), tensor<float>({1, 1, 2}, {1, 1})}).shape(),
            (Shape{1, 1, 0}));
}

TEST(Conv, NanAndInfinityGoWhereTheKernelGoes) {
  const Tensor y =
      run(Conv{}, {tensor<float>({1, 1, 4}, {nan, 1, 2, inf}), tensor<float>({1, 1, 2}, {1, 1})});
  EXPECT_TRUE(std::isnan(values<float>(y)[0]));
  EXPECT_EQ(values<float>(y)[1], 3);
  EXPECT_EQ(values<float>(y)[2], inf);
}

TEST(Conv, InfersWhatItCan) {
  const Dim n = Dim::symbol(0);
  const Dim h = Dim::symbol(1);
  const Conv padded{.window = {.pads = {1, 1, 1, 1}}};
  EXPECT_EQ(dims_of(padded, {f32({n, 3, h, 8}), f32({16, 3, 3, 3})}), (Dims{n, 16, h, 8}));
  const Conv strided{.window = {.strides = {2, 2}}};
  EXPECT_EQ(dims_of(strided, {f32({n, 3, h, 8}), f32({16, 3, 3, 3})}), (Dims{n, 16, Dim(), 3}));
  const Conv same{.window = {.strides = {2, 1}, .auto_pad = AutoPad::same_upper}};
  EXPECT_EQ(dims_of(same, {f32({n, 3, 7, h}), f32({16, 3, 3, 3})}), (Dims{n, 16, 4, h}));
  EXPECT_EQ(dims_of(Conv{}, {unranked(), f32({16, 3, 3})}), (Dims{Dim(), 16, Dim()}));
  EXPECT_EQ(dims_of(Conv{.window = {.kernel = {3}}}, {f32({1, 3, 8}), unranked()}),
            (Dims{1, Dim(), 6}));
  EXPECT_EQ(dims_of(Conv{}, {f32({1, 3, 8}), unranked()}), (Dims{1, Dim(), Dim()}));
  EXPECT_EQ(infer_type(Conv{}, {unranked(), unranked()})->dims, std::nullopt);
}

TEST(Conv, RefusesWhatDoesNotFit) {
  const Tensor x = counting<float>({1, 4, 5});
  const auto error = [&](const Conv& op, const Tensor& w) { return error_of(op, {x, w}); };
  EXPECT_CONTAINS(error({}, counting<float>({2, 3, 3})),
                  "weight has 3 input channels for each of 1 groups, input has 4");
  EXPECT_CONTAINS(error({.group = 2}, counting<float>({3, 2, 3})),
                  "3 output channels do not fall into 2 groups");
  EXPECT_CONTAINS(error({.group = 0}, counting<float>({2, 4, 3})), "group is 0");
  EXPECT_CONTAINS(error({}, counting<float>({2, 4, 3, 3})), "must have one rank");
  EXPECT_CONTAINS(error({}, counting<double>({2, 4, 3})), "must have one element type");
  EXPECT_CONTAINS(error({}, tensor<float>({2, 4, 0}, {})), "kernel holds 0");
  const Tensor w = counting<float>({2, 4, 3});
  EXPECT_CONTAINS(error({.window = {.kernel = {2}}}, w), "kernel_shape differs");
  EXPECT_CONTAINS(error({.window = {.strides = {0}}}, w), "strides holds 0, wants 1");
  EXPECT_CONTAINS(error({.window = {.strides = {1, 1}}}, w), "strides has 2 entries");
  EXPECT_CONTAINS(error({.window = {.pads = {-1, 0}}}, w), "pads holds -1");
  EXPECT_CONTAINS(error({.window = {.dilations = {std::int64_t{1} << 40}}}, w),
                  "dilations holds 1099511627776");
  EXPECT_CONTAINS(error_of(Conv{}, {x, w, counting<float>({3})}),
                  "one element for each output channel");
  EXPECT_CONTAINS(
      error_of(Conv{}, {counting<std::int32_t>({1, 1, 3}), counting<std::int32_t>({1, 1, 1})}),
      "must be of f32, f64, f16 or bf16");
  EXPECT_CONTAINS(error_of(Conv{}, {counting<float>({1, 1}), counting<float>({1, 1})}),
                  "at least one spatial dimension");
}

TEST(Conv, CostCountsMultiplicationsAndAdditions) {
  const Cost c = cost(Conv{}, {{DType::f32, {1, 3, 8, 8}}, {DType::f32, {16, 3, 3, 3}}},
                      {{DType::f32, {1, 16, 6, 6}}});
  EXPECT_EQ(c.flops, 2.0 * 16 * 36 * 27);
  EXPECT_EQ(c.bytes, 4.0 * (192 + 432 + 576));
}

}  // namespace
}  // namespace quern::testing
