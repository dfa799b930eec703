// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "graph/ops/data_dependent.h"
#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

TEST(TopK, LargestFirstWithTheirIndices) {
  const auto y = run_all(TopK{}, {tensor<float>({2, 3}, {1, 3, 2, 6, 4, 5}), ints({2})}, 2);
  EXPECT_EQ(y[0].shape(), Shape({2, 2}));
  EXPECT_ELEMENTS(values<float>(y[0]), 3, 2, 6, 5);
  EXPECT_ELEMENTS(values<std::int64_t>(y[1]), 1, 2, 0, 2);
}

TEST(TopK, SmallestAlongAnotherAxis) {
  const TopK op{.axis = 0, .largest = false};
  const auto y = run_all(op, {tensor<std::int8_t>({3, 2}, {1, 9, -3, 8, 2, 7}), ints32({2})}, 2);
  EXPECT_ELEMENTS(values<std::int8_t>(y[0]), -3, 7, 1, 8);
  EXPECT_ELEMENTS(values<std::int64_t>(y[1]), 1, 2, 0, 1);
}

TEST(TopK, OfEqualsTheLowerIndexComesFirst) {
  for (bool largest : {false, true}) {
    const auto y =
        run_all(TopK{.largest = largest}, {tensor<float>({4}, {1, 1, -0.f, 0.f}), ints({4})}, 2);
    const std::vector<std::int64_t> up{2, 3, 0, 1}, down{0, 1, 2, 3};
    EXPECT_EQ(values<std::int64_t>(y[1]), largest ? down : up);
  }
}

TEST(TopK, NaNIsTheGreatest) {
  const Tensor x = tensor<Half>({4}, {Half(1.f), Half(NAN), Half(INFINITY), Half(NAN)});
  EXPECT_ELEMENTS(values<std::int64_t>(run_all(TopK{}, {x, ints({4})}, 2)[1]), 1, 3, 2, 0);
  EXPECT_ELEMENTS(values<std::int64_t>(run_all(TopK{.largest = false}, {x, ints({4})}, 2)[1]), 0, 2,
                  1, 3);
}

TEST(TopK, NothingWanted) {
  EXPECT_EQ(run(TopK{}, {counting({3}), ints({0})}).shape(), Shape({0}));
  EXPECT_EQ(run(TopK{}, {counting({2, 0}), ints({0})}).shape(), Shape({2, 0}));
}

TEST(TopK, Infer) {
  EXPECT_EQ(infer_text(TopK{.axis = 1}, {f32({N, 5}), ints({2})}, 2), "f32[$0,2]; i64[$0,2]");
  EXPECT_EQ(infer_text(TopK{}, {f32({N, 5}), i64({1})}, 2), "f32[$0,?]; i64[$0,?]");
  EXPECT_EQ(infer_text(TopK{}, {f32({any}), ints({7})}, 1), "f32[7]");
  EXPECT_EQ(infer_text(TopK{}, {unranked(DType::f32), ints({7})}, 1), "f32[*]");
}

TEST(TopK, Refuses) {
  const Tensor x = counting({3});
  EXPECT_CONTAINS(error_of(TopK{}, {x, ints({4})}), "k is 4, axis 0 of input 0 (f32[3])");
  EXPECT_CONTAINS(error_of(TopK{}, {x, ints({-1})}), "k is -1");
  EXPECT_CONTAINS(error_of(TopK{}, {x, ints({1, 1})}), "one element");
  EXPECT_CONTAINS(error_of(TopK{.axis = 1}, {x, ints({1})}), "outside of rank 1");
  EXPECT_CONTAINS(error_of(TopK{}, {strings({1}, {"a"}), ints({1})}), "of numbers");
}

}  // namespace
}  // namespace quern::testing
