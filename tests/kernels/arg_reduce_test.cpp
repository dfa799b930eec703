// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "graph/ops/reduce.h"
#include "kernels/cpu/arg_reduce_rows.h"
#include "tests/expect.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::int64_t> positions(const ArgReduce& op, const Tensor& x) {
  return values<std::int64_t>(run(op, {x}));
}

TEST(ArgReduce, AlongEachAxis) {
  const Tensor x = tensor<float>({2, 3}, {3, 1, 2, 0, 5, 4});
  EXPECT_ELEMENTS(positions({.axis = 0}, x), 0, 1, 1);
  EXPECT_ELEMENTS(positions({.axis = -1}, x), 0, 1);
  EXPECT_ELEMENTS(positions({.is_max = false, .axis = 1}, x), 1, 0);
  EXPECT_EQ(run(ArgReduce{.axis = 1}, {x}).shape(), Shape({2, 1}));
  EXPECT_EQ(run(ArgReduce{.axis = 1, .keepdims = false}, {x}).shape(), Shape({2}));
}

TEST(ArgReduce, FirstOrLastOfEquals) {
  const Tensor x = tensor<std::int32_t>({4}, {7, 1, 7, 1});
  EXPECT_ELEMENTS(positions({}, x), 0);
  EXPECT_ELEMENTS(positions({.select_last_index = true}, x), 2);
  EXPECT_ELEMENTS(positions({.is_max = false}, x), 1);
  EXPECT_ELEMENTS(positions({.is_max = false, .select_last_index = true}, x), 3);
}

TEST(ArgReduce, NanIsBeyondEveryNumber) {
  const Tensor x = tensor<float>({5}, {1, nan, 9, nan, -9});
  for (const bool is_max : {true, false}) {
    EXPECT_ELEMENTS(positions({.is_max = is_max}, x), 1);
    EXPECT_ELEMENTS(positions({.is_max = is_max, .select_last_index = true}, x), 3);
  }
}

TEST(ArgReduce, ExtremesOfTypes) {
  EXPECT_ELEMENTS(positions({}, tensor<std::uint64_t>({2}, {1, UINT64_MAX})), 1);
  EXPECT_ELEMENTS(positions({.is_max = false}, tensor<std::int8_t>({3}, {0, -128, 127})), 1);
  EXPECT_ELEMENTS(positions({}, tensor<Half>({2}, {Half(-2.0f), Half(-1.0f)})), 1);
}

TEST(ArgReduce, ScalarsAndEmptyTensors) {
  EXPECT_ELEMENTS(positions({}, tensor<float>({}, {3})), 0);
  EXPECT_THAT(positions({.axis = 1}, tensor<float>({0, 2}, {})), IsEmpty());
  EXPECT_CONTAINS(error_of(ArgReduce{.axis = 0}, {tensor<float>({0, 2}, {})}),
                  "has no elements along axis 0");
}

TEST(ArgReduce, RefusesWhatDoesNotFit) {
  EXPECT_CONTAINS(error_of(ArgReduce{.axis = 2}, {tensor<float>({1, 1}, {0})}),
                  "axis 2 is outside of rank 2");
  EXPECT_CONTAINS(error_of(ArgReduce{}, {tensor<bool>({1}, {true})}), "must be of numbers");
}

// Whole numbers, so that there are equals, with a NaN here and there.
TEST(ArgReduceRows, FindsWhatTheReferenceFinds) {
  struct Case {
    Shape shape;
    std::int64_t axis;
  };
  const Case cases[] = {
      {{7}, 0},          {{300, 5}, 1},  {{40, 1000}, -1}, {{2, 21, 40, 30}, 1}, {{2, 3, 700}, 1},
      {{5, 4, 3, 2}, 0}, {{6, 1, 9}, 1}, {{3, 7, 1}, 1},   {{1, 2, 2, 1, 4}, 2}};
  RandomTensors random(7);
  for (const Case& c : cases)
    for (const int nan_every : {0, 13, 2}) {
      Tensor x = random.integers<float>(c.shape, -3, 3);
      auto* p = reinterpret_cast<float*>(x.mutable_data());
      for (std::int64_t i = 0; nan_every && i < c.shape.elements(); i += nan_every) p[i] = nan;
      for (const bool is_max : {true, false})
        for (const bool last : {true, false})
          for (const int threads : {1, 2}) {
            const ArgReduce op{.is_max = is_max, .axis = c.axis, .select_last_index = last};
            const SelectedRun got =
                run_selected(op, {x}, {}, 1, threads, std::nullopt, select_arg_reduce_rows);
            ASSERT_FALSE(got.implementation.empty());
            EXPECT_TRUE(same_bytes(got.outputs[0], run(op, {x})))
                << c.shape.text() << " along " << c.axis << ", a NaN every " << nan_every;
          }
    }
}

}  // namespace
}  // namespace quern::testing
