// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/strings.h"
#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

// The pool of the specification's example: two single items, three pairs.
TfIdfVectorizer vectorizer() {
  return {.min_gram_length = 2,
          .max_gram_length = 2,
          .ngram_counts = {0, 4},
          .ngram_indexes = {0, 1, 2, 3, 4, 5, 6},
          .pool_int64s = {2, 3, 5, 4, 5, 6, 7, 8, 6, 7}};
}
Tensor sentence() {
  return ints32({1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8});
}

TEST(TfIdfVectorizer, CountsPairs) {
  EXPECT_ELEMENTS(values<float>(run(vectorizer(), {sentence()})), 0, 0, 0, 0, 1, 1, 1);
}

TEST(TfIdfVectorizer, SkipsItems) {
  TfIdfVectorizer op = vectorizer();
  op.max_skip_count = 5;
  EXPECT_ELEMENTS(values<float>(run(op, {sentence()})), 0, 0, 0, 0, 1, 3, 1);
  op.max_skip_count = int_max;
  EXPECT_EQ(run(op, {sentence()}).shape(), Shape({7}));
}

TEST(TfIdfVectorizer, SingleItemsCountOnce) {
  TfIdfVectorizer op = vectorizer();
  op.min_gram_length = 1;
  op.max_skip_count = 5;
  EXPECT_ELEMENTS(values<float>(run(op, {sentence()})), 0, 3, 1, 0, 1, 3, 1);
}

TEST(TfIdfVectorizer, RowsOfAMatrixAndModes) {
  TfIdfVectorizer op{.mode = TfIdfMode::tfidf,
                     .ngram_counts = {0},
                     .ngram_indexes = {2, 0},
                     .pool_strings = {"a", "b"},
                     .weights = {0.5f, 4}};
  const Tensor x = strings({2, 3}, {"a", "a", "c", "b", "a", "b"});
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 0, 0, 1, 8, 0, 0.5f);
  op.mode = TfIdfMode::idf;
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 0, 0, 0.5f, 4, 0, 0.5f);
  op.weights.clear();
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 0, 0, 1, 1, 0, 1);
}

TEST(TfIdfVectorizer, NothingToCount) {
  EXPECT_ELEMENTS(values<float>(run(vectorizer(), {ints({})})), 0, 0, 0, 0, 0, 0, 0);
  EXPECT_EQ(run(vectorizer(), {tensor<std::int64_t>({0, 3}, {})}).shape(), Shape({0, 7}));
  EXPECT_EQ(run(TfIdfVectorizer{.ngram_counts = {0}}, {ints({1})}).shape(), Shape({0}));
}

TEST(TfIdfVectorizer, Infer) {
  EXPECT_EQ(infer_text(vectorizer(), {i64({N, any})}), "f32[$0,7]");
  EXPECT_EQ(infer_text(vectorizer(), {unranked(DType::i64)}), "f32[*]");
}

TEST(TfIdfVectorizer, Refuses) {
  const auto error = [](auto change, const Tensor& x) {
    TfIdfVectorizer op = vectorizer();
    change(op);
    return error_of(op, {x});
  };
  const auto keep = [](TfIdfVectorizer&) {};
  EXPECT_CONTAINS(error(keep, counting({1})), "i32, i64 or strings");
  EXPECT_CONTAINS(error(keep, strings({1}, {"a"})), "is not of the pool's type");
  EXPECT_CONTAINS(error(keep, tensor<std::int64_t>({}, {1})), "rank 1 or 2");
  const Tensor x = ints({1});
  EXPECT_CONTAINS(error([](auto& op) { op.min_gram_length = 0; }, x), "n-grams of 0 to 2");
  EXPECT_CONTAINS(error([](auto& op) { op.max_gram_length = 3; }, x), "n-grams of 2 to 3");
  EXPECT_CONTAINS(error([](auto& op) { op.max_skip_count = -1; }, x), "max_skip_count is -1");
  EXPECT_CONTAINS(error([](auto& op) { op.weights = {1}; }, x), "1 weights for 7 n-grams");
  EXPECT_CONTAINS(error([](auto& op) { op.ngram_indexes[0] = -1; }, x), "negative");
  EXPECT_CONTAINS(error([](auto& op) { op.ngram_indexes.pop_back(); }, x),
                  "6 entries for 7 n-grams");
  EXPECT_CONTAINS(error([](auto& op) { op.ngram_counts = {4, 0}; }, x), "holds 0 after 4");
  EXPECT_CONTAINS(error([](auto& op) { op.ngram_counts = {0, 11}; }, x), "holds 11");
  EXPECT_CONTAINS(error([](auto& op) { op.ngram_counts = {0, 5}; }, x), "no n-grams of 2");
  EXPECT_CONTAINS(error([](auto& op) { op.ngram_indexes[0] = int_max; }, x),
                  "not a size that a tensor can have");
}

}  // namespace
}  // namespace quern::testing
