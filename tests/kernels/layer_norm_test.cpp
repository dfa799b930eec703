// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/layer_norm.h"

#include <cmath>
#include <limits>

#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;

const Tensor ones = tensor<float>({2}, {1, 1});

TEST(LayerNorm, NormalisesEachRow) {
  // Rows 1 3 and 2 6: means 2 and 4, deviations 1 and 2.
  const Tensor x = tensor<float>({2, 2}, {1, 3, 2, 6});
  const auto y = run_reference(LayerNorm{.epsilon = 0},
                               {x, tensor<float>({2}, {1, 10}), tensor<float>({2}, {0, 1})}, 3);
  ASSERT_TRUE(y);
  EXPECT_ELEMENTS(values<float>((*y)[0]), -1, 11, -1, 11);
  EXPECT_EQ((*y)[1].shape(), Shape({2, 1}));
  EXPECT_ELEMENTS(values<float>((*y)[1]), 2, 4);
  EXPECT_EQ((*y)[2].shape(), Shape({2, 1}));
  EXPECT_ELEMENTS(values<float>((*y)[2]), 1, 0.5f);
}

TEST(LayerNorm, FromAnyAxisOn) {
  const Tensor x = tensor<float>({2, 1, 2}, {1, 3, 2, 6});
  for (const std::int64_t axis : {1, -2, -1}) {
    const auto y = run_reference(LayerNorm{.axis = axis, .epsilon = 0}, {x, ones}, 2);
    ASSERT_TRUE(y);
    EXPECT_ELEMENTS(values<float>((*y)[0]), -1, 1, -1, 1);
    EXPECT_EQ((*y)[1].shape(), Shape({2, 1, 1}));
  }
  const auto all = run_reference(LayerNorm{.axis = 0, .epsilon = 0}, {x}, 2);
  ASSERT_TRUE(all);
  EXPECT_ELEMENTS(values<float>((*all)[1]), 3);
  EXPECT_EQ((*all)[1].shape(), Shape({1, 1, 1}));
}

TEST(LayerNorm, WithoutCenterIsRms) {
  // Root mean square of 1 and 7 is 5.
  const auto y = run_reference(LayerNorm{.epsilon = 0, .center = false},
                               {tensor<float>({2}, {1, 7}), ones}, 3);
  ASSERT_TRUE(y);
  EXPECT_ELEMENTS(values<float>((*y)[0]), 0.2f, 1.4f);
  EXPECT_ELEMENTS(values<float>((*y)[1]), 0);
  EXPECT_ELEMENTS(values<float>((*y)[2]), 0.2f);
}

TEST(LayerNorm, EpsilonStandsUnderTheRoot) {
  const Tensor y = run(LayerNorm{.epsilon = 3}, {tensor<float>({2}, {1, 3})});
  EXPECT_ELEMENTS(values<float>(y), -0.5f, 0.5f);
}

TEST(LayerNorm, ParametersBroadcast) {
  const Tensor x = tensor<float>({2, 2}, {1, 3, 2, 6});
  EXPECT_ELEMENTS(
      (values<float>(run(LayerNorm{.epsilon = 0}, {x, tensor<float>({2, 1}, {1, 10})}))), -1, 1,
      -10, 10);
  EXPECT_ELEMENTS(
      (values<float>(run(LayerNorm{.epsilon = 0}, {x, absent(), tensor<double>({}, {1})}))), 0, 2,
      0, 2);
}

TEST(LayerNorm, SixteenBitFloatsKeepTheirMoments) {
  const Tensor x = tensor<Half>({2}, {Half(1.0f), Half(1.0009765625f)});
  const auto y = run_reference(LayerNorm{.epsilon = 0}, {x}, 2);
  ASSERT_TRUE(y);
  EXPECT_THAT(values<Half>((*y)[0]), ElementsAre(-1.0f, 1.0f));
  EXPECT_ELEMENTS(values<float>((*y)[1]), 1.00048828125f);
}

TEST(LayerNorm, NanAndNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(values<float>(run(LayerNorm{}, {tensor<float>({2}, {1, nan})})),
              ElementsAre(IsNan(), IsNan()));
  const auto y = run_reference(LayerNorm{}, {tensor<float>({1, 0}, {})}, 3);
  ASSERT_TRUE(y);
  EXPECT_THAT(values<float>((*y)[1]), ElementsAre(IsNan()));
  EXPECT_EQ(run(LayerNorm{}, {tensor<float>({0, 2}, {})}).shape(), Shape({0, 2}));
}

TEST(LayerNorm, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<float>({1, 2}, {1, 2});
  EXPECT_CONTAINS(error_of(LayerNorm{.axis = 2}, {x}), "axis 2 is outside of rank 2");
  EXPECT_CONTAINS(error_of(LayerNorm{}, {x, tensor<float>({3}, {1, 2, 3})}),
                  "input 1 (f32[3]) does not broadcast to input 0 (f32[1,2])");
  EXPECT_CONTAINS(error_of(LayerNorm{}, {x, tensor<float>({2, 2}, {1, 2, 3, 4})}),
                  "does not broadcast to");
  EXPECT_CONTAINS(error_of(LayerNorm{}, {tensor<std::int32_t>({1}, {1})}), "must be of f32");
}

}  // namespace
}  // namespace quern::testing
