// SPDX-License-Identifier: Apache-2.0
#include "tools/compare.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"

namespace quern::tools {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

template <class T>
Tensor tensor(DType dtype, const std::vector<T>& v, Shape shape = {}) {
  if (shape.rank() == 0) shape = Shape{static_cast<std::int64_t>(v.size())};
  return Tensor::from_values<T>(dtype, shape, v);
}
Tensor floats(const std::vector<float>& v, Shape shape = {}) {
  return tensor(DType::f32, v, shape);
}

Comparison judge(const Tensor& got, const Tensor& wanted, const Criterion& c = {}) {
  return compare(got.view(), wanted.view(), c);
}

TEST(Compare, ToleranceIsAbsolutePlusRelative) {
  EXPECT_TRUE(judge(floats({1.0009F}), floats({1})).ok);
  EXPECT_FALSE(judge(floats({1.0011F}), floats({1})).ok);
  EXPECT_TRUE(judge(floats({0.9e-7F}), floats({0})).ok);
  EXPECT_FALSE(judge(floats({1.1e-7F}), floats({0})).ok);
  EXPECT_TRUE(judge(floats({1.5F}), floats({1}), {.atol = 0.5}).ok);
}

TEST(Compare, NotANumberAndInfinityEqualThemselves) {
  EXPECT_TRUE(
      judge(floats({nan_value, infinity, -infinity}), floats({nan_value, infinity, -infinity})).ok);
  EXPECT_FALSE(judge(floats({nan_value}), floats({1})).ok);
  EXPECT_FALSE(judge(floats({1}), floats({nan_value})).ok);
  EXPECT_FALSE(judge(floats({infinity}), floats({-infinity})).ok);
  EXPECT_FALSE(judge(floats({1e38F}), floats({infinity})).ok);
  EXPECT_FALSE(judge(floats({infinity}), floats({1e38F})).ok);
}

TEST(Compare, TypeAndShapeAreExact) {
  EXPECT_CONTAINS(judge(floats({1, 2}, {2, 1}), floats({1, 2}, {1, 2})).reason,
                  "got f32[2,1], wanted f32[1,2]");
  EXPECT_FALSE(judge(tensor<std::int32_t>(DType::i32, {1}), floats({1})).ok);
  EXPECT_TRUE(judge(floats({}, {0, 3}), floats({}, {0, 3})).ok);
}

TEST(Compare, IntegersAreExact) {
  const std::int64_t large = std::int64_t{1} << 60;
  EXPECT_TRUE(
      judge(tensor<std::int64_t>(DType::i64, {large}), tensor<std::int64_t>(DType::i64, {large}))
          .ok);
  EXPECT_FALSE(judge(tensor<std::int64_t>(DType::i64, {large}),
                     tensor<std::int64_t>(DType::i64, {large + 1}))
                   .ok)
      << "a difference that a double does not see";
  EXPECT_FALSE(
      judge(tensor<std::uint8_t>(DType::u8, {255}), tensor<std::uint8_t>(DType::u8, {254})).ok);
}

TEST(Compare, NamesTheWorstElement) {
  const auto c = judge(floats({1, 2, 3, 9, 5, 6}, {2, 3}), floats({1, 2, 3, 4, 5, 7}, {2, 3}));
  EXPECT_CONTAINS(c.reason, "at [1,0] got 9, wanted 4");
  EXPECT_CONTAINS(c.reason, "2 of 6 elements differ");
  EXPECT_EQ(c.max_abs, 5);
}

TEST(Compare, Strings) {
  const std::string a = "abc";
  const std::string b = "abd";
  const Tensor x = tensor<StringRef>(DType::string, {{a.data(), a.size()}});
  const Tensor y = tensor<StringRef>(DType::string, {{b.data(), b.size()}});
  EXPECT_TRUE(judge(x, x).ok);
  EXPECT_CONTAINS(judge(x, y).reason, "got \"abc\", wanted \"abd\"");
}

TEST(Compare, StatisticalAllowsAFewOutside) {
  std::vector<float> wanted(100, 1.0F);
  std::vector<float> got = wanted;
  got[7] = 2;
  Criterion c{
      .kind = Criterion::Kind::statistical, .atol = 0.01, .mean_abs = 0.02, .max_outside = 0.01};
  EXPECT_TRUE(judge(floats(got), floats(wanted), c).ok);
  got[8] = 1.5F;
  EXPECT_CONTAINS(judge(floats(got), floats(wanted), c).reason, "(1.00 % may)");
  c.max_outside = 0.5;
  c.mean_abs = 0.001;
  EXPECT_CONTAINS(judge(floats(got), floats(wanted), c).reason, "(0.001 is allowed)");
  // Integers by their share alone.
  const auto ints = [](std::int32_t v) {
    std::vector<std::int32_t> all(100, 3);
    all[0] = v;
    return tensor(DType::i32, all);
  };
  c.max_outside = 0.01;
  EXPECT_TRUE(judge(ints(3000), ints(3), c).ok);
}

TEST(Compare, SixteenBitFloats) {
  const auto half = [](std::uint16_t bits) { return tensor<std::uint16_t>(DType::f16, {bits}); };
  EXPECT_TRUE(judge(half(0x3c00), half(0x3c01)).ok) << "1 and 1.00098";
  EXPECT_FALSE(judge(half(0x3c00), half(0x3c02)).ok);
}

TEST(Identical, ComparesBits) {
  EXPECT_TRUE(identical(floats({nan_value}).view(), floats({nan_value}).view()));
  EXPECT_FALSE(identical(floats({0.0F}).view(), floats({-0.0F}).view()));
}

TEST(CriterionOf, ReadsTheIndex) {
  const auto index = parse_json(R"({"models": [
    {"name": "a", "criterion": "elementwise", "sets": [{"outputs": [{"rtol": 0.002, "tol_abs": 0.5}]}]},
    {"name": "b", "criterion": "statistical",
     "sets": [{"outputs": []}, {"outputs": [{"rtol": 0.001, "floor_abs": 0.1, "tol_meanabs": 0.2, "max_frac_outside": 0.3}]}]}]})");
  ASSERT_TRUE(index);
  EXPECT_EQ(criterion_of(*find_model(*index, "a"), 0, 0), (Criterion{.rtol = 0.002, .atol = 0.5}));
  EXPECT_EQ(criterion_of(*find_model(*index, "a"), 1, 0), Criterion()) << "nothing is said";
  EXPECT_EQ(criterion_of(*find_model(*index, "b"), 1, 0),
            (Criterion{Criterion::Kind::statistical, 0.001, 0.1, 0.2, 0.3}));
  EXPECT_EQ(find_model(*index, "c"), nullptr);
  EXPECT_EQ(find_model(Json(), "c"), nullptr);
}

}  // namespace
}  // namespace quern::tools
