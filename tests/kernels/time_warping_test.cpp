// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "graph/ops/data_dependent.h"
#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

// The costs and the path are those of ONNX Runtime's own test.
TEST(TimeWarping, FindsTheCheapestPath) {
  const std::initializer_list<float> costs = {
      3, 8, 5, 1, 9, 8, 5, 7, 4, 4, 9, 6, 2, 9, 7, 2, 5, 6, 1, 8, 4, 6, 5, 8, 4, 8, 3, 6, 3, 9,
      1, 1, 6, 8, 3, 5, 5, 3, 3, 8, 8, 7, 1, 2, 2, 1, 5, 4, 5, 0, 3, 6, 3, 7, 4, 5, 4, 5, 4, 0};
  for (const Shape& shape : {Shape{6, 10}, Shape{1, 6, 10}}) {
    const Tensor y = run(TimeWarping{}, {tensor<float>(shape, costs)});
    EXPECT_EQ(y.shape(), Shape({2, 12}));
    EXPECT_THAT(values<std::int32_t>(y), ElementsAre(0, 1, 2, 3, 4, 4, 4, 4, 5, 5, 5, 5,  //
                                                     0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  }
}

// Of equal ways the one from the column before is taken.
TEST(TimeWarping, TakesColumnsWhereWaysAreEqual) {
  const Tensor y = run(TimeWarping{}, {tensor<float>({2, 3}, {0, 0, 0, 0, 0, 0})});
  EXPECT_THAT(values<std::int32_t>(y), ElementsAre(0, 1, 1, 1, 0, 0, 1, 2));
}

TEST(TimeWarping, LinesAndNothing) {
  EXPECT_THAT(values<std::int32_t>(run(TimeWarping{}, {tensor<float>({1, 3}, {1, 2, 3})})),
              ElementsAre(0, 0, 0, 0, 1, 2));
  EXPECT_THAT(values<std::int32_t>(run(TimeWarping{}, {tensor<float>({3, 1}, {1, 2, 3})})),
              ElementsAre(0, 1, 2, 0, 0, 0));
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}, Shape{0, 0}}) {
    const Tensor y = run(TimeWarping{}, {tensor<float>(shape, {})});
    EXPECT_EQ(y.shape(), Shape({2, 0}));
  }
}

TEST(TimeWarping, CostsWithoutAnOrderStillEndThePath) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float cost : {nan, infinity, -infinity}) {
    const Tensor x =
        Tensor::from_values<float>(DType::f32, Shape{3, 3}, std::vector<float>(9, cost));
    const Tensor y = run(TimeWarping{}, {x});
    EXPECT_LE(y.shape()[1], 5);
    EXPECT_EQ(values<std::int32_t>(y)[static_cast<std::size_t>(y.shape()[1] - 1)], 2);
  }
}

TEST(TimeWarping, Inference) {
  EXPECT_EQ(infer_text(TimeWarping{}, {ValueType(DType::f32, Dims{N, 4})}), "i32[2,?]");
  EXPECT_CONTAINS(error_of(TimeWarping{}, {tensor<float>({2, 1, 1}, {1, 2})}),
                  "must be [m,n] or [1,m,n]");
  EXPECT_CONTAINS(error_of(TimeWarping{}, {tensor<float>({2}, {1, 2})}),
                  "must be [m,n] or [1,m,n]");
  EXPECT_CONTAINS(error_of(TimeWarping{}, {tensor<std::int64_t>({1, 1}, {1})}), "f32");
}

}  // namespace
}  // namespace quern::testing
