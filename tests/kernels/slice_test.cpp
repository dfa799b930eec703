// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/slice.h"

#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

std::vector<float> slice(std::int64_t n, std::int64_t start, std::int64_t end, std::int64_t step) {
  return values<float>(
      run(Slice{}, {counting({n}), ints({start}), ints({end}), ints({0}), ints({step})}));
}

TEST(Slice, GoingUp) {
  EXPECT_ELEMENTS(slice(5, 1, 4, 1), 1, 2, 3);
  EXPECT_ELEMENTS(slice(5, 0, 5, 2), 0, 2, 4);
  EXPECT_ELEMENTS(slice(5, -3, -1, 1), 2, 3);
  EXPECT_THAT(slice(5, 3, 2, 1), IsEmpty());
}

TEST(Slice, GoingDown) {
  EXPECT_ELEMENTS(slice(5, 3, 0, -1), 3, 2, 1);
  EXPECT_ELEMENTS(slice(5, 4, -6, -2), 4, 2, 0);
  EXPECT_ELEMENTS(slice(5, -1, int_min, -1), 4, 3, 2, 1, 0);
  // The end clamps to -1 only after it was taken from the end of the dimension.
  EXPECT_THAT(slice(5, 3, -1, -1), IsEmpty());
}

TEST(Slice, BoundsFarOutside) {
  EXPECT_ELEMENTS(slice(3, int_min, int_max, 1), 0, 1, 2);
  EXPECT_ELEMENTS(slice(3, int_max, int_min, -1), 2, 1, 0);
  EXPECT_THAT(slice(3, 10, 20, 1), IsEmpty());
  EXPECT_ELEMENTS(slice(3, 10, 0, -1), 2, 1);
  EXPECT_ELEMENTS(slice(3, -10, int_min, -1), 0);
  EXPECT_ELEMENTS(slice(3, 1, int_max, int_max), 1);
  EXPECT_ELEMENTS(slice(3, 1, int_min, int_min), 1);
  EXPECT_THAT(slice(0, 0, 5, 1), IsEmpty());
  EXPECT_THAT(slice(0, -1, int_min, -1), IsEmpty());
}

TEST(Slice, SeveralAxesInAnyOrder) {
  const Tensor y =
      run(Slice{}, {counting({2, 3, 4}), ints({1, 0}), ints({4, 1}), ints({-1, 0}), ints({2, 1})});
  EXPECT_EQ(y.shape(), Shape({1, 3, 2}));
  EXPECT_ELEMENTS(values<float>(y), 1, 3, 5, 7, 9, 11);
}

TEST(Slice, WithoutAxesAndStepsFromTheFirstOn) {
  const Tensor y = run(Slice{}, {counting({2, 3}), ints32({1}), ints32({2})});
  EXPECT_ELEMENTS(values<float>(y), 3, 4, 5);
  EXPECT_THAT(string_values(run(Slice{}, {strings({3}, {"a", "b", "c"}), ints({1}), ints({9})})),
              ElementsAre("b", "c"));
}

TEST(Slice, AnOffsetInAnEmptyTensor) {
  EXPECT_EQ(run(Slice{}, {counting({0, 5}), ints({3}), ints({5}), ints({1})}).shape(),
            Shape({0, 2}));
}

TEST(Slice, OnWhatIsNotKnownYet) {
  const Tensor zero = ints({0}), all = ints({int_max}), axis = ints({0});
  EXPECT_EQ(infer_text(Slice{}, {f32({N, 4}), zero, all, axis}), "f32[$0,4]");
  EXPECT_EQ(infer_text(Slice{}, {f32({N, 4}), ints({-1}), ints({int_min}), axis, ints({-1})}),
            "f32[$0,4]");
  // No dimension has 2^62 elements.
  const auto up_to = [&](std::int64_t end) {
    return infer_text(Slice{}, {f32({N, 4}), zero, ints({end}), axis});
  };
  EXPECT_EQ(up_to(std::int64_t{1} << 62), "f32[$0,4]");
  EXPECT_EQ(up_to((std::int64_t{1} << 62) - 1), "f32[?,4]");
  EXPECT_EQ(infer_text(Slice{}, {f32({N, 4}), ints({1}), all, axis}), "f32[?,4]");
  EXPECT_EQ(infer_text(Slice{}, {f32({N, 4}), i64({1}), all, ints({1})}), "f32[$0,?]");
  EXPECT_EQ(infer_text(Slice{}, {f32({N, 4}), i64({1}), i64({1})}), "f32[?,4]");
  EXPECT_EQ(infer_text(Slice{}, {f32({N, 4}), zero, all, i64({1})}), "f32[?,?]");
  EXPECT_EQ(infer_text(Slice{}, {f32({N, 4}), i64({any}), i64({any})}), "f32[?,?]");
  EXPECT_EQ(infer_text(Slice{}, {unranked(DType::f32), zero, all}), "f32[*]");
}

TEST(Slice, Refuses) {
  const Tensor x = counting({3, 3});
  EXPECT_CONTAINS(error_of(Slice{}, {x, ints({0}), ints({1}), ints({0}), ints({0})}),
                  "a step is 0");
  EXPECT_CONTAINS(error_of(Slice{}, {x, ints({0, 0}), ints({1})}), "different lengths");
  EXPECT_CONTAINS(error_of(Slice{}, {x, ints({0}), ints({1}), ints({2})}), "outside of rank 2");
  EXPECT_CONTAINS(error_of(Slice{}, {x, ints({0, 0}), ints({1, 1}), ints({0, -2})}), "given twice");
  EXPECT_CONTAINS(error_of(Slice{}, {x, ints({0, 0, 0}), ints({1, 1, 1})}), "3 starts");
  EXPECT_CONTAINS(error_of(Slice{}, {x, counting({1}), ints({1})}), "must be i64 or i32");
}

}  // namespace
}  // namespace quern::testing
