// SPDX-License-Identifier: Apache-2.0
#include "tools/summary.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tools/console.h"
#include "tools/inputs.h"
#include "tools/measurement.h"

namespace quern::tools {
namespace {

Tensor tensor_of(const std::vector<float>& v, const Shape& shape) {
  return Tensor::from_values<float>(DType::f32, shape, v);
}

TEST(Statistics, LeaveOutWhatIsNotFinite) {
  const Tensor t = tensor_of({1, 3, NAN, INFINITY}, {4});
  const Statistics s = statistics(t.view());
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.mean, 2);
  EXPECT_EQ(s.max, 3);
  EXPECT_EQ(s.not_a_number, 1);
  EXPECT_EQ(s.infinite, 1);
}

TEST(ScoreRows, WantOneDimensionOfClasses) {
  const auto rows = [](const Shape& shape) { return score_rows({{DType::f32, shape}, nullptr}); };
  EXPECT_EQ(rows({1000}), 1);
  EXPECT_EQ(rows({4, 1000}), 4);
  EXPECT_EQ(rows({2, 1000, 1, 1}), 2);
  EXPECT_FALSE(rows({1, 1000, 7, 7}));
  EXPECT_FALSE(rows({1, 1}));
  EXPECT_FALSE(rows({}));
  EXPECT_FALSE(rows({0, 10}));
}

TEST(RankClasses, TakesADistributionAsItIs) {
  const Tensor t = tensor_of({0.1F, 0.7F, 0.2F, 0.6F, 0.3F, 0.1F}, {2, 3});
  const Ranking r = rank_classes(t.view(), 1, 2, 2);
  EXPECT_FALSE(r.softmax_applied);
  ASSERT_EQ(r.classes.size(), 2U);
  EXPECT_EQ(r.classes[0].index, 0);
  EXPECT_NEAR(r.classes[0].probability, 0.6, 1e-6);
  EXPECT_EQ(r.classes[1].index, 1);
}

TEST(RankClasses, AppliesSoftmaxToLogits) {
  const Tensor t = tensor_of({1000, 1001, 999}, {3});
  const Ranking r = rank_classes(t.view(), 0, 1, 5);
  EXPECT_TRUE(r.softmax_applied);
  ASSERT_EQ(r.classes.size(), 3U);
  EXPECT_EQ(r.classes[0].index, 1);
  EXPECT_NEAR(r.classes[0].probability, 1 / (1 + std::exp(-1.0) + std::exp(-2.0)), 1e-9);
}

TEST(Distribution, OfSamples) {
  const Distribution d = distribution({5, 1, 4, 2, 3, 6, 7, 8, 9, 10});
  EXPECT_EQ(d.median, 5.5);
  EXPECT_EQ(d.min, 1);
  EXPECT_EQ(d.p90, 9);
  EXPECT_EQ(d.p99, 10);
  EXPECT_EQ(distribution({}).count, 0U);
}

TEST(GenerateTensor, IsSeededAndSensible) {
  const TensorType type{DType::f32, {100}};
  const auto a = generate_tensor(type, "x", 1);
  const auto b = generate_tensor(type, "x", 1);
  const auto c = generate_tensor(type, "x", 2);
  ASSERT_TRUE(a && b && c);
  EXPECT_TRUE(std::equal(a->data(), a->data() + a->bytes(), b->data()));
  EXPECT_FALSE(std::equal(a->data(), a->data() + a->bytes(), c->data()));
  for (float v : a->span<float>()) EXPECT_TRUE(v >= 0 && v < 1);
  const auto mask = generate_tensor({DType::i64, {8}}, "attention_mask", 0);
  for (std::int64_t v : mask->span<std::int64_t>()) EXPECT_EQ(v, 1);
  const auto text = generate_tensor({DType::string, {0}}, "t", 0);
  ASSERT_TRUE(text);
  EXPECT_NE(text->data(), nullptr);
  EXPECT_FALSE(
      generate_tensor({DType::f64, {std::int64_t{1} << 40, std::int64_t{1} << 40}}, "x", 0));
}

TEST(Dimensions, NameInputsAndSymbols) {
  ValueSpec spec{.name = "x", .dims = {-1, 3, -1}, .symbols = {"batch", "", "time"}};
  const std::vector<ValueSpec> specs = {spec};
  const auto d = parse_dimensions({.dims = {"batch=4"}}, specs);
  ASSERT_TRUE(d) << d.error().message();
  EXPECT_EQ(known_dims(spec, *d), (std::vector<std::int64_t>{4, 3, -1}));
  const auto s = parse_dimensions({.shapes = {"1x3x9"}}, specs);
  ASSERT_TRUE(s);
  EXPECT_EQ(known_dims(spec, *s), (std::vector<std::int64_t>{1, 3, 9}));
  EXPECT_FALSE(parse_dimensions({.dims = {"height=4"}}, specs));
  EXPECT_FALSE(parse_dimensions({.dims = {"batch=-4"}}, specs));
  EXPECT_FALSE(parse_dimensions({.shapes = {"y=1x3"}}, specs));
}

TEST(Console, TablesLineUp) {
  Table t({{"name"}, {"n", Table::Align::right}});
  t.add({"caf\xc3\xa9", "1"});
  t.add({"x", "100"});
  EXPECT_EQ(t.text({}), "name    n\ncaf\xc3\xa9    1\nx     100\n");
}

TEST(Console, ShowsOnlyWhatATerminalMaySee) {
  EXPECT_EQ(shown("a\x1b[31m\n\xff"), "a?[31m??");
  EXPECT_EQ(shown("\xc2\x9b"
                  "x"),
            "??x")
      << "a C1 control";
  EXPECT_EQ(shown("abcdef", 4), "abc\xe2\x80\xa6");
  EXPECT_EQ(bytes_text(1'250'000), "1.25 MB");
  EXPECT_EQ(bytes_text(12), "12 B");
  EXPECT_EQ(time_text(0.045), "45.0 us");
  EXPECT_EQ(percent_text(0.577), "57.7 %");
}

}  // namespace
}  // namespace quern::tools
