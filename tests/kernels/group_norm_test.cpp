// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/layer_norm.h"
#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

const Tensor channel_ones = tensor<float>({2}, {1, 1});
const Tensor zeros = tensor<float>({2}, {0, 0});

TEST(GroupNorm, WithoutGroupsEveryChannelIsOne) {
  const Tensor x = tensor<float>({2, 2, 2}, {1, 3, 2, 6, 0, 2, 5, 5});
  const Tensor y = run(GroupNorm{.epsilon = 0}, {x, tensor<float>({2}, {1, 10}), zeros});
  const auto v = values<float>(y);
  EXPECT_THAT(std::vector<float>(v.begin(), v.begin() + 6), ElementsAre(-1, 1, -10, 10, -1, 1));
}

TEST(GroupNorm, GroupsOfNeighbours) {
  // One group of 0 0 4 4: mean 2, deviation 2.
  const Tensor x = tensor<float>({1, 2, 2}, {0, 0, 4, 4});
  const Tensor y = run(GroupNorm{.groups = 1, .epsilon = 0},
                       {x, tensor<float>({2}, {1, 3}), tensor<float>({2}, {5, 0})});
  EXPECT_ELEMENTS(values<float>(y), 4, 4, 3, 3);
}

TEST(GroupNorm, EpsilonStandsUnderTheRoot) {
  const Tensor y = run(GroupNorm{.groups = 1, .epsilon = 12},
                       {tensor<float>({1, 2}, {0, 4}), channel_ones, zeros});
  EXPECT_ELEMENTS(values<float>(y), -0.5f, 0.5f);
}

TEST(GroupNorm, SixteenBitFloatsAndEmptyBatches) {
  const Tensor x = tensor<BFloat16>({1, 2, 1}, {BFloat16(1.0f), BFloat16(3.0f)});
  EXPECT_THAT(values<BFloat16>(run(GroupNorm{.groups = 1, .epsilon = 0}, {x, channel_ones, zeros})),
              ElementsAre(-1.0f, 1.0f));
  EXPECT_EQ(run(GroupNorm{}, {tensor<float>({0, 2, 3}, {}), channel_ones, zeros}).shape(),
            Shape({0, 2, 3}));
}

TEST(GroupNorm, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<float>({1, 2}, {1, 2});
  EXPECT_CONTAINS(error_of(GroupNorm{.groups = 3}, {x, channel_ones, zeros}),
                  "cannot be cut into 3 groups");
  EXPECT_CONTAINS(error_of(GroupNorm{.groups = -1}, {x, channel_ones, zeros}), "into -1 groups");
  EXPECT_CONTAINS(error_of(GroupNorm{}, {x, tensor<float>({1}, {1}), zeros}),
                  "one element for each channel");
  EXPECT_CONTAINS(error_of(GroupNorm{}, {channel_ones, channel_ones, zeros}),
                  "must have batch and channels");
}

}  // namespace
}  // namespace quern::testing
