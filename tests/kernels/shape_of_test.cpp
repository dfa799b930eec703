// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/shape_of.h"

#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

TEST(ShapeOf, GivesTheDimensions) {
  EXPECT_ELEMENTS(values<std::int64_t>(run(ShapeOf{}, {counting({2, 0, 4})})), 2, 0, 4);
  EXPECT_EQ(run(ShapeOf{}, {counting({})}).shape(), Shape({0}));
}

TEST(ShapeOf, StartAndEndAreClamped) {
  const Tensor x = counting({2, 3, 4});
  const auto part = [&](std::int64_t start, std::optional<std::int64_t> end) {
    return values<std::int64_t>(run(ShapeOf{.start = start, .end = end}, {x}));
  };
  EXPECT_ELEMENTS(part(1, std::nullopt), 3, 4);
  EXPECT_ELEMENTS(part(-2, -1), 3);
  EXPECT_ELEMENTS(part(int_min, int_max), 2, 3, 4);
  EXPECT_THAT(part(2, 1), IsEmpty());
  EXPECT_THAT(part(5, int_min), IsEmpty());
}

TEST(ShapeOf, KnowsItsOwnLength) {
  EXPECT_EQ(infer_text(ShapeOf{}, {f32({N, any})}), "i64[2]");
  EXPECT_EQ(infer_text(ShapeOf{.start = 1}, {f32({N, any, 3})}), "i64[2]");
  EXPECT_EQ(infer_text(ShapeOf{}, {unranked(DType::string)}), "i64[?]");
}

TEST(SizeOf, CountsElements) {
  const Tensor y = run(SizeOf{}, {counting({2, 3})});
  EXPECT_EQ(y.shape(), Shape());
  EXPECT_ELEMENTS(values<std::int64_t>(y), 6);
  EXPECT_ELEMENTS(values<std::int64_t>(run(SizeOf{}, {counting({2, 0})})), 0);
  EXPECT_EQ(infer_text(SizeOf{}, {unranked(DType::f32)}), "i64[]");
}

}  // namespace
}  // namespace quern::testing
