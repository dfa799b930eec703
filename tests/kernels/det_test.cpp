// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "graph/ops/inverse.h"
#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::IsNan;

TEST(Det, OfEachMatrix) {
  const Tensor y = run(Det{}, {tensor<float>({3, 2, 2}, {1, 2, 3, 4, 1, 2, 2, 1, 1, 3, 3, 1})});
  EXPECT_EQ(y.shape(), Shape({3}));
  EXPECT_THAT(values<float>(y), ElementsAre(FloatEq(-2), -3, -8));
}

TEST(Det, RowExchangesChangeTheSign) {
  const Tensor y = run(Det{}, {tensor<double>({3, 3}, {0, 1, 0, 0, 0, 1, 1, 0, 0})});
  EXPECT_EQ(y.shape(), Shape());
  EXPECT_ELEMENTS(values<double>(y), 1);
  EXPECT_ELEMENTS(values<double>(run(Det{}, {tensor<double>({2, 2}, {0, 2, 3, 0})})), -6);
}

TEST(Det, SingularEmptyAndNan) {
  EXPECT_ELEMENTS(values<float>(run(Det{}, {tensor<float>({2, 2}, {1, 2, 2, 4})})), 0);
  EXPECT_ELEMENTS(values<float>(run(Det{}, {tensor<float>({0, 0}, {})})), 1);
  EXPECT_EQ(run(Det{}, {tensor<float>({0, 2, 2}, {})}).shape(), Shape({0}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(values<float>(run(Det{}, {tensor<float>({2, 2}, {nan, 1, 1, 1})})),
              ElementsAre(IsNan()));
}

TEST(Det, SixteenBitFloats) {
  const Tensor x = tensor<Half>({2, 2}, {Half(3.0f), Half(1.0f), Half(1.0f), Half(3.0f)});
  EXPECT_THAT(values<Half>(run(Det{}, {x})), ElementsAre(8.0f));
}

TEST(Det, RefusesWhatIsNotSquare) {
  EXPECT_CONTAINS(error_of(Det{}, {tensor<float>({2, 3}, {0, 0, 0, 0, 0, 0})}),
                  "must hold square matrices");
  EXPECT_CONTAINS(error_of(Det{}, {tensor<float>({2}, {0, 0})}), "must hold square matrices");
  EXPECT_CONTAINS(error_of(Det{}, {tensor<std::int32_t>({1, 1}, {0})}), "must be of f32");
}

}  // namespace
}  // namespace quern::testing
