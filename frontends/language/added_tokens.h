// SPDX-License-Identifier: Apache-2.0
// Tokens that stand in a text as they are, whatever the model would make of it: the member
// `added_tokens` of tokenizer.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <quern/status.h>

#include "frontends/language/json.h"
#include "frontends/language/normalizer.h"
#include "frontends/language/vocabulary.h"
#include "frontends/language/work.h"

namespace quern::language {

// A part of a text: a token, or what lies between tokens.
struct TextPart {
  std::u32string text;
  bool is_first = false;  // the whole begins with it
  std::optional<TokenId> token;
};

class AddedTokens {
 public:
  // `normalizer` is that of the texts, or none. Errors: invalid_argument.
  static Result<AddedTokens> read(Json list, const Normalizer& normalizer);

  // Takes out the tokens that are looked for before normalising, normalises the rest, and takes out
  // the others. Errors: those of the normaliser; unsupported, it would take more than the work.
  Result<std::vector<TextPart>> extract(std::u32string text, const Normalizer& normalizer,
                                        Work& work) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  bool is_special(TokenId id) const { return special_.count(id) != 0; }

 private:
  struct Token {
    TokenId id;
    bool strips_left, strips_right, is_single_word;
  };
  // Contents of tokens, and the lengths of those that begin with each character, the longest first.
  struct Matcher {
    std::unordered_map<std::u32string, Token> tokens;
    std::unordered_map<char32_t, std::vector<std::size_t>> lengths;

    void add(std::u32string content, const Token& token);
    Status split(const TextPart& part, std::vector<TextPart>& out, Work& work) const;
    // The longest token at a place, and its length.
    const Token* find(std::u32string_view text, std::size_t at, std::size_t& length,
                      Work& work) const;
  };

  Status add(Json json, const Normalizer& normalizer);

  Vocabulary vocabulary_;
  std::unordered_set<TokenId> special_;
  Matcher before_;  // normalising
  Matcher after_;
};

}  // namespace quern::language
