// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/pool.h"
#include "tests/expect.h"
#include "tests/kernels/spatial_test.h"

namespace quern::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;

Tensor images(std::initializer_list<std::int64_t> v) {
  return tensor<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
}

TEST(RoiAlign, ReadsBetweenElements) {
  const Tensor x = counting<float>({1, 1, 4, 4});
  const RoiPool op{.height = 2, .width = 2, .sampling_ratio = 1, .half_pixel = false};
  // Bins of 1.5 x 1.5 read at their middles, from (0.75, 0.75) on.
  const Tensor y = run(op, {x, tensor<float>({1, 4}, {0, 0, 3, 3}), images({0})});
  EXPECT_ELEMENTS(values<float>(y), 3.75f, 5.25f, 9.75f, 11.25f);
}

TEST(RoiAlign, HalfPixelMovesByHalfAnElement) {
  const Tensor x = counting<float>({1, 1, 4, 4});
  const RoiPool op{.height = 1, .width = 1, .sampling_ratio = 1};
  EXPECT_ELEMENTS(values<float>(run(op, {x, tensor<float>({1, 4}, {1, 1, 3, 3}), images({0})})),
                  7.5f);
}

TEST(RoiAlign, AdaptiveSamplingAndScale) {
  const Tensor x = counting<float>({1, 1, 4, 4});
  const RoiPool op{.height = 1, .width = 1, .spatial_scale = 0.5f, .half_pixel = false};
  // 2 x 2 points at 0.5 and 1.5 of a region of 2 x 2 from (0, 0).
  EXPECT_ELEMENTS(values<float>(run(op, {x, tensor<float>({1, 4}, {0, 0, 4, 4}), images({0})})), 5);
}

TEST(RoiAlign, MaxTakesTheLargestWeightedNeighbour) {
  const Tensor x = tensor<float>({1, 1, 2, 2}, {1, 2, 3, 8});
  const RoiPool op{.kind = RoiKind::align_max, .sampling_ratio = 1, .half_pixel = false};
  EXPECT_ELEMENTS(values<float>(run(op, {x, tensor<float>({1, 4}, {0, 0, 1, 1}), images({0})})),
                  2);  // 8 / 4
}

TEST(RoiAlign, ImagesAndChannels) {
  const Tensor x = counting<float>({2, 2, 1, 1});
  const RoiPool op{.sampling_ratio = 2, .half_pixel = false};
  EXPECT_ELEMENTS(values<float>(run(op, {x, filled<float>({2, 4}, 0), images({1, 0})})), 2, 3, 0,
                  1);
}

TEST(RoiAlign, OutsideIsZero) {
  const Tensor x = filled<float>({1, 1, 2, 2}, 8);
  const auto at = [&](std::initializer_list<float> roi) {
    return values<float>(
        run(RoiPool{.half_pixel = false}, {x, tensor<float>({1, 4}, roi), images({0})}))[0];
  };
  EXPECT_EQ(at({5, 5, 6, 6}), 0);
  EXPECT_EQ(at({-1, 0, 1, 1}), 8);        // points at -0.5 and 0.5: both read
  EXPECT_EQ(at({-2.5f, 0, 1.5f, 1}), 6);  // points at -2, -1, 0, 1: one outside
  EXPECT_EQ(at({3, 3, 1, 1}), 0);         // malformed: made 1 x 1 at (3, 3)
}

TEST(RoiAlign, AbsurdRegionsEnd) {
  const Tensor x = filled<float>({1, 1, 2, 2}, 8);
  const Tensor rois = tensor<float>(
      {4, 4}, {-1e30f, -1e30f, 1e30f, 1e30f, 0, 0, inf, inf, nan, 0, nan, 1, 0, 0, 1e9f, 1e9f});
  for (RoiKind kind : {RoiKind::align_average, RoiKind::align_max}) {
    const Tensor y =
        run(RoiPool{.kind = kind, .half_pixel = false}, {x, rois, images({0, 0, 0, 0})});
    EXPECT_EQ(y.shape(), (Shape{4, 1, 1, 1}));
  }
}

TEST(MaxRoiPool, RoundsToElements) {
  const Tensor x = counting<float>({1, 1, 4, 4});
  const RoiPool op{.kind = RoiKind::max, .height = 2, .width = 2};
  EXPECT_ELEMENTS(values<float>(run(op, {x, tensor<float>({1, 5}, {0, 0.4f, 0, 2.6f, 3})})), 5, 7,
                  13, 15);
}

TEST(MaxRoiPool, EmptyBinsAreZeroAndNanGoesThrough) {
  const RoiPool op{.kind = RoiKind::max};
  const Tensor x = tensor<float>({1, 1, 1, 2}, {nan, -1});
  const auto y = values<float>(run(op, {x, tensor<float>({3, 5}, {0, 0, 0, 1, 0,  //
                                                                  0, 1, 0, 1, 0,  //
                                                                  0, 7, 7, 9, 9})}));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], -1);
  EXPECT_EQ(y[2], 0);
}

// To the right of the image, and below it; where it ends others of the batch begin.
TEST(MaxRoiPool, RegionsBesideTheImageAreZero) {
  const RoiPool op{.kind = RoiKind::max};
  const Tensor x = filled<float>({2, 2, 3, 3}, 5);
  EXPECT_ELEMENTS(values<float>(run(op, {x, tensor<float>({2, 5}, {0, 4, 1, 5, 2,  //
                                                                   0, 1, 4, 2, 5})})),
                  0, 0, 0, 0);
}

TEST(MaxRoiPool, AbsurdRegionsEnd) {
  const Tensor x = filled<float>({1, 1, 2, 2}, 8);
  const Tensor y =
      run(RoiPool{.kind = RoiKind::max, .height = 2},
          {x, tensor<float>({3, 5}, {0, -inf, -inf, inf, inf, 0, 1e30f, 0, -1e30f, 1,  //
                                     0, nan, nan, nan, nan})});
  EXPECT_EQ(values<float>(y).size(), 6u);
}

TEST(RoiPool, EmptyTensors) {
  const RoiPool op{.half_pixel = false};
  EXPECT_EQ(run(op, {counting<float>({1, 2, 3, 3}), tensor<float>({0, 4}, {}), images({})}).shape(),
            (Shape{0, 2, 1, 1}));
  EXPECT_THAT(values<float>(run(
                  op, {tensor<float>({1, 1, 0, 3}, {}), filled<float>({1, 4}, 1), images({0})})),
              Each(0));
}

TEST(RoiPool, RefusesWhatDoesNotFit) {
  const Tensor x = counting<float>({1, 1, 4, 4});
  const Tensor rois = filled<float>({1, 4}, 1);
  EXPECT_CONTAINS(error_of(RoiPool{}, {x, rois, images({1})}), "region 0 lies in image 1 of 1");
  EXPECT_CONTAINS(error_of(RoiPool{}, {x, rois, images({-1})}), "lies in image -1");
  EXPECT_CONTAINS(error_of(RoiPool{}, {x, rois}), "align_average wants batch indices");
  EXPECT_CONTAINS(error_of(RoiPool{.kind = RoiKind::max}, {x, rois}), "5 columns");
  EXPECT_CONTAINS(error_of(RoiPool{}, {x, rois, images({0, 0})}), "one element for each region");
  EXPECT_CONTAINS(error_of(RoiPool{.height = 0}, {x, rois, images({0})}), "pooled size 0 x 1");
  EXPECT_CONTAINS(error_of(RoiPool{.sampling_ratio = 1 << 20}, {x, rois, images({0})}),
                  "sampling_ratio is 1048576");
  EXPECT_CONTAINS(error_of(RoiPool{}, {counting<float>({1, 4, 4}), rois, images({0})}), "rank 4");
}

TEST(RoiPool, InfersTheNumberOfRegionsFromEitherInput) {
  EXPECT_EQ(dims_of(RoiPool{.height = 3, .width = 2}, {f32({1, 5, 4, 4}), unranked(), i64({7})}),
            (Dims{7, 5, 3, 2}));
}

}  // namespace
}  // namespace quern::testing
