// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/resampling.h"
#include "kernels/cpu/grid_sample_rows.h"
#include "tests/expect.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/spatial_test.h"

namespace quern::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;

// A row of elements read at one position: (x) of a 1-D image.
float at(const GridSample& op, std::initializer_list<float> row, float x) {
  const Tensor image = tensor<float>({1, 1, static_cast<std::int64_t>(row.size())}, row);
  return values<float>(run(op, {image, tensor<float>({1, 1, 1}, {x})}))[0];
}

TEST(GridSample, EdgesAndCentres) {
  GridSample op;
  EXPECT_EQ(at(op, {0, 10, 20, 30}, -0.75f), 0);
  EXPECT_EQ(at(op, {0, 10, 20, 30}, 0), 15);
  EXPECT_EQ(at(op, {0, 10, 20, 30}, 1), 15);  // half an element outside
  op.align_corners = true;
  EXPECT_EQ(at(op, {0, 10, 20, 30}, -1), 0);
  EXPECT_EQ(at(op, {0, 10, 20, 30}, 1), 30);
  EXPECT_EQ(at(op, {0, 10, 20, 30}, 0.5f), 22.5f);
}

TEST(GridSample, NearestTakesTheEvenOfTwo) {
  const GridSample op{.mode = ResizeMode::nearest, .align_corners = true};
  EXPECT_EQ(at(op, {1, 2, 3, 4, 5}, -0.75f), 1);  // 0.5
  EXPECT_EQ(at(op, {1, 2, 3, 4, 5}, -0.25f), 3);  // 1.5
  EXPECT_EQ(at(op, {1, 2, 3, 4, 5}, 0.25f), 3);   // 2.5
  EXPECT_EQ(at(op, {1, 2, 3, 4, 5}, 2), 0);
}

TEST(GridSample, BorderRepeats) {
  for (ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
    const GridSample op{.mode = mode, .padding = GridPadding::border};
    EXPECT_EQ(at(op, {1, 2, 3}, 50), 3);
    EXPECT_EQ(at(op, {1, 2, 3}, -1e30f), 1);
    EXPECT_EQ(at(op, {1, 2, 3}, inf), 3);
  }
}

TEST(GridSample, ReflectionFoldsAtEdgesOrCentres) {
  GridSample op{.padding = GridPadding::reflection};
  EXPECT_EQ(at(op, {10, 20, 30, 40}, -1.25f), 10);  // -1 folds at -0.5 to 0
  EXPECT_EQ(at(op, {10, 20, 30, 40}, -1.75f), 20);
  EXPECT_EQ(at(op, {10, 20, 30, 40}, -3.25f), 40);  // -5 to 4, to 3
  op.align_corners = true;
  EXPECT_THAT(at(op, {10, 20, 30, 40}, -1 - 2.0f / 3), FloatNear(20, 1e-4f));
  EXPECT_THAT(at(op, {10, 20, 30, 40}, 1 + 4.0f / 3), FloatNear(20, 1e-4f));
  EXPECT_EQ(at(op, {10}, 17), 10);
}

TEST(GridSample, NanReadsNothingOrTheFirst) {
  for (ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
    EXPECT_EQ(at({.mode = mode}, {1, 2, 3}, nan), 0);
    EXPECT_EQ(at({.mode = mode}, {1, 2, 3}, -inf), 0);
    EXPECT_EQ(at({.mode = mode, .padding = GridPadding::border}, {1, 2, 3}, nan), 1);
    EXPECT_EQ(at({.mode = mode, .padding = GridPadding::reflection}, {1, 2, 3}, inf), 1);
  }
}

TEST(GridSample, CubicGoesThroughTheElements) {
  const GridSample op{.mode = ResizeMode::cubic, .align_corners = true};
  EXPECT_EQ(at(op, {1, 5, 2, 7, 3}, 0.5f), 7);
  // At 1.5: -0.09375 (1 + 7) + 0.59375 (5 + 2).
  EXPECT_THAT(at(op, {1, 5, 2, 7, 3}, -0.25f), FloatNear(3.40625f, 1e-5f));
  // At 0.5 with zeros outside: 0.59375 (1 + 5) - 0.09375 * 2.
  EXPECT_THAT(at(op, {1, 5, 2, 7, 3}, -0.75f), FloatNear(3.375f, 1e-5f));
}

TEST(GridSample, XIsTheInnermostDimension) {
  const Tensor x = counting<float>({1, 2, 2, 3});
  const Tensor grid = tensor<float>({1, 1, 2, 2}, {1, -1, 0, 1});
  const Tensor y = run(GridSample{.align_corners = true}, {x, grid});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 1, 2}));
  EXPECT_ELEMENTS(values<float>(y), 2, 4, 8, 10);
}

TEST(GridSample, Volumes) {
  const Tensor x = counting<float>({1, 1, 2, 2, 2});
  const Tensor grid = tensor<float>({1, 1, 1, 2, 3}, {0, 0, 0, 1, -1, 1});
  for (ResizeMode mode : {ResizeMode::linear, ResizeMode::cubic}) {
    const GridSample op{.mode = mode, .padding = GridPadding::border, .align_corners = true};
    const auto y = values<float>(run(op, {x, grid}));
    EXPECT_THAT(y, ElementsAre(FloatNear(3.5f, 1e-6f), 5));
  }
}

TEST(GridSample, OtherTypes) {
  const Tensor grid = tensor<float>({1, 1, 1}, {0});
  const GridSample op;
  EXPECT_EQ(values<std::int32_t>(run(op, {tensor<std::int32_t>({1, 1, 2}, {-3, 0}), grid}))[0], -1);
  EXPECT_EQ(static_cast<float>(values<Half>(
                run(op, {tensor<Half>({1, 1, 2}, {Half(1.0f), Half(2.0f)}), grid}))[0]),
            1.5f);
  EXPECT_EQ(values<float>(
                run(op, {tensor<float>({1, 1, 2}, {1, 2}), tensor<double>({1, 1, 1}, {0.25})}))[0],
            1.75f);
}

TEST(GridSample, EmptyTensors) {
  EXPECT_EQ(run(GridSample{}, {counting<float>({1, 1, 2}), tensor<float>({1, 0, 1}, {})}).shape(),
            (Shape{1, 1, 0}));
  EXPECT_EQ(run(GridSample{}, {tensor<float>({1, 0, 2}, {}), counting<float>({1, 3, 1})}).shape(),
            (Shape{1, 0, 3}));
  EXPECT_CONTAINS(
      error_of(GridSample{}, {tensor<float>({1, 1, 0}, {}), counting<float>({1, 1, 1})}),
      "nothing to sample");
}

TEST(GridSample, RefusesWhatDoesNotFit) {
  const Tensor x = counting<float>({1, 1, 2, 2});
  EXPECT_CONTAINS(error_of(GridSample{}, {x, counting<float>({1, 1, 1, 3})}),
                  "positions of 2 coordinates");
  EXPECT_CONTAINS(error_of(GridSample{}, {x, counting<float>({2, 1, 1, 2})}), "for each image");
  EXPECT_CONTAINS(error_of(GridSample{}, {x, counting<float>({1, 1, 2})}), "must have one rank");
  EXPECT_CONTAINS(error_of(GridSample{}, {x, counting<std::int32_t>({1, 1, 1, 2})}),
                  "must be of f32");
}

TEST(GridSample, InfersWhatItCan) {
  EXPECT_EQ(dims_of(GridSample{}, {unranked(), f32({4, 5, 6, 2})}), (Dims{4, Dim(), 5, 6}));
  EXPECT_EQ(dims_of(GridSample{}, {f32({4, 3, 7, 7}), unranked()}), (Dims{4, 3, Dim(), Dim()}));
}

TEST(AffineGrid, IdentityIsTheRegularGrid) {
  const Tensor theta = tensor<float>({1, 2, 3}, {1, 0, 0, 0, 1, 0});
  const Tensor size = tensor<std::int64_t>({4}, {1, 1, 2, 2});
  EXPECT_ELEMENTS(values<float>(run(AffineGrid{}, {theta, size})), -0.5f, -0.5f, 0.5f, -0.5f, -0.5f,
                  0.5f, 0.5f, 0.5f);
  EXPECT_ELEMENTS(values<float>(run(AffineGrid{.align_corners = true}, {theta, size})), -1, -1, 1,
                  -1, -1, 1, 1, 1);
}

TEST(AffineGrid, MovesAndTurns) {
  // A quarter turn, then a shift, of one row of three.
  const Tensor theta = tensor<float>({1, 2, 3}, {0, -1, 10, 1, 0, 20});
  const Tensor y =
      run(AffineGrid{.align_corners = true}, {theta, tensor<std::int64_t>({4}, {1, 1, 1, 3})});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 3, 2}));
  EXPECT_ELEMENTS(values<float>(y), 10, 19, 10, 20, 10, 21);
}

TEST(AffineGrid, ThreeDimensions) {
  const Tensor theta = tensor<double>({1, 3, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0});
  const Tensor y = run(AffineGrid{}, {theta, tensor<std::int64_t>({5}, {1, 1, 2, 1, 1})});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 1, 1, 3}));
  EXPECT_ELEMENTS(values<double>(y), 0, 0, -0.5, 0, 0, 0.5);
}

TEST(AffineGrid, RefusesWhatDoesNotFit) {
  const Tensor theta = counting<float>({1, 2, 3});
  const auto size = [](std::initializer_list<std::int64_t> v) {
    return tensor<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
  };
  EXPECT_CONTAINS(error_of(AffineGrid{}, {theta, size({1, 1, 2, 2, 2})}), "2 x 3 matrices");
  EXPECT_CONTAINS(error_of(AffineGrid{}, {counting<float>({1, 4, 5}), size({1, 1, 2, 2})}),
                  "wants 2 or 3");
  EXPECT_CONTAINS(error_of(AffineGrid{}, {theta, size({2, 1, 2, 2})}), "another number of images");
  EXPECT_CONTAINS(error_of(AffineGrid{}, {theta, size({1, 1, -2, 2})}), "size holds -2");
  EXPECT_EQ(dims_of(AffineGrid{}, {unranked(), i64({5})}), (Dims{Dim(), Dim(), Dim(), Dim(), 3}));
}

// Positions inside, at elements, at edges, far outside and nowhere. An infinite element shows
// whether anything reads it that must not, by a NaN.
TEST(GridSampleRows, AreAsTheReference) {
  RandomTensors random(9);
  for (const Shape& shape : {Shape{2, 3, 5, 7}, Shape{1, 9, 1, 4}, Shape{1, 2, 8, 8}}) {
    Tensor x = random.floats(shape);
    Tensor grid = random.floats({shape[0], 11, 50, 2}, -1.5f, 1.5f);
    auto* p = reinterpret_cast<float*>(grid.mutable_data());
    const float special[] = {-1, 1, 0, 0.5f, -40, 1e30f, nan, INFINITY};
    for (std::int64_t i = 0; i < grid.shape().elements(); i += 3)
      p[i] = special[static_cast<std::size_t>(i / 3) % std::size(special)];
    reinterpret_cast<float*>(x.mutable_data())[1] = INFINITY;
    for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear})
      for (const GridPadding padding :
           {GridPadding::zeros, GridPadding::border, GridPadding::reflection})
        for (const bool corners : {false, true}) {
          const GridSample op{.mode = mode, .padding = padding, .align_corners = corners};
          const Tensor wanted = run(op, {x, grid});
          for (const int threads : {1, 2}) {
            const SelectedRun got =
                run_selected(op, {x, grid}, {}, 1, threads, std::nullopt, select_grid_sample_rows);
            ASSERT_FALSE(got.implementation.empty());
            const auto y = got.outputs[0].span<float>();
            const auto z = wanted.span<float>();
            for (std::size_t i = 0; i < z.size(); ++i)
              if (y[i] != z[i]) {
                ASSERT_NEAR(y[i], z[i], 4e-7f)
                    << shape.text() << " at " << i << ", mode " << static_cast<int>(mode)
                    << ", padding " << static_cast<int>(padding) << ", corners " << corners;
              }
          }
        }
  }
}

}  // namespace
}  // namespace quern::testing
