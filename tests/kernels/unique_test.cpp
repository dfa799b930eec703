// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "graph/ops/data_dependent.h"
#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

TEST(Unique, Sorted) {
  const auto y = run_all(Unique{}, {tensor<float>({6}, {2, 1, 1, 3, 4, 3})}, 4);
  EXPECT_ELEMENTS(values<float>(y[0]), 1, 2, 3, 4);
  EXPECT_ELEMENTS(values<std::int64_t>(y[1]), 1, 0, 3, 4);
  EXPECT_ELEMENTS(values<std::int64_t>(y[2]), 1, 0, 0, 2, 3, 2);
  EXPECT_ELEMENTS(values<std::int64_t>(y[3]), 2, 1, 2, 1);
}

TEST(Unique, InTheOrderOfFirstOccurrence) {
  const auto y = run_all(Unique{.sorted = false}, {strings({2, 2}, {"b", "a", "c", "b"})}, 4);
  EXPECT_THAT(string_values(y[0]), ElementsAre("b", "a", "c"));
  EXPECT_ELEMENTS(values<std::int64_t>(y[1]), 0, 1, 2);
  EXPECT_ELEMENTS(values<std::int64_t>(y[2]), 0, 1, 2, 0);
  EXPECT_ELEMENTS(values<std::int64_t>(y[3]), 2, 1, 1);
}

TEST(Unique, SlicesAlongAnAxis) {
  const Tensor x = tensor<std::int32_t>({2, 4}, {1, 0, 1, 0, 5, 7, 5, 6});
  const auto y = run_all(Unique{.axis = -1}, {x}, 3);
  EXPECT_EQ(y[0].shape(), Shape({2, 3}));
  EXPECT_ELEMENTS(values<std::int32_t>(y[0]), 0, 0, 1, 6, 7, 5);
  EXPECT_ELEMENTS(values<std::int64_t>(y[1]), 3, 1, 0);
  EXPECT_ELEMENTS(values<std::int64_t>(y[2]), 2, 1, 2, 0);
}

TEST(Unique, NaNEqualsNaNAndIsTheGreatest) {
  const auto y = run_all(Unique{}, {tensor<float>({4}, {NAN, INFINITY, NAN, -0.f})}, 2);
  EXPECT_ELEMENTS(values<std::int64_t>(y[1]), 3, 1, 0);
}

TEST(Unique, NothingAndOne) {
  const auto y = run_all(Unique{}, {counting({0})}, 4);
  for (const Tensor& t : y) EXPECT_EQ(t.shape(), Shape({0}));
  EXPECT_EQ(run(Unique{}, {tensor<float>({}, {3})}).shape(), Shape({1}));
  EXPECT_EQ(run(Unique{.axis = 0}, {counting({3, 0})}).shape(), Shape({1, 0}));
}

TEST(Unique, Infer) {
  EXPECT_EQ(infer_text(Unique{}, {f32({N, 2})}, 4), "f32[?]; i64[?]; i64[?]; i64[?]");
  EXPECT_EQ(bound_text(Unique{}, {f32({3, 2})}, 4), "f32[6]; i64[6]; i64[6]; i64[6]");
  EXPECT_EQ(infer_text(Unique{.axis = 1}, {f32({N, 5})}, 3), "f32[$0,?]; i64[?]; i64[5]");
  EXPECT_EQ(bound_text(Unique{.axis = 0}, {f32({3, 2})}, 2), "f32[3,2]; i64[3]");
  EXPECT_EQ(infer_text(Unique{.axis = 0}, {unranked(DType::f32)}, 1), "f32[*]");
  EXPECT_CONTAINS(error_of(Unique{.axis = 1}, {counting({2})}), "outside of rank 1");
}

}  // namespace
}  // namespace quern::testing
