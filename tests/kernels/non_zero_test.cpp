// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "graph/ops/data_dependent.h"
#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

TEST(NonZero, CoordinatesInRowMajorOrder) {
  const Tensor y = run(NonZero{}, {tensor<bool>({2, 2}, {true, false, true, true})});
  EXPECT_EQ(y.shape(), Shape({2, 3}));
  EXPECT_ELEMENTS(values<std::int64_t>(y), 0, 1, 1, 0, 0, 1);
}

TEST(NonZero, WhatIsZero) {
  const auto found = [](const Tensor& x) { return values<std::int64_t>(run(NonZero{}, {x})); };
  EXPECT_ELEMENTS(found(tensor<float>({4}, {0, -0.f, NAN, 1e-45f})), 2, 3);
  EXPECT_ELEMENTS(found(tensor<Half>({2}, {Half(0.f), Half(-1.f)})), 1);
  EXPECT_THAT(found(strings({2}, {"", "0"})), ElementsAre(1));
}

TEST(NonZero, ScalarsAndEmptyTensors) {
  EXPECT_EQ(run(NonZero{}, {tensor<float>({}, {3})}).shape(), Shape({0, 1}));
  EXPECT_EQ(run(NonZero{}, {tensor<float>({}, {0})}).shape(), Shape({0, 0}));
  EXPECT_EQ(run(NonZero{}, {counting({0, 3})}).shape(), Shape({2, 0}));
  EXPECT_EQ(run(NonZero{}, {Tensor::zeros({DType::f32, {2, 3}}).value()}).shape(), Shape({2, 0}));
}

TEST(NonZero, Infer) {
  EXPECT_EQ(infer_text(NonZero{}, {f32({2, 3})}), "i64[2,?]");
  EXPECT_EQ(bound_text(NonZero{}, {f32({2, 3})}), "i64[2,6]");
  EXPECT_EQ(bound_text(NonZero{}, {f32({})}), "i64[0,1]");
  EXPECT_EQ(infer_text(NonZero{}, {unranked(DType::f32)}), "i64[?,?]");
}

}  // namespace
}  // namespace quern::testing
