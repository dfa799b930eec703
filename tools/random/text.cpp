// SPDX-License-Identifier: Apache-2.0
// Strings. Operators that only move elements (movement.cpp, index.cpp) and Where take them, too.
#include <algorithm>
#include <array>

#include "engine/vocabulary/text_util.h"
#include "tools/random/families.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

using Texts = std::vector<std::string>;

bool equal_texts(Builder& b) {
  if (b.opset() < 19) return false;
  const DrawnValue x = b.take({.types = {DType::string}});
  const DrawnValue y = b.take_broadcast(DType::string, x.dims);
  const bool first = b.rng.chance(0.5);
  b.add("Equal", {first ? x : y, first ? y : x}, {}, {DType::boolean, x.dims, 1, false});
  return true;
}

bool identity(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::string}});
  b.add("Identity", {x}, {}, {DType::string, x.dims, 1, false});
  return true;
}

// ---- StringNormalizer

enum class LetterCase : std::uint8_t { counts, ignored };
// The number of `words` (all ASCII) that remain: at least one, since an empty result becomes one
// empty string.
std::int64_t left_without(const Texts& words, const Texts& stopwords, LetterCase letters) {
  const auto stops = [&](const std::string& w) {
    return std::any_of(stopwords.begin(), stopwords.end(), [&](const std::string& s) {
      return letters == LetterCase::counts ? w == s : small_letters(w) == small_letters(s);
    });
  };
  const auto gone = std::count_if(words.begin(), words.end(), stops);
  return std::max<std::int64_t>(static_cast<std::int64_t>(words.size()) - gone, 1);
}

// The number of resulting strings depends on the data.
bool normalizer(Builder& b) {
  static const Texts vocabulary = {"Monday", "monday", "tuesday", "Wednesday", "the", "The", ""};
  static const Texts stops = {"monday", "The"};
  const bool row = b.rng.chance(0.3);
  const Extent length = fixed(b.rng.between(1, 8));
  const bool case_sensitive = b.rng.chance(0.5);
  Texts stopwords;
  for (const std::string& s : stops)
    if (b.rng.chance(0.6)) stopwords.push_back(s);
  Extent left = length;
  const Extents dims = row ? Extents{fixed(1), length} : Extents{length};
  const DrawnValue x = b.input_of(DType::string, dims, [&](std::size_t run, const Shape& shape) {
    Texts words;
    for (std::int64_t i = 0; i < shape.elements(); ++i) words.push_back(b.rng.pick(vocabulary));
    left[run] =
        left_without(words, stopwords, case_sensitive ? LetterCase::counts : LetterCase::ignored);
    return string_tensor(shape, std::move(words));
  });
  for (std::size_t run = b.runs(); run < most_runs; ++run) left[run] = left[0];
  Attributes a = {Builder::text("case_change_action", b.rng.pick(std::vector<std::string_view>{
                                                          "NONE", "LOWER", "UPPER"})),
                  Builder::integer("is_case_sensitive", case_sensitive)};
  std::vector<std::string_view> kept;
  for (const std::string& s : stopwords) kept.push_back(b.keep(s));
  if (!kept.empty()) a.push_back(onnx::texts_attribute("stopwords", kept));
  b.add("StringNormalizer", {x}, a,
        {DType::string, row ? Extents{fixed(1), left} : Extents{left}, 1, false});
  return true;
}

// ---- TfIdfVectorizer

// One-grams 2 and 3 and the two-grams (5, 4), (2, 5) at places 0, 1, 3, 4: weights are sums of
// halves, so that every result is exact.
bool tf_idf(Builder& b) {
  const bool rows = b.rng.chance(0.4);
  const Extent length = fixed(b.rng.between(2, 12));
  const Extents in = rows ? Extents{fixed(b.rng.between(1, 3)), length} : Extents{length};
  const bool texts = b.rng.chance(0.3);
  const DType type = texts ? DType::string : b.rng.chance(0.5) ? DType::i64 : DType::i32;
  const DrawnValue x = b.input_of(type, in, [&](std::size_t, const Shape& shape) {
    if (!texts)
      return tensor_of(type, shape,
                       [&](std::int64_t) { return static_cast<double>(b.rng.between(1, 6)); });
    Texts words;
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      words.push_back(std::string(1, static_cast<char>('a' + b.rng.between(1, 6))));
    return string_tensor(shape, std::move(words));
  });
  Attributes a = {
      Builder::text("mode", b.rng.pick(std::vector<std::string_view>{"TF", "IDF", "TFIDF"})),
      Builder::integer("min_gram_length", b.rng.between(1, 2)),
      Builder::integer("max_gram_length", 2),
      Builder::integer("max_skip_count", b.rng.between(0, 2)),
      Builder::integers("ngram_counts", {0, 2}),
      Builder::integers("ngram_indexes", {0, 1, 3, 4})};
  if (texts) {
    static constexpr std::array<std::string_view, 6> pool = {"c", "d", "f", "e", "c", "f"};
    a.push_back(onnx::texts_attribute("pool_strings", pool));
  } else {
    a.push_back(Builder::integers("pool_int64s", {2, 3, 5, 4, 2, 5}));
  }
  if (b.rng.chance(0.6))
    a.push_back(onnx::numbers_attribute("weights", std::array{0.5F, 1.5F, 2.0F, 1.0F}));
  Extents dims = {fixed(5)};
  if (rows) dims.insert(dims.begin(), in[0]);
  b.add("TfIdfVectorizer", {x}, a, {DType::f32, dims, 24, false});
  return true;
}

// ---- StringConcat, StringSplit

bool join(Builder& b) {
  if (b.opset() < 20) return false;
  const DrawnValue x = b.take({.types = {DType::string}});
  const DrawnValue y = b.take_broadcast(DType::string, x.dims);
  const bool first = b.rng.chance(0.5);
  b.add("StringConcat", {first ? x : y, first ? y : x}, {}, {DType::string, x.dims, 1, false});
  return true;
}

// The width of the result depends on the data: words of one letter, with a delimiter behind each
// but the last one.
bool split(Builder& b) {
  if (b.opset() < 20) return false;
  const Texts delimiters = {"", ",", "::"};
  const std::string delimiter = b.rng.pick(delimiters);
  const std::int64_t most_splits = b.rng.between(-1, 3);
  const Extent length = fixed(b.rng.between(0, 4));
  Extent width = fixed(0);
  const DrawnValue x =
      b.input_of(DType::string, {length}, [&](std::size_t run, const Shape& shape) {
        Texts texts;
        width[run] = 0;
        for (std::int64_t i = 0; i < shape.elements(); ++i) {
          const std::int64_t words = b.rng.between(1, 5);
          std::string text = "a";
          for (std::int64_t k = 1; k < words; ++k)
            text += (delimiter.empty() ? " " : delimiter) + "b";
          texts.push_back(std::move(text));
          const std::int64_t parts = most_splits < 0 ? words : std::min(words, most_splits + 1);
          width[run] = std::max(width[run], parts);
        }
        return string_tensor(shape, std::move(texts));
      });
  for (std::size_t run = b.runs(); run < most_runs; ++run) width[run] = width[0];
  Attributes a;
  if (!delimiter.empty() || b.rng.chance(0.3))
    a.push_back(Builder::text("delimiter", b.keep(delimiter)));
  if (most_splits >= 0) a.push_back(Builder::integer("maxsplit", most_splits));
  b.add_some("StringSplit", {x}, a,
             {{DType::string, {length, width}, 1, false}, {DType::i64, {length}, 5, false, true}},
             1);
  return true;
}

// Expressions that some of the texts of random_strings() match; the last one has too many states
// for a table.
bool full_match(Builder& b) {
  static const Texts patterns = {"[a-z]*", "(?i)quern|m.hle", "\\w+(\\W+\\w+){2,}",
                                 ".*\\bstone\\b.*|", "(.|a)*a(.|b){14}"};
  if (b.opset() < 20) return false;
  const DrawnValue x = b.take({.types = {DType::string}});
  b.add("RegexFullMatch", {x}, {Builder::text("pattern", b.keep(b.rng.pick(patterns)))},
        {DType::boolean, x.dims, 1, false});
  return true;
}

constexpr std::array text_table = {
    Family{"regex-full-match", 0.3, full_match},
    Family{"equal-texts", 0.4, equal_texts},
    Family{"identity-of-texts", 0.3, identity},
    Family{"string-normalizer", 0.4, normalizer},
    Family{"tf-idf", 0.3, tf_idf},
    Family{"string-concat", 0.3, join},
    Family{"string-split", 0.4, split},
};

}  // namespace

std::span<const Family> text_families() {
  return text_table;
}

}  // namespace quern::tools
