// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/cumulative.h"

#include <limits>

#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsNan;

Tensor axis(std::int64_t a) {
  return tensor<std::int64_t>({}, {a});
}

std::vector<float> along(const Cumulative& op, std::initializer_list<float> x) {
  const Shape shape = {static_cast<std::int64_t>(x.size())};
  return values<float>(run(op, {tensor<float>(shape, x), axis(0)}));
}

TEST(Cumulative, Sums) {
  EXPECT_ELEMENTS(along({}, {1, 2, 3}), 1, 3, 6);
  EXPECT_ELEMENTS(along({.exclusive = true}, {1, 2, 3}), 0, 1, 3);
  EXPECT_ELEMENTS(along({.reverse = true}, {1, 2, 3}), 6, 5, 3);
  EXPECT_ELEMENTS(along({.exclusive = true, .reverse = true}, {1, 2, 3}), 5, 3, 0);
}

// The example of the specification.
TEST(Cumulative, Products) {
  constexpr auto prod = CumulativeKind::prod;
  EXPECT_ELEMENTS(along({prod}, {1, 2, 3}), 1, 2, 6);
  EXPECT_ELEMENTS(along({prod, true}, {1, 2, 3}), 1, 1, 2);
  EXPECT_ELEMENTS(along({prod, false, true}, {1, 2, 3}), 6, 6, 3);
  EXPECT_ELEMENTS(along({prod, true, true}, {1, 2, 3}), 6, 3, 1);
}

TEST(Cumulative, AlongAnyAxis) {
  const Tensor x = tensor<std::int32_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_ELEMENTS(values<std::int32_t>(run(Cumulative{}, {x, axis(0)})), 1, 2, 3, 4, 6, 8, 10, 12);
  EXPECT_ELEMENTS(values<std::int32_t>(run(Cumulative{}, {x, axis(-2)})), 1, 2, 4, 6, 5, 6, 12, 14);
  EXPECT_ELEMENTS(values<std::int32_t>(run(Cumulative{}, {x, tensor<std::int32_t>({1}, {2})})), 1,
                  3, 3, 7, 5, 11, 7, 15);
}

TEST(Cumulative, IntegersWrapFloatsRoundOnce) {
  EXPECT_ELEMENTS(
      (values<std::int8_t>(run(Cumulative{}, {tensor<std::int8_t>({3}, {127, 1, 1}), axis(0)}))),
      127, -128, -127);
  const Half one(1.0f);
  EXPECT_THAT(
      values<Half>(run(Cumulative{}, {tensor<Half>({3}, {Half(2048.0f), one, one}), axis(0)})),
      ElementsAre(2048.0f, 2048.0f, 2050.0f));
}

TEST(Cumulative, NanStaysFromThenOn) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(along({}, {1, nan, 3}), ElementsAre(1, IsNan(), IsNan()));
}

TEST(Cumulative, ScalarsAndEmptyTensors) {
  EXPECT_ELEMENTS(values<float>(run(Cumulative{}, {tensor<float>({}, {3}), axis(0)})), 3);
  EXPECT_THAT(along({}, {}), IsEmpty());
  EXPECT_EQ(run(Cumulative{}, {tensor<float>({0, 2}, {}), axis(1)}).shape(), Shape({0, 2}));
}

TEST(Cumulative, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<float>({2, 1}, {1, 2});
  EXPECT_CONTAINS(error_of(Cumulative{}, {x, axis(2)}), "axis 2 is outside of rank 2");
  EXPECT_CONTAINS(error_of(Cumulative{}, {x, tensor<std::int64_t>({2}, {0, 1})}),
                  "must be one integer");
  EXPECT_CONTAINS(error_of(Cumulative{}, {x, x}), "must be one integer");
  EXPECT_CONTAINS(error_of(Cumulative{}, {tensor<bool>({1}, {true}), axis(0)}),
                  "must be of numbers");
}

}  // namespace
}  // namespace quern::testing
