// SPDX-License-Identifier: Apache-2.0
// Operators over strings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace quern {

enum class CaseAction : std::uint8_t { none, lower, upper };
std::span<const std::string_view> enum_names(CaseAction);
struct StringNormalizer {
  CaseAction case_change = CaseAction::none;
  bool case_sensitive = false;
  std::vector<std::string> stopwords;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("case_change", s.case_change), f("case_sensitive", s.case_sensitive);
    f("stopwords", s.stopwords);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const StringNormalizer&) const = default;
};

enum class TfIdfMode : std::uint8_t { tf, idf, tfidf };
std::span<const std::string_view> enum_names(TfIdfMode);
struct TfIdfVectorizer {
  TfIdfMode mode = TfIdfMode::tf;
  std::int64_t min_gram_length = 1;
  std::int64_t max_gram_length = 1;
  std::int64_t max_skip_count = 0;
  Ints ngram_counts;
  Ints ngram_indexes;
  Ints pool_int64s;
  std::vector<std::string> pool_strings;
  std::vector<float> weights;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("mode", s.mode), f("min_gram_length", s.min_gram_length);
    f("max_gram_length", s.max_gram_length), f("max_skip_count", s.max_skip_count);
    f("ngram_counts", s.ngram_counts), f("ngram_indexes", s.ngram_indexes);
    f("pool_int64s", s.pool_int64s), f("pool_strings", s.pool_strings), f("weights", s.weights);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const TfIdfVectorizer&) const = default;
};

inline std::size_t pool_size(const TfIdfVectorizer& op) {
  return op.pool_strings.empty() ? op.pool_int64s.size() : op.pool_strings.size();
}

// Items [begin, end) of the pool hold the n-grams of `length` items each.
struct NgramSection {
  std::size_t begin, end, length;
};

inline NgramSection section_of(const TfIdfVectorizer& op, std::size_t i) {
  const std::size_t end = i + 1 < op.ngram_counts.size()
                              ? static_cast<std::size_t>(op.ngram_counts[i + 1])
                              : pool_size(op);
  return {static_cast<std::size_t>(op.ngram_counts[i]), end, i + 1};
}

// (x, y): each string of x with that of y behind it, broadcast.
struct StringConcat {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const StringConcat&) const = default;
};

// How strings are cut into parts: at a delimiter or, where that is empty, at runs of white space,
// and at most `max_splits` times; without, as often as possible.
struct SplitRule {
  std::string delimiter;
  std::optional<std::int64_t> max_splits;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("delimiter", s.delimiter), f("max_splits", s.max_splits);
  }
  bool operator==(const SplitRule&) const = default;
};

// x -> i64 of its shape: the number of parts of each string.
struct StringPartCount : SplitRule {
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const StringPartCount&) const = default;
};

// (x, i64 width) -> [shape of x, width]: the first `width` parts of each string, and empty strings
// behind fewer.
struct StringSplit : SplitRule {
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const StringSplit&) const = default;
};

// x -> bool of its shape: whether each string as a whole matches `pattern`, an expression in the
// syntax of RE2 (graph/regex/syntax.h).
struct RegexFullMatch {
  std::string pattern;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("pattern", s.pattern);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const RegexFullMatch&) const = default;
};

// How strings are cut into tokens. With separators, a string is cut at what the first of them
// matches, each piece at what the second matches, and so on; else its tokens are what `token`
// matches. A single separator that is empty, and the token ".", cut into characters. Tokens of
// fewer than `least` characters do not count. Matches are the first ones and the longest of these,
// and what matches without a character takes the one behind it along. com.microsoft Tokenizer.
struct TokenRule {
  std::vector<std::string> separators;
  std::string token;
  std::int64_t least = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("separators", s.separators), f("token", s.token), f("least", s.least);
  }
  bool is_of_characters() const {
    return separators.empty() ? token == "." : separators.size() == 1 && separators[0].empty();
  }
  bool operator==(const TokenRule&) const = default;
};

// x [C] or [N, C] -> i64 of its shape: the number of tokens of each string. A string that is no
// UTF-8 is an error.
struct TokenCount : TokenRule {
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const TokenCount&) const = default;
};

// (x, i64 width) -> [shape of x, width]: the tokens of each string and `padding` behind them; with
// marks, between "\x02" and "\x03".
struct Tokens : TokenRule {
  bool marks = false;
  std::string padding;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    TokenRule::fields(s, f);
    f("marks", s.marks), f("padding", s.padding);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Tokens&) const = default;
};

// x -> u32 of its shape: MurmurHash3_x86_32 of the bytes of each string.
struct StringHash {
  std::int64_t seed = 0;  // the low 32 bits count

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("seed", s.seed);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const StringHash&) const = default;
};

using StringsOps = OpList<StringNormalizer, TfIdfVectorizer, StringConcat, StringPartCount,
                          StringSplit, RegexFullMatch, TokenCount, Tokens, StringHash>;

}  // namespace quern
