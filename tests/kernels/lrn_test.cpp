// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/lp_norm.h"
#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

TEST(Lrn, SumsOverNeighbouringChannels) {
  // With alpha = size and beta = 1: x / (1 + sum of squares of the channel and its neighbours).
  const Tensor x = tensor<float>({1, 3, 2}, {1, 0, 2, 1, 3, 1});
  const Tensor y = run(Lrn{.size = 3, .alpha = 3, .beta = 1}, {x});
  EXPECT_ELEMENTS(values<float>(y), 1.0f / 6, 0, 2.0f / 15, 1.0f / 3, 3.0f / 14, 1.0f / 3);
}

TEST(Lrn, AnEvenWindowReachesFurtherBehind) {
  const Tensor x = tensor<float>({1, 3}, {1, 2, 3});
  const Tensor y = run(Lrn{.size = 2, .alpha = 2, .beta = 1, .bias = 0}, {x});
  EXPECT_ELEMENTS(values<float>(y), 1.0f / 5, 2.0f / 13, 3.0f / 9);
}

TEST(Lrn, BetaIsAPower) {
  const Tensor y =
      run(Lrn{.size = 1, .alpha = 1, .beta = 0.5f, .bias = 7}, {tensor<float>({1, 1}, {3})});
  EXPECT_ELEMENTS(values<float>(y), 0.75f);
}

TEST(Lrn, WindowsWiderThanTheTensorAndEmptyTensors) {
  const Tensor y = run(Lrn{.size = INT64_MAX, .alpha = 0, .beta = 1, .bias = 2},
                       {tensor<double>({1, 2}, {4, 6})});
  EXPECT_ELEMENTS(values<double>(y), 2, 3);
  EXPECT_EQ(run(Lrn{}, {tensor<float>({1, 0, 2}, {})}).shape(), Shape({1, 0, 2}));
}

TEST(Lrn, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<float>({1, 1}, {1});
  EXPECT_CONTAINS(error_of(Lrn{.size = 0}, {x}), "size is 0, wants at least 1");
  EXPECT_CONTAINS(error_of(Lrn{}, {tensor<float>({1}, {1})}), "must have batch and channels");
  EXPECT_CONTAINS(error_of(Lrn{}, {tensor<std::int8_t>({1, 1}, {1})}), "must be of f32");
}

}  // namespace
}  // namespace quern::testing
