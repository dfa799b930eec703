// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/lp_norm.h"

#include <limits>

#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;

TEST(LpNorm, BothNormsAlongAnyAxis) {
  const Tensor x = tensor<float>({2, 2}, {3, -4, 1, 1});
  EXPECT_ELEMENTS(values<float>(run(LpNorm{.p = 1}, {x})), 3.0f / 7, -4.0f / 7, 0.5f, 0.5f);
  const Tensor z = tensor<float>({2, 2}, {3, 0, -4, 2});
  EXPECT_ELEMENTS(values<float>(run(LpNorm{.axis = 0}, {z})), 0.6f, 0, -0.8f, 1);
}

TEST(LpNorm, ZeroWhereTheNormIsZero) {
  EXPECT_ELEMENTS(values<float>(run(LpNorm{}, {tensor<float>({2}, {0, -0.0f})})), 0, 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(values<float>(run(LpNorm{}, {tensor<float>({2}, {0, nan})})),
              ElementsAre(IsNan(), IsNan()));
  EXPECT_EQ(run(LpNorm{}, {tensor<float>({2, 0}, {})}).shape(), Shape({2, 0}));
}

TEST(LpNorm, DividesByEpsilonAtLeast) {
  const LpNorm op{.epsilon = 0.5f};
  EXPECT_ELEMENTS(values<float>(run(op, {tensor<float>({2}, {0.3f, 0})})), 0.6f, 0);
  EXPECT_ELEMENTS(values<float>(run(op, {tensor<float>({2}, {3, 4})})), 0.6f, 0.8f);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(values<float>(run(op, {tensor<float>({2}, {0, nan})})),
              ElementsAre(IsNan(), IsNan()));
}

TEST(LpNorm, SquaresOfLargeNumbersDoNotOverflow) {
  EXPECT_ELEMENTS(values<float>(run(LpNorm{}, {tensor<float>({2}, {0x1.8p101f, 0x1p102f})})), 0.6f,
                  0.8f);
  EXPECT_THAT(values<Half>(run(LpNorm{}, {tensor<Half>({2}, {Half(30000.0f), Half(40000.0f)})})),
              ElementsAre(Half(0.6f), Half(0.8f)));
}

TEST(LpNorm, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<float>({1}, {1});
  EXPECT_CONTAINS(error_of(LpNorm{.p = 3}, {x}), "p is 3, wants 1 or 2");
  EXPECT_CONTAINS(error_of(LpNorm{.axis = 1}, {x}), "axis 1 is outside of rank 1");
  EXPECT_CONTAINS(error_of(LpNorm{}, {tensor<std::int32_t>({1}, {1})}), "must be of f32");
}

}  // namespace
}  // namespace quern::testing
