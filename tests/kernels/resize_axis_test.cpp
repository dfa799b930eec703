// SPDX-License-Identifier: Apache-2.0
// The coordinate function and the taps of one axis, alone.
#include <gmock/gmock.h>

#include "graph/ops/resampling.h"
#include "graph/ops/resize_axes.h"
#include "tests/expect.h"

namespace quern::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pair;
using AxisMode = CoordinateMode;

std::vector<double> coordinates(AxisMode mode, const ResizeAxis& axis) {
  std::vector<double> v;
  for (std::int64_t x = 0; x < axis.out; ++x) v.push_back(resize_coordinate(mode, axis, x));
  return v;
}
std::vector<std::pair<std::int64_t, double>> taps(const Resize& op, const ResizeAxis& axis,
                                                  std::int64_t x) {
  std::vector<ResizeTap> room(max_resize_taps(op, axis.in, axis.out));
  std::vector<std::pair<std::int64_t, double>> v;
  StopCheck no_limit(nullptr);
  const std::size_t n = resize_taps(op, axis, x, no_limit, room);
  for (std::size_t i = 0; i < n; ++i) v.emplace_back(room[i].index, room[i].weight);
  return v;
}
std::vector<std::int64_t> nearest(Resize op, const ResizeAxis& axis) {
  std::vector<std::int64_t> v;
  for (std::int64_t x = 0; x < axis.out; ++x) v.push_back(taps(op, axis, x).at(0).first);
  return v;
}

// Rows of a part have the taps that they have in the whole.
TEST(ResizePart, HasTheTapsOfTheWhole) {
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic})
    for (const AxisMode coordinates :
         {AxisMode::half_pixel, AxisMode::align_corners, AxisMode::asymmetric}) {
      const Resize op{.mode = mode, .coordinates = coordinates};
      const ResizeAxis whole{.in = 7, .out = 12, .scale = 12.0 / 7};
      const ResizeAxis part{.in = 7, .out = 5, .before_out = 4, .behind_out = 3, .scale = 12.0 / 7};
      for (std::int64_t x = 0; x < part.out; ++x)
        EXPECT_EQ(taps(op, part, x), taps(op, whole, x + part.before_out));
    }
}

// A tap that the part lacks falls on its edge: no index lies outside.
TEST(ResizePart, ReadsNothingOutside) {
  const Resize op{.mode = ResizeMode::linear};
  const ResizeAxis part{.in = 2, .out = 12, .before_in = 3, .behind_in = 2, .scale = 12.0 / 7};
  for (std::int64_t x = 0; x < part.out; ++x)
    for (const auto& [at, weight] : taps(op, part, x)) {
      EXPECT_GE(at, 0);
      EXPECT_LT(at, part.in);
    }
}

constexpr ResizeAxis twice{.in = 2, .out = 4, .scale = 2};
constexpr ResizeAxis fraction{.in = 4, .out = 2, .scale = 0.6};  // 2.4 unrounded
constexpr ResizeAxis to_one{.in = 4, .out = 1, .scale = 0.25};

TEST(ResizeCoordinate, HalfPixel) {
  EXPECT_ELEMENTS(coordinates(AxisMode::half_pixel, twice), -0.25, 0.25, 0.75, 1.25);
  EXPECT_ELEMENTS(coordinates(AxisMode::half_pixel, to_one), 1.5);
}

TEST(ResizeCoordinate, PytorchHalfPixelPutsASingleElementAtTheBeginning) {
  EXPECT_ELEMENTS(coordinates(AxisMode::pytorch_half_pixel, twice), -0.25, 0.25, 0.75, 1.25);
  EXPECT_ELEMENTS(coordinates(AxisMode::pytorch_half_pixel, to_one), 0);
}

TEST(ResizeCoordinate, HalfPixelSymmetricCentresWhatRoundingCutOff) {
  // 2.4 elements were wanted: the two that there are move by 2 * (1 - 2 / 2.4).
  EXPECT_THAT(coordinates(AxisMode::half_pixel_symmetric, fraction),
              ElementsAre(DoubleNear(2.0 / 3, 1e-12), DoubleNear(7.0 / 3, 1e-12)));
  EXPECT_ELEMENTS(coordinates(AxisMode::half_pixel_symmetric, twice), -0.25, 0.25, 0.75, 1.25);
}

TEST(ResizeCoordinate, AlignCornersDividesByTheUnroundedLength) {
  EXPECT_THAT(coordinates(AxisMode::align_corners, fraction),
              ElementsAre(0, DoubleNear(3 / 1.4, 1e-12)));
  EXPECT_ELEMENTS(coordinates(AxisMode::align_corners, {.in = 3, .out = 5, .scale = 5.0 / 3}), 0,
                  0.5, 1, 1.5, 2);
  EXPECT_ELEMENTS(coordinates(AxisMode::align_corners, to_one), 0);
  EXPECT_ELEMENTS(coordinates(AxisMode::align_corners, {.in = 1, .out = 3, .scale = 3}), 0, 0, 0);
}

TEST(ResizeCoordinate, AsymmetricAndTfHalfPixel) {
  EXPECT_ELEMENTS(coordinates(AxisMode::asymmetric, twice), 0, 0.5, 1, 1.5);
  EXPECT_ELEMENTS(coordinates(AxisMode::tf_half_pixel_for_nn, twice), 0.25, 0.75, 1.25, 1.75);
}

TEST(ResizeCoordinate, CropTakesTheRegion) {
  const ResizeAxis axis{.in = 5, .out = 3, .scale = 0.6, .roi_begin = 0.25, .roi_end = 0.75};
  EXPECT_THAT(coordinates(AxisMode::tf_crop_and_resize, axis),
              ElementsAre(DoubleNear(1, 1e-12), DoubleNear(2, 1e-12), DoubleNear(3, 1e-12)));
  const ResizeAxis one{.in = 5, .out = 1, .scale = 0.2, .roi_begin = 0.5, .roi_end = 1};
  EXPECT_ELEMENTS(coordinates(AxisMode::tf_crop_and_resize, one), 3);
}

TEST(ResizeCoordinate, AnAxisThatKeepsItsSizeStays) {
  for (AxisMode mode :
       {AxisMode::half_pixel, AxisMode::tf_half_pixel_for_nn, AxisMode::tf_crop_and_resize})
    EXPECT_ELEMENTS(coordinates(mode, {.in = 3, .out = 3}), 0, 1, 2);
}

TEST(ResizeTaps, NearestModes) {
  const ResizeAxis axis{.in = 4, .out = 8, .scale = 2};
  Resize op{.coordinates = AxisMode::asymmetric};  // 0, 0.5, 1, 1.5, ...
  EXPECT_ELEMENTS(nearest(op, axis), 0, 0, 1, 1, 2, 2, 3, 3);
  op.nearest = NearestMode::round_prefer_ceil;
  EXPECT_ELEMENTS(nearest(op, axis), 0, 1, 1, 2, 2, 3, 3, 3);
  op.nearest = NearestMode::floor;
  EXPECT_ELEMENTS(nearest(op, axis), 0, 0, 1, 1, 2, 2, 3, 3);
  op.nearest = NearestMode::ceil;
  EXPECT_ELEMENTS(nearest(op, axis), 0, 1, 1, 2, 2, 3, 3, 3);
}

TEST(ResizeTaps, NearestForgivesTheRoundingOfAScale) {
  // 3 / (1 / 3 in float) is 8.9999997: the ninth element is meant.
  const ResizeAxis axis{.in = 12, .out = 4, .scale = static_cast<double>(1.0f / 3)};
  const Resize op{.coordinates = AxisMode::asymmetric, .nearest = NearestMode::floor};
  EXPECT_ELEMENTS(nearest(op, axis), 0, 3, 6, 9);
}

TEST(ResizeTaps, LinearFallsOnTheEdges) {
  const Resize op{.mode = ResizeMode::linear};
  EXPECT_THAT(taps(op, twice, 0), ElementsAre(Pair(0, 1)));
  EXPECT_THAT(taps(op, twice, 1), ElementsAre(Pair(0, 0.75), Pair(1, 0.25)));
  EXPECT_THAT(taps(op, twice, 3), ElementsAre(Pair(1, 1)));
}

TEST(ResizeTaps, OnAnElementThereIsOneTap) {
  for (ResizeMode mode : {ResizeMode::linear, ResizeMode::cubic})
    EXPECT_THAT(taps({.mode = mode}, {.in = 5, .out = 5}, 2), ElementsAre(Pair(2, 1)));
}

TEST(ResizeTaps, CubicAndExcludeOutside) {
  Resize op{.mode = ResizeMode::cubic};
  const ResizeAxis axis{.in = 4, .out = 8, .scale = 2};
  // At 0.25: Keys' function at 1.25, 0.25, 0.75 and 1.75; the first falls on element 0.
  const auto v = taps(op, axis, 1);
  ASSERT_EQ(v.size(), 3u);
  EXPECT_THAT(v[0], Pair(0, DoubleNear(0.87890625 - 0.10546875, 1e-12)));
  EXPECT_THAT(v[1], Pair(1, DoubleNear(0.26171875, 1e-12)));
  EXPECT_THAT(v[2], Pair(2, DoubleNear(-0.03515625, 1e-12)));
  op.exclude_outside = true;
  EXPECT_THAT(taps(op, axis, 1)[0], Pair(0, DoubleNear(0.87890625 / 1.10546875, 1e-12)));
}

TEST(ResizeTaps, AntialiasStretchesTheFunction) {
  const Resize op{.mode = ResizeMode::linear, .antialias = true};
  const ResizeAxis half{.in = 8, .out = 4, .scale = 0.5};
  EXPECT_THAT(taps(op, half, 1),
              ElementsAre(Pair(1, 0.125), Pair(2, 0.375), Pair(3, 0.375), Pair(4, 0.125)));
  EXPECT_THAT(taps(op, half, 0), ElementsAre(Pair(0, 0.5), Pair(1, 0.375), Pair(2, 0.125)));
  EXPECT_THAT(taps(op, twice, 1),
              ElementsAre(Pair(0, 0.75), Pair(1, 0.25)));  // upsampling: as ever
}

TEST(ResizeTaps, WeightsSumToOneAndFitTheirRoom) {
  for (AxisMode mode :
       {AxisMode::half_pixel, AxisMode::half_pixel_symmetric, AxisMode::pytorch_half_pixel,
        AxisMode::align_corners, AxisMode::asymmetric, AxisMode::tf_half_pixel_for_nn})
    for (ResizeMode kind : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic})
      for (int flags = 0; flags < 4; ++flags)
        for (std::int64_t in : {1, 2, 3, 7, 50})
          for (std::int64_t out : {1, 2, 5, 49, 100}) {
            const Resize op{.mode = kind,
                            .coordinates = mode,
                            .exclude_outside = (flags & 1) != 0,
                            .antialias = (flags & 2) != 0};
            const ResizeAxis axis{
                .in = in, .out = out, .scale = static_cast<double>(out) / static_cast<double>(in)};
            for (std::int64_t x = 0; x < out; ++x) {
              double sum = 0;
              for (const auto& [index, weight] : taps(op, axis, x)) {
                EXPECT_TRUE(index >= 0 && index < in);
                sum += weight;
              }
              EXPECT_NEAR(sum, 1, 1e-9) << in << " to " << out << " at " << x;
            }
          }
}

}  // namespace
}  // namespace quern::testing
