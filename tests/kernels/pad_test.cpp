// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/pad.h"

#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

std::vector<float> padded(PadMode mode, std::int64_t n, std::int64_t begin, std::int64_t end) {
  return values<float>(run(Pad{.mode = mode}, {counting({n}), ints({begin, end})}));
}

TEST(Pad, WithAValue) {
  const Tensor y =
      run(Pad{}, {tensor<float>({1, 2}, {1, 2}), ints({1, 0, 0, 1}), tensor<float>({}, {9})});
  EXPECT_EQ(y.shape(), Shape({2, 3}));
  EXPECT_ELEMENTS(values<float>(y), 9, 9, 9, 1, 2, 9);
  EXPECT_ELEMENTS(padded(PadMode::constant, 2, 1, 1), 0, 0, 1, 0);
  EXPECT_THAT(string_values(run(Pad{}, {strings({1}, {"a"}), ints({1, 1}), strings({1}, {"-"})})),
              ElementsAre("-", "a", "-"));
  EXPECT_THAT(string_values(run(Pad{}, {strings({1}, {"a"}), ints({0, 1})})), ElementsAre("a", ""));
}

TEST(Pad, Edge) {
  EXPECT_ELEMENTS(padded(PadMode::edge, 3, 2, 1), 0, 0, 0, 1, 2, 2);
}

TEST(Pad, ReflectWithoutTheEdgeAndAsOftenAsItTakes) {
  EXPECT_ELEMENTS(padded(PadMode::reflect, 3, 2, 1), 2, 1, 0, 1, 2, 1);
  EXPECT_ELEMENTS(padded(PadMode::reflect, 2, 3, 3), 1, 0, 1, 0, 1, 0, 1, 0);
  EXPECT_ELEMENTS(padded(PadMode::reflect, 3, 0, 6), 0, 1, 2, 1, 0, 1, 2, 1, 0);
  EXPECT_ELEMENTS(padded(PadMode::reflect, 1, 1, 2), 0, 0, 0, 0);
}

TEST(Pad, WrapIsPeriodic) {
  EXPECT_ELEMENTS(padded(PadMode::wrap, 3, 1, 2), 2, 0, 1, 2, 0, 1);
  EXPECT_ELEMENTS(padded(PadMode::wrap, 3, 4, 4), 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0);
}

TEST(Pad, NegativePadsCropFirst) {
  EXPECT_ELEMENTS(padded(PadMode::constant, 4, -1, -2), 1);
  EXPECT_ELEMENTS(padded(PadMode::constant, 3, -1, 2), 1, 2, 0, 0);
  EXPECT_ELEMENTS(padded(PadMode::reflect, 3, -1, 2), 1, 2, 1, 2);
  EXPECT_ELEMENTS(padded(PadMode::edge, 3, 1, -2), 0, 0);
  EXPECT_ELEMENTS(padded(PadMode::wrap, 3, -1, 3), 1, 2, 1, 2, 1);
  EXPECT_ELEMENTS(padded(PadMode::constant, 2, -2, 1), 0);
  EXPECT_THAT(padded(PadMode::edge, 2, -1, -1), IsEmpty());
}

TEST(Pad, OnlySomeAxes) {
  const Tensor y = run(Pad{}, {counting({1, 2}), ints({1, 0}), absent(), ints({-1})});
  EXPECT_ELEMENTS(values<float>(y), 0, 0, 1);
  EXPECT_EQ(run(Pad{}, {counting({1, 2}), ints({}), absent(), ints({})}).shape(), Shape({1, 2}));
  EXPECT_ELEMENTS(values<float>(run(Pad{}, {tensor<float>({}, {3}), ints({})})), 3);
}

TEST(Pad, OfAnEmptyDimension) {
  EXPECT_ELEMENTS(padded(PadMode::constant, 0, 1, 1), 0, 0);
  EXPECT_THAT(padded(PadMode::reflect, 0, 0, 0), IsEmpty());
  EXPECT_CONTAINS(error_of(Pad{.mode = PadMode::edge}, {counting({0}), ints({1, 0})}),
                  "mode edge has nothing to take from in dimension 0");
}

TEST(Pad, Infer) {
  EXPECT_EQ(infer_text(Pad{}, {f32({N, any, 3}), ints({0, 1, 2, 0, 1, 2})}), "f32[$0,?,7]");
  EXPECT_EQ(infer_text(Pad{}, {f32({N, 3}), i64({4})}), "f32[?,?]");
  EXPECT_EQ(infer_text(Pad{}, {f32({N, 3}), ints({1, 1}), Arg(), i64({1})}), "f32[?,?]");
  EXPECT_EQ(infer_text(Pad{}, {unranked(DType::f32), ints({1, 1})}), "f32[*]");
  EXPECT_EQ(infer_text(Pad{}, {f32({3}), ints({int_max, 1})}), "f32[9223372036854775807]");
}

TEST(Pad, Refuses) {
  const Tensor x = counting({2});
  EXPECT_CONTAINS(error_of(Pad{}, {x, ints({-3, 5})}), "crop more than dimension 0");
  EXPECT_CONTAINS(error_of(Pad{}, {x, ints({int_min, int_min})}), "crop more");
  EXPECT_CONTAINS(error_of(Pad{}, {x, ints({1, 1, 1})}), "3 pads, wants two for each of 1");
  EXPECT_CONTAINS(error_of(Pad{}, {x, ints({1, 1}), ints({1})}), "one element type");
  EXPECT_CONTAINS(error_of(Pad{}, {x, ints({1, 1}), counting({2})}), "one element");
  EXPECT_CONTAINS(error_of(Pad{}, {x, ints({1, 1}), absent(), ints({1})}), "outside of rank 1");
  EXPECT_CONTAINS(error_of(Pad{}, {x, counting({2})}), "must be i64 or i32");
}

}  // namespace
}  // namespace quern::testing
