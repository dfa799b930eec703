// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/softmax.h"

#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

TEST(Softmax, SumsToOneAlongTheAxis) {
  const Tensor y = run(Softmax{.axis = 0}, {tensor<float>({2, 2}, {0, 1, 0, 3})});
  EXPECT_THAT(values<float>(y),
              ElementsAre(0.5f, FloatNear(0.1192029f, 1e-6f), 0.5f, FloatNear(0.8807971f, 1e-6f)));
}

TEST(Softmax, FlattenCoversAllDimensionsFromTheAxisOn) {
  const Tensor y =
      run(Softmax{.axis = 1, .flatten = true}, {tensor<float>({1, 2, 2}, {0, 0, 0, 0})});
  EXPECT_ELEMENTS(values<float>(y), 0.25f, 0.25f, 0.25f, 0.25f);
}

TEST(Softmax, LargeNumbersDoNotOverflow) {
  const Tensor y = run(Softmax{}, {tensor<float>({2}, {1000, 1000})});
  EXPECT_ELEMENTS(values<float>(y), 0.5f, 0.5f);
}

TEST(Softmax, HardmaxTakesTheFirstOfEquals) {
  const Tensor y = run(Softmax{.kind = SoftmaxKind::hardmax}, {tensor<float>({3}, {1, 2, 2})});
  EXPECT_ELEMENTS(values<float>(y), 0, 1, 0);
}

TEST(Softmax, RefusesAnAxisOutsideOfTheRank) {
  EXPECT_CONTAINS(error_of(Softmax{.axis = 2}, {tensor<float>({2, 2}, {0, 0, 0, 0})}),
                  "axis 2 is outside of rank 2");
}

}  // namespace
}  // namespace quern::testing
