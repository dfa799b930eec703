// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/resampling.h"
#include "tests/expect.h"
#include "tests/kernels/spatial_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;
using Mode = CoordinateMode;

Tensor floats(std::initializer_list<float> v) {
  return tensor<float>({static_cast<std::int64_t>(v.size())}, v);
}
Tensor sizes(std::initializer_list<std::int64_t> v) {
  return tensor<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
}
Tensor scaled(const Resize& op, const Tensor& x, std::initializer_list<float> scales) {
  return run(op, {x, absent(), floats(scales)});
}
Tensor sized(const Resize& op, const Tensor& x, std::initializer_list<std::int64_t> s) {
  return run(op, {x, absent(), absent(), sizes(s)});
}
Tensor one_to(std::int64_t rows, std::int64_t columns) {
  Tensor x = counting<float>({1, 1, rows, columns});
  for (std::int64_t i = 0; i < rows * columns; ++i)
    reinterpret_cast<float*>(x.mutable_data())[i] += 1;
  return x;
}
void expect_values(const Tensor& y, const std::vector<float>& wanted) {
  EXPECT_THAT(values<float>(y), Pointwise(FloatNear(1e-5f), wanted));
}

// Values of ONNX's page on Resize from here on, unless said otherwise.

TEST(Resize, NearestUpAndDown) {
  const Tensor y = scaled({}, one_to(2, 2), {1, 1, 2, 3});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 4, 6}));
  expect_values(y, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4});
  expect_values(scaled({}, one_to(2, 4), {1, 1, 0.6f, 0.6f}), {1, 3});
}

TEST(Resize, NearestBySizes) {
  expect_values(sized({}, one_to(2, 4), {1, 1, 1, 3}), {1, 2, 4});
  const Resize floor{.coordinates = Mode::align_corners, .nearest = NearestMode::floor};
  const Tensor y = sized(floor, one_to(4, 4), {1, 1, 8, 8});
  const auto v = values<float>(y);
  EXPECT_THAT(std::vector<float>(v.begin(), v.begin() + 8), ElementsAre(1, 1, 1, 2, 2, 3, 3, 4));
}

TEST(Resize, Linear) {
  const Resize op{.mode = ResizeMode::linear};
  expect_values(
      scaled(op, one_to(2, 2), {1, 1, 2, 2}),
      {1, 1.25f, 1.75f, 2, 1.5f, 1.75f, 2.25f, 2.5f, 2.5f, 2.75f, 3.25f, 3.5f, 3, 3.25f, 3.75f, 4});
  expect_values(scaled(op, one_to(2, 4), {1, 1, 0.6f, 0.6f}), {2.6666665f, 4.3333331f});
}

TEST(Resize, LinearAlignCorners) {
  const Resize op{.mode = ResizeMode::linear, .coordinates = Mode::align_corners};
  expect_values(scaled(op, one_to(2, 2), {1, 1, 2, 2}),
                {1, 1.3333334f, 1.6666667f, 2, 1.6666667f, 2, 2.3333333f, 2.6666667f, 2.3333333f,
                 2.6666667f, 3, 3.3333333f, 3, 3.3333333f, 3.6666667f, 4});
  expect_values(scaled(op, one_to(2, 4), {1, 1, 0.6f, 0.6f}), {1, 3.142857f});
}

TEST(Resize, LinearHalfPixelSymmetric) {
  const Resize op{.mode = ResizeMode::linear, .coordinates = Mode::half_pixel_symmetric};
  expect_values(scaled(op, one_to(1, 4), {1, 1, 1, 0.6f}), {1.6666667f, 3.3333333f});
}

TEST(Resize, LinearPytorchHalfPixel) {
  const Resize op{.mode = ResizeMode::linear, .coordinates = Mode::pytorch_half_pixel};
  expect_values(sized(op, one_to(4, 4), {1, 1, 3, 1}), {1.6666666f, 7, 12.333333f});
}

TEST(Resize, Cubic) {
  const Tensor y = scaled({.mode = ResizeMode::cubic}, one_to(4, 4), {1, 1, 2, 2});
  const auto v = values<float>(y);
  EXPECT_THAT(std::vector<float>(v.begin(), v.begin() + 8),
              Pointwise(FloatNear(1e-5f), {0.47265625f, 0.76953125f, 1.24609375f, 1.875f, 2.28125f,
                                           2.91015625f, 3.38671875f, 3.68359375f}));
  expect_values(scaled({.mode = ResizeMode::cubic}, one_to(4, 4), {1, 1, 0.8f, 0.8f}),
                {1.47119141f, 2.78125f, 4.08251953f, 6.71142578f, 8.02148438f, 9.32275391f,
                 11.91650391f, 13.2265625f, 14.52783203f});
}

TEST(Resize, CubicExcludeOutsideAndItsCoefficient) {
  const Resize op{.mode = ResizeMode::cubic, .cubic_coeff_a = -0.5f, .exclude_outside = true};
  expect_values(scaled(op, one_to(4, 4), {1, 1, 0.8f, 0.8f}),
                {1.36812675f, 2.6695014f, 4.0133367f, 6.57362535f, 7.875f, 9.2188353f, 11.94896657f,
                 13.25034122f, 14.59417652f});
}

TEST(Resize, Antialias) {
  expect_values(
      scaled({.mode = ResizeMode::linear, .antialias = true}, one_to(4, 4), {1, 1, 0.6f, 0.6f}),
      {2.875f, 4.5f, 9.375f, 11});
  expect_values(
      scaled({.mode = ResizeMode::cubic, .antialias = true}, one_to(4, 4), {1, 1, 0.6f, 0.6f}),
      {2.5180721f, 4.2858863f, 9.589329f, 11.357142f});
}

TEST(Resize, CropAndExtrapolate) {
  Resize op{.mode = ResizeMode::linear,
            .coordinates = Mode::tf_crop_and_resize,
            .extrapolation_value = 10};
  expect_values(run(op, {one_to(4, 4), floats({0, 0, 0.4f, 0.6f, 1, 1, 0.6f, 0.8f}), absent(),
                         sizes({1, 1, 3, 3})}),
                {7.6000004f, 7.9f, 8.2f, 8.8f, 9.1f, 9.400001f, 10, 10.3f, 10.6f});
  expect_values(run(op, {one_to(4, 4), floats({0, 0, 0.4f, 0.6f, 1, 1, 1.2f, 1.7f}), absent(),
                         sizes({1, 1, 3, 3})}),
                {7.6f, 10, 10, 12.4f, 10, 10, 10, 10, 10});
  op.axes = {3, -2};  // the region and the sizes of columns first
  expect_values(run(op, {one_to(4, 4), floats({0.6f, 0.4f, 0.8f, 0.6f}), absent(), sizes({3, 3})}),
                {7.6000004f, 7.9f, 8.2f, 8.8f, 9.1f, 9.400001f, 10, 10.3f, 10.6f});
}

TEST(Resize, AspectPolicies) {
  Resize op{.aspect = AspectPolicy::not_larger, .axes = {2, 3}};
  const Tensor x = one_to(2, 2);
  EXPECT_EQ(sized(op, x, {7, 8}).shape(), (Shape{1, 1, 7, 7}));
  op.aspect = AspectPolicy::not_smaller;
  EXPECT_EQ(sized(op, x, {7, 8}).shape(), (Shape{1, 1, 8, 8}));
  EXPECT_EQ(sized(op, one_to(2, 4), {1, 3}).shape(), (Shape{1, 1, 2, 3}));  // 1.5 rounds up
  EXPECT_EQ(sized({.aspect = AspectPolicy::not_larger, .axes = {2, 3}}, x, {0, 8}).shape(),
            (Shape{1, 1, 0, 0}));
  op.aspect = AspectPolicy::stretch;
  EXPECT_EQ(sized(op, x, {7, 8}).shape(), (Shape{1, 1, 7, 8}));
}

TEST(Resize, AxesInAnyOrder) {
  const Resize op{.axes = {3, 2}};
  expect_values(scaled(op, one_to(2, 2), {3, 2}),
                {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4});
}

// Not of ONNX's page from here on.

TEST(Resize, AnyRank) {
  expect_values(scaled({.mode = ResizeMode::linear}, tensor<float>({2}, {0, 1}), {2}),
                {0, 0.25f, 0.75f, 1});
  const Tensor y =
      scaled({.mode = ResizeMode::linear}, counting<float>({1, 1, 2, 2, 2}), {1, 1, 2, 2, 2});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 4, 4, 4}));
  EXPECT_EQ(values<float>(y)[21], 1.75f);  // at 0.25 of each: 0.25 * (4 + 2 + 1)
}

TEST(Resize, ASizeIsTheScaledSizeInFloatRoundedDown) {
  const Tensor x = counting<float>({10});
  EXPECT_EQ(scaled({}, x, {0.7f}).shape(), (Shape{7}));  // though 0.7f is less than 0.7
  EXPECT_EQ(scaled({}, x, {0.77f}).shape(), (Shape{7}));
  EXPECT_EQ(scaled({}, x, {0.05f}).shape(), (Shape{0}));
}

TEST(Resize, NearestMovesElementsOfAnyType) {
  EXPECT_ELEMENTS(values<bool>(scaled({}, tensor<bool>({2}, {true, false}), {2})), true, true,
                  false, false);
  EXPECT_ELEMENTS(
      (values<std::int64_t>(scaled({}, tensor<std::int64_t>({2}, {INT64_MAX, INT64_MIN}), {2}))),
      INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN);
}

TEST(Resize, IntegersRoundHalfToEvenAndSaturate) {
  const Resize linear{.mode = ResizeMode::linear, .coordinates = Mode::asymmetric};
  EXPECT_ELEMENTS(values<std::uint8_t>(scaled(linear, tensor<std::uint8_t>({3}, {0, 1, 4}), {2})),
                  0, 0, 1, 2, 4, 4);
  const Resize cubic{.mode = ResizeMode::cubic};
  const auto y =
      values<std::uint8_t>(scaled(cubic, tensor<std::uint8_t>({4}, {0, 0, 255, 255}), {2}));
  EXPECT_THAT(y, ElementsAre(0, 0, 0, 58, 197, 255, 255, 255));
  EXPECT_ELEMENTS(values<std::int8_t>(scaled(linear, tensor<std::int8_t>({2}, {-3, -4}), {2})), -3,
                  -4, -4, -4);
}

TEST(Resize, NarrowAndWideFloats) {
  const Resize op{.mode = ResizeMode::linear};
  EXPECT_EQ(static_cast<float>(
                values<Half>(scaled(op, tensor<Half>({2}, {Half(0.0f), Half(1.0f)}), {2}))[1]),
            0.25f);
  EXPECT_EQ(static_cast<float>(values<BFloat16>(
                scaled(op, tensor<BFloat16>({2}, {BFloat16(0.0f), BFloat16(1.0f)}), {2}))[2]),
            0.75f);
  EXPECT_EQ(values<double>(scaled(op, tensor<double>({2}, {0, 1e300}), {2}))[1], 0.25e300);
}

TEST(Resize, InfinityStaysWhereItsWeightIsNotZero) {
  const Tensor x = tensor<float>({2, 2}, {inf, 1, 2, nan});
  const auto y = values<float>(scaled({.mode = ResizeMode::linear}, x, {1, 1}));
  EXPECT_EQ(y[0], inf);
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[2], 2);
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(Resize, EmptyOperandsCountAsAbsent) {
  const Tensor nothing = tensor<float>({0}, {});
  EXPECT_EQ(run(Resize{}, {one_to(2, 2), nothing, nothing, sizes({1, 1, 4, 4})}).shape(),
            (Shape{1, 1, 4, 4}));
  EXPECT_EQ(run(Resize{}, {one_to(2, 2), nothing, floats({1, 1, 2, 2}), sizes({})}).shape(),
            (Shape{1, 1, 4, 4}));
}

TEST(Resize, EmptyTensors) {
  EXPECT_EQ(sized({}, tensor<float>({0, 3}, {}), {0, 6}).shape(), (Shape{0, 6}));
  EXPECT_EQ(sized({}, counting<float>({2, 3}), {0, 6}).shape(), (Shape{0, 6}));
  EXPECT_CONTAINS(
      error_of(Resize{}, {tensor<float>({0, 3}, {}), absent(), absent(), sizes({1, 6})}),
      "there is nothing to make 1 elements of");
}

TEST(Resize, InfersWhatItCan) {
  const Dim n = Dim::symbol(0);
  EXPECT_EQ(dims_of(Resize{.axes = {2, -1}}, {f32({n, 3, 4, 5}), f32({0}), f32({2})}),
            (Dims{n, 3, Dim(), Dim()}));
  const auto with_scales = [&](std::vector<float> scales, const Resize& op) {
    const Tensor t =
        Tensor::from_values<float>(DType::f32, {static_cast<std::int64_t>(scales.size())}, scales);
    const std::vector<InferInput> in = {
        {true, f32({n, 3, Dim(), 5}), nullptr}, {}, {true, ValueType(t.type()), &t}};
    const Op any = op;
    InferContext c(any, "Resize", "test", in, 1);
    EXPECT_TRUE(Resize::def().infer(c).ok());
    return *c.outputs()[0].dims;
  };
  EXPECT_EQ(with_scales({1, 1, 2, 2}, {}), (Dims{n, 3, Dim(), 10}));
}

TEST(Resize, RefusesWhatDoesNotFit) {
  const Tensor x = one_to(2, 2);
  const auto scales = [&](std::initializer_list<float> s) {
    return error_of(Resize{}, {x, absent(), floats(s)});
  };
  EXPECT_CONTAINS(scales({1, 1, 2}), "scales must have 4 elements");
  EXPECT_CONTAINS(scales({1, 1, 0, 2}), "is not a positive number");
  EXPECT_CONTAINS(scales({1, 1, -1, 2}), "is not a positive number");
  EXPECT_CONTAINS(scales({1, 1, nan, 2}), "is not a positive number");
  EXPECT_CONTAINS(scales({1, 1, inf, 2}), "is not a positive number");
  EXPECT_CONTAINS(scales({1, 1, 1e30f, 2}), "makes too much");
  EXPECT_CONTAINS(error_of(Resize{}, {x}), "wants either scales or sizes");
  EXPECT_CONTAINS(error_of(Resize{}, {x, absent(), floats({1, 1, 2, 2}), sizes({1, 1, 2, 2})}),
                  "wants either scales or sizes");
  EXPECT_CONTAINS(error_of(Resize{}, {x, absent(), absent(), sizes({1, 1, -2, 2})}),
                  "size -2 is negative");
  EXPECT_CONTAINS(error_of(Resize{.axes = {4}}, {x, absent(), floats({2})}), "axis 4 is outside");
  EXPECT_CONTAINS(error_of(Resize{.axes = {3, -1}}, {x, absent(), floats({2, 2})}), "given twice");
  EXPECT_CONTAINS(error_of(Resize{.coordinates = Mode::tf_crop_and_resize},
                           {x, absent(), floats({1, 1, 2, 2})}),
                  "roi must have 8 elements");
  EXPECT_CONTAINS(error_of(Resize{.mode = ResizeMode::linear},
                           {tensor<bool>({1}, {true}), absent(), floats({2})}),
                  "linear does not take bool");
}

}  // namespace
}  // namespace quern::testing
