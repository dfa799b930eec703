// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft on sequences of tokens and on paths: numbers of ONNX Runtime's own
// tests, and others worked out by hand.
#include <algorithm>
#include <limits>

#include "tests/engine/one_operator.h"

namespace quern::onnx_test {
namespace {

using quern::testing::answer;
using quern::testing::expect_values;
using quern::testing::Fed;
using quern::testing::inputs_of;
using quern::testing::model_of;
using quern::testing::must;
using quern::testing::OneOperator;
using quern::testing::pattern;
using quern::testing::run_onnx;
using quern::testing::tensor;
using quern::testing::ways;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float lowest = std::numeric_limits<float>::lowest();

std::string answer_of(const OneOperator& op) {
  return answer(model_of(op), inputs_of(op), ways()[0]);
}

// Every output in every way, to the bit.
template <class T>
void expect_same(const OneOperator& op, const std::vector<std::vector<T>>& wanted) {
  for (const auto& way : ways()) {
    const auto found = must(run_onnx(model_of(op), inputs_of(op), way));
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_THAT(found[i].span<T>(), ElementsAreArray(wanted[i]))
          << ::testing::PrintToString(way) << ", output " << i;
  }
}

// ---- SampleOp

TEST(ContribSequences, SampleOpIsItsInput) {
  expect_same<float>({.op = "SampleOp", .fed = {{tensor<float>({3}, {1, -2, infinity})}}},
                     {{1, -2, infinity}});
}

// ---- NGramRepeatBlock

OneOperator repeat_block(std::int64_t size) {
  return {.op = "NGramRepeatBlock",
          .fed = {{tensor<std::int64_t>({3, 6}, {0, 1, 2, 3, 1, 2, 0, 0, 0, 1, 0, 0,  //
                                                 0, 1, 0, 1, 0, 1}),
                   i64},
                  {tensor<float>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}},
          .attributes = {integer("ngram_size", size)}};
}

TEST(ContribSequences, TokensThatWouldRepeatARunAreRefused) {
  const float no = -infinity;
  expect_same<float>(repeat_block(3), {{1, 2, 3, no, no, no, 7, 8, no, 10, 11, 12}});
  expect_same<float>(repeat_block(1), {{no, no, no, no, no, no, 7, 8, no, no, 11, 12}});
  expect_same<float>(repeat_block(2), {{1, 2, 3, no, no, no, 7, 8, no, 10, 11, 12}});
  // Longer than what there is, by one token and by all memory.
  for (const std::int64_t size : {7LL, 8LL, 1LL << 60})
    expect_same<float>(repeat_block(size), {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
}

TEST(ContribSequences, RunsThatAreNoneAreErrorsInWords) {
  EXPECT_THAT(answer_of(repeat_block(0)), HasSubstr("'ngram_size' is 0, wants 1 or more"));
  OneOperator op = repeat_block(2);
  op.fed[0].tensor = tensor<std::int64_t>({2, 1}, {0, 0});
  EXPECT_THAT(answer_of(op), HasSubstr("2 sequences beside scores of 3"));
  op.fed[0].tensor = tensor<std::int64_t>({3, 2}, {0, 0, 0, 4, 0, 4});
  EXPECT_THAT(answer_of(op), HasSubstr("error: "));
}

// ---- MaxpoolWithMask

OneOperator masked_pool(const Tensor& x, const Tensor& mask, const Messages& attributes) {
  return {.op = "MaxpoolWithMask", .fed = {{x}, {mask, i32}}, .attributes = attributes};
}

// A line ends at its first masked element, also for those behind it.
TEST(ContribSequences, LinesOfAWindowEndAtAMaskedElement) {
  const Tensor x = tensor<float>({1, 2, 5}, {1, 2, 3, 4, 5, 9, 8, 7, 6, 5});
  const Tensor mask = tensor<std::int32_t>({1, 1, 5}, {1, 1, 0, 1, 1});
  expect_same<float>(masked_pool(x, mask, {integers("kernel_shape", {3})}),
                     {{2, 2, lowest, 9, 8, lowest}});
  expect_same<float>(masked_pool(x, mask,
                                 {integers("kernel_shape", {2}), integers("strides", {2}),
                                  integers("pads", {1, 1}), word("auto_pad", "")}),
                     {{1, 2, 5, 9, 8, 6}});
  // The mask of each channel in turn.
  const Tensor masks = tensor<std::int32_t>({1, 2, 5}, {1, 1, 1, 1, 1, 0, 1, 1, 1, 1});
  expect_same<float>(masked_pool(x, masks, {integers("kernel_shape", {5})}), {{5, lowest}});
}

TEST(ContribSequences, TheFirstElementOfAPlaneIsNeverMasked) {
  const Tensor x = tensor<float>({1, 1, 2, 3}, {9, 8, 7, 1, 2, 3});
  const Tensor mask = tensor<std::int32_t>({1, 1, 2, 3}, {0, 0, 1, 1, 1, 0});
  expect_same<float>(masked_pool(x, mask, {integers("kernel_shape", {2, 3})}), {{9}});
  expect_same<float>(masked_pool(x, mask, {integers("kernel_shape", {1, 2})}), {{9, lowest, 2, 2}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor holes = tensor<float>({1, 1, 2, 3}, {nan, 8, 7, -infinity, 2, 3});
  expect_same<float>(masked_pool(holes, mask, {integers("kernel_shape", {1, 1})}),
                     {{lowest, lowest, 7, lowest, 2, lowest}});
}

TEST(ContribSequences, WindowsThatDoNotFitAreErrorsInWords) {
  const Tensor x = pattern({1, 2, 5}, 1);
  const Tensor mask = tensor<std::int32_t>({1, 1, 5}, {1, 1, 0, 1, 1});
  const auto error = [&](const Messages& attributes) {
    return answer_of(masked_pool(x, mask, attributes));
  };
  EXPECT_THAT(error({}), HasSubstr("windows of 0 dimensions"));
  EXPECT_THAT(error({integers("kernel_shape", {6})}),
              HasSubstr("windows of 6 elements of a padded dimension of 5"));
  EXPECT_THAT(error({integers("kernel_shape", {2, 2})}), HasSubstr("want an input of rank 4"));
  EXPECT_THAT(error({integers("kernel_shape", {2}), integers("strides", {0})}),
              HasSubstr("windows of 2 at every 0"));
  EXPECT_THAT(error({integers("kernel_shape", {2}), integers("pads", {0, 2})}),
              HasSubstr("pads below the window"));
  EXPECT_THAT(error({integers("kernel_shape", {1LL << 40})}), HasSubstr("wants 1 to 4096"));
  EXPECT_THAT(error({integers("kernel_shape", {2}), word("auto_pad", "SAME_UPPER")}),
              HasSubstr("'auto_pad' = SAME_UPPER is not supported"));
  const Tensor other = tensor<std::int32_t>({1, 1, 4}, {1, 1, 0, 1});
  EXPECT_THAT(answer_of(masked_pool(x, other, {integers("kernel_shape", {2})})),
              HasSubstr("error: "));
}

// ---- BifurcationDetector

OneOperator detector(const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& now,
                     std::int64_t from, const std::vector<std::int64_t>& guesses) {
  const auto list = [](const std::vector<std::int64_t>& v) {
    const Shape shape{static_cast<std::int64_t>(v.size())};
    return Fed{Tensor::from_values<std::int64_t>(DType::i64, shape, v), i64};
  };
  OneOperator op{.op = "BifurcationDetector",
                 .fed = {list(source), list(now), {tensor<std::int64_t>({}, {from}), i64}},
                 .attributes = {integer("min_ngram_size", 1), integer("max_ngram_size", 3)},
                 .outputs = 2,
                 .dims = quern::testing::Declared::last};
  if (!guesses.empty()) op.fed.push_back(list(guesses));
  return op;
}

TEST(ContribSequences, GuessesCountUpToTheFirstOneThatDiffers) {
  expect_same<std::int64_t>(detector({1, 5, 3, 4}, {2}, 0, {1, 5, 3, 4, 2}),
                            {{2, 1, 5, 3, 4, 2}, {-1}});
  expect_same<std::int64_t>(detector({1, 5, 3, 4}, {2}, 0, {1, 7, 3, 4, 2}), {{2, 1, 7}, {-1}});
  expect_same<std::int64_t>(detector({1, 5, 3, 4}, {2, 1}, 2, {3, 5, 6}), {{2, 1, 3, 5}, {2}});
  expect_same<std::int64_t>(detector({1, 5, 3, 4}, {2}, 4, {3}), {{2, 3}, {3}});
}

TEST(ContribSequences, TheSourceGoesOnBehindTheOnlyRunLikeTheLastTokens) {
  expect_same<std::int64_t>(
      detector({756, 194, 39,   1015, 5529, 1216, 24,   72, 23,   1976, 6174, 1340, 6,
                39,  194, 2161, 1480, 4955, 8,    7806, 65, 1091, 8,    560,  4077, 196},
               {2, 756, 194, 39, 8155, 23}, 0, {}),
      {{2, 756, 194, 39, 8155, 23}, {9}});
  // One token is there twice, two of them once, three nowhere.
  expect_same<std::int64_t>(detector({1, 2, 3, 2, 4}, {9, 1, 2}, 0, {}), {{9, 1, 2}, {2}});
  // Twice however many.
  expect_same<std::int64_t>(detector({1, 2, 3, 1, 2, 3, 4}, {1, 2, 3}, 0, {}), {{1, 2, 3}, {-1}});
  // At the end of the source nothing longer is looked for.
  expect_same<std::int64_t>(detector({1, 2, 3}, {1, 2, 3}, 0, {}), {{1, 2, 3}, {3}});
  expect_same<std::int64_t>(detector({}, {1}, 0, {}), {{1}, {-1}});
}

TEST(ContribSequences, GuessesThatDoNotFitAreErrorsInWords) {
  EXPECT_THAT(answer_of(detector({1, 5}, {2}, 3, {1})),
              HasSubstr("prev_suffix_match_idx is 3, wants 0 to 2"));
  EXPECT_THAT(answer_of(detector({1, 5}, {2}, -1, {1})),
              HasSubstr("prev_suffix_match_idx is -1, wants 0 to 2"));
  EXPECT_THAT(answer_of(detector({1, 5}, {2}, 0, {1})),
              HasSubstr("the number of pred_tokens is 1, wants 3 to 3"));
  OneOperator op = detector({1}, {1}, 0, {});
  op.attributes = {integer("min_ngram_size", 2), integer("max_ngram_size", 1)};
  EXPECT_THAT(answer_of(op), HasSubstr("runs of 2 to 1 tokens"));
  op.attributes = {integer("min_ngram_size", 1), integer("max_ngram_size", 1LL << 40)};
  EXPECT_THAT(answer_of(op), HasSubstr("tokens are not supported, at most 128"));
}

// ---- DynamicTimeWarping

TEST(ContribSequences, ThePathIsAsLongAsTheCostsSay) {
  OneOperator op{.op = "DynamicTimeWarping",
                 .fed = {{tensor<float>({2, 3}, {1, 9, 9, 9, 1, 1})}},
                 .dims = quern::testing::Declared::last};
  expect_same<std::int32_t>(op, {{0, 1, 1, 0, 1, 2}});
  op.fed[0].tensor = tensor<float>({2, 3}, {1, 1, -1, 9, 9, 1});
  expect_same<std::int32_t>(op, {{0, 0, 0, 1, 0, 1, 2, 2}});
}

}  // namespace
}  // namespace quern::onnx_test
