// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/split.h"

#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

TEST(Split, GivenSizes) {
  const auto y = run_all(Split{.axis = 1}, {counting({2, 3}), ints({1, 2})}, 2);
  EXPECT_ELEMENTS(values<float>(y[0]), 0, 3);
  EXPECT_ELEMENTS(values<float>(y[1]), 1, 2, 4, 5);
}

TEST(Split, SizesOfZero) {
  const auto y = run_all(Split{.axis = -1}, {counting({2}), ints({0, 2, 0})}, 3);
  EXPECT_EQ(y[0].shape(), Shape({0}));
  EXPECT_ELEMENTS(values<float>(y[1]), 0, 1);
}

TEST(Split, EqualPartsWithASmallerLastOne) {
  const auto y = run_all(Split{}, {counting({7})}, 3);
  EXPECT_ELEMENTS(values<float>(y[0]), 0, 1, 2);
  EXPECT_ELEMENTS(values<float>(y[2]), 6);
  const auto z = run_all(Split{}, {counting({5})}, 4);  // 2, 2, 1 and nothing
  EXPECT_ELEMENTS(values<float>(z[2]), 4);
  EXPECT_EQ(z[3].shape(), Shape({0}));
}

TEST(Split, Infer) {
  EXPECT_EQ(infer_text(Split{}, {f32({N, 2})}, 2), "f32[?,2]; f32[?,2]");
  EXPECT_EQ(infer_text(Split{}, {f32({N, 2})}, 1), "f32[$0,2]");
  EXPECT_EQ(infer_text(Split{}, {f32({N, 2}), ints({1, 3})}, 2), "f32[1,2]; f32[3,2]");
  EXPECT_EQ(infer_text(Split{.axis = 1}, {f32({N, 2}), i64({2})}, 2), "f32[$0,?]; f32[$0,?]");
  EXPECT_EQ(infer_text(Split{}, {unranked(DType::f32)}, 2), "f32[*]; f32[*]");
}

TEST(Split, Refuses) {
  EXPECT_CONTAINS(error_of(Split{}, {counting({3}), ints({1, 1})}, 2),
                  "the parts have 2 elements, the axis has 3");
  EXPECT_CONTAINS(error_of(Split{}, {counting({3}), ints({4, -1})}, 2), "a part of -1");
  EXPECT_CONTAINS(error_of(Split{}, {counting({3}), ints({3})}, 2), "1 sizes for 2 outputs");
  EXPECT_CONTAINS(error_of(Split{.axis = 1}, {counting({3})}, 2), "outside of rank 1");
  EXPECT_CONTAINS(error_of(Split{}, {counting({3}), ints({int_max, int_max})}, 2),
                  "the axis has 3");
}

}  // namespace
}  // namespace quern::testing
