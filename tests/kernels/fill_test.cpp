// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/fill.h"

#include <bit>

#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

TEST(ConstantOfShape, FillsWithTheBits) {
  const Op ones{ConstantOfShape{.dtype = DType::f32, .bits = std::bit_cast<std::uint32_t>(1.5f)}};
  EXPECT_ELEMENTS(values<float>(run(ones, {ints({1, 2})})), 1.5f, 1.5f);
  const Op i16{ConstantOfShape{.dtype = DType::i16, .bits = 0xfffe}};
  EXPECT_ELEMENTS(values<std::int16_t>(run(i16, {ints({2})})), -2, -2);
  const Op truth{ConstantOfShape{.dtype = DType::boolean, .bits = 0x80}};
  EXPECT_ELEMENTS(values<std::uint8_t>(run(truth, {ints({1})})), 1);
}

TEST(ConstantOfShape, ScalarAndEmpty) {
  EXPECT_EQ(run(ConstantOfShape{}, {ints({})}).shape(), Shape());
  EXPECT_EQ(run(ConstantOfShape{}, {ints({0, 3})}).shape(), Shape({0, 3}));
  EXPECT_EQ(infer_text(ConstantOfShape{}, {i64({2})}), "f32[?,?]");
  EXPECT_EQ(infer_text(ConstantOfShape{}, {i64({any})}), "f32[*]");
}

TEST(ConstantOfShape, Refuses) {
  EXPECT_CONTAINS(error_of(ConstantOfShape{}, {ints({2, -1})}), "negative entry");
  EXPECT_CONTAINS(error_of(ConstantOfShape{.dtype = DType::string}, {ints({2})}), "strings");
  EXPECT_CONTAINS(infer_text(ConstantOfShape{}, {i64({std::int64_t{1} << 40})}), "ranks above 16");
  // Passes inference, but nobody gets the memory.
  EXPECT_CONTAINS(error_of(ConstantOfShape{}, {ints({int_max, int_max})}),
                  "not a size that a tensor can have");
}

template <class T>
Tensor scalar(T v) {
  return tensor<T>({}, {v});
}
template <class T>
std::vector<T> range(T start, T limit, T delta) {
  return values<T>(run(Range{}, {scalar<T>(start), scalar<T>(limit), scalar<T>(delta)}));
}

TEST(Range, Integers) {
  EXPECT_THAT(range<std::int32_t>(1, 8, 3), ElementsAre(1, 4, 7));
  EXPECT_THAT(range<std::int32_t>(10, 4, -2), ElementsAre(10, 8, 6));
  EXPECT_THAT(range<std::int64_t>(3, 3, 1), IsEmpty());
  EXPECT_THAT(range<std::int64_t>(3, 5, -1), IsEmpty());
  EXPECT_THAT(range<std::uint8_t>(250, 255, 2), ElementsAre(250, 252, 254));
}

TEST(Range, IntegersAtTheirLimits) {
  EXPECT_THAT(range<std::int64_t>(int_min, int_max, int_max),
              ElementsAre(int_min, -1, int_max - 1));
  EXPECT_THAT(range<std::int64_t>(int_max, int_min, int_min), ElementsAre(int_max, -1));
  EXPECT_THAT(range<std::uint64_t>(0, ~std::uint64_t{0}, std::uint64_t{1} << 63),
              ElementsAre(0, std::uint64_t{1} << 63));
  EXPECT_THAT(range<std::int8_t>(-128, 127, 127), ElementsAre(-128, -1, 126));
}

TEST(Range, Floats) {
  EXPECT_THAT(range<float>(1, 5, 2), ElementsAre(1, 3));
  EXPECT_THAT(range<float>(0, 1, 0.25f), ElementsAre(0, 0.25f, 0.5f, 0.75f));
  EXPECT_THAT(range<double>(1, -1, -0.75), ElementsAre(1, 0.25, -0.5));
  EXPECT_THAT(range<float>(0, -1, 1), IsEmpty());
  EXPECT_EQ(range<Half>(Half(0.f), Half(3.f), Half(1.f)).size(), 3u);
}

TEST(Range, CountsOnlyWhatItKnows) {
  const ValueType f = f32({});
  EXPECT_EQ(infer_text(Range{}, {f, f, f}), "f32[?]");
  EXPECT_EQ(infer_text(Range{}, {scalar<float>(0), f, scalar<float>(0)}), "f32[?]");
  // [1] is taken for a scalar.
  EXPECT_EQ(run(Range{}, {ints({0}), ints({4}), ints({2})}).shape(), Shape({2}));
}

TEST(Range, Refuses) {
  const auto zero = scalar<float>(0);
  const auto one = scalar<float>(1);
  EXPECT_CONTAINS(error_of(Range{}, {zero, one, zero}), "delta must not be 0");
  EXPECT_CONTAINS(error_of(Range{}, {scalar<std::int32_t>(0), scalar<std::int32_t>(1),
                                     scalar<std::int32_t>(0)}),
                  "delta must not be 0");
  EXPECT_CONTAINS(error_of(Range{}, {zero, scalar<float>(NAN), one}), "finite");
  EXPECT_CONTAINS(error_of(Range{}, {zero, scalar<float>(INFINITY), one}), "finite");
  EXPECT_CONTAINS(error_of(Range{}, {zero, one, scalar<double>(1)}), "one element type");
  EXPECT_CONTAINS(error_of(Range{}, {ints({1, 2}), ints({1}), ints({1})}), "one element");
  EXPECT_CONTAINS(error_of(Range{}, {scalar<bool>(false), scalar<bool>(true), scalar<bool>(true)}),
                  "must be a number");
  EXPECT_CONTAINS(
      error_of(Range{}, {scalar<double>(0), scalar<double>(1e300), scalar<double>(1e-300)}),
      "not a size that a tensor can have");
}

TEST(EyeLike, PutsOnesOnTheDiagonal) {
  const Tensor x = counting({2, 3});
  EXPECT_ELEMENTS(values<float>(run(EyeLike{}, {x})), 1, 0, 0, 0, 1, 0);
  EXPECT_ELEMENTS(values<float>(run(EyeLike{.k = 1}, {x})), 0, 1, 0, 0, 0, 1);
  EXPECT_ELEMENTS(values<float>(run(EyeLike{.k = -1}, {x})), 0, 0, 0, 1, 0, 0);
  for (std::int64_t k : {std::int64_t{3}, std::int64_t{-2}, int_min, int_max})
    EXPECT_ELEMENTS(values<float>(run(EyeLike{.k = k}, {x})), 0, 0, 0, 0, 0, 0);
}

TEST(EyeLike, OfAnotherType) {
  const Tensor y = run(EyeLike{.dtype = DType::f16}, {counting({1, 1})});
  EXPECT_ELEMENTS(values<std::uint16_t>(y), 0x3c00);
  EXPECT_EQ(infer_text(EyeLike{.dtype = DType::i32}, {unranked(DType::f32)}), "i32[?,?]");
  EXPECT_EQ(infer_text(EyeLike{}, {f32({N, N})}), "f32[$0,$0]");
  EXPECT_CONTAINS(error_of(EyeLike{}, {counting({2})}), "must have rank 2");
  EXPECT_CONTAINS(error_of(EyeLike{.dtype = DType::string}, {counting({1, 1})}), "strings");
}

}  // namespace
}  // namespace quern::testing
