// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/one_hot.h"

#include <cmath>

#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

const auto three = [] { return tensor<std::int64_t>({}, {3}); };
const auto off_on = [] { return tensor<float>({2}, {0, 1}); };

TEST(OneHot, ANewLastDimension) {
  const Tensor y = run(OneHot{}, {ints({1, -1, 3, -4}), three(), tensor<float>({2}, {5, 9})});
  EXPECT_EQ(y.shape(), Shape({4, 3}));
  // 3 and -4 are out of range: off everywhere.
  EXPECT_ELEMENTS(values<float>(y), 5, 9, 5, 5, 5, 9, 5, 5, 5, 5, 5, 5);
}

TEST(OneHot, AlongAnyAxis) {
  const Tensor y = run(OneHot{.axis = 0}, {ints({0, 2}), three(), off_on()});
  EXPECT_EQ(y.shape(), Shape({3, 2}));
  EXPECT_ELEMENTS(values<float>(y), 1, 0, 0, 0, 0, 1);
  EXPECT_EQ(run(OneHot{.axis = -2}, {ints({0, 2}), three(), off_on()}).shape(), Shape({3, 2}));
  EXPECT_EQ(run(OneHot{}, {tensor<std::int64_t>({}, {1}), three(), off_on()}).shape(), Shape({3}));
}

TEST(OneHot, FloatsTruncate) {
  const Tensor y = run(OneHot{}, {tensor<float>({3}, {1.9f, -0.5f, INFINITY}),
                                  tensor<float>({1}, {2.5f}), strings({2}, {"-", "x"})});
  EXPECT_THAT(string_values(y), ElementsAre("-", "x", "x", "-", "-", "-"));
}

TEST(OneHot, ADepthOfZero) {
  EXPECT_EQ(run(OneHot{}, {ints({1}), tensor<std::int32_t>({}, {0}), off_on()}).shape(),
            Shape({1, 0}));
}

TEST(OneHot, Infer) {
  EXPECT_EQ(infer_text(OneHot{.axis = 1}, {i64({N, M}), three(), off_on()}), "f32[$0,3,$1]");
  EXPECT_EQ(infer_text(OneHot{}, {i64({N}), i64({}), off_on()}), "f32[$0,?]");
  EXPECT_EQ(infer_text(OneHot{}, {unranked(DType::i64), three(), off_on()}), "f32[*]");
}

TEST(OneHot, Refuses) {
  EXPECT_CONTAINS(error_of(OneHot{}, {ints({1}), tensor<std::int64_t>({}, {-1}), off_on()}),
                  "depth is negative");
  EXPECT_CONTAINS(error_of(OneHot{}, {ints({1}), ints({1, 2}), off_on()}), "one element");
  EXPECT_CONTAINS(error_of(OneHot{}, {ints({1}), three(), counting({3})}), "off and on");
  EXPECT_CONTAINS(error_of(OneHot{}, {ints({1}), three(), counting({})}), "must have rank 1");
  EXPECT_CONTAINS(error_of(OneHot{.axis = 2}, {ints({1}), three(), off_on()}), "outside of rank 2");
  EXPECT_CONTAINS(error_of(OneHot{}, {strings({1}, {"1"}), three(), off_on()}), "must be a number");
}

}  // namespace
}  // namespace quern::testing
