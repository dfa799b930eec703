// SPDX-License-Identifier: Apache-2.0
// What makes tokens of a piece of text: the member `model` of tokenizer.json.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "frontends/language/json.h"
#include "frontends/language/vocabulary.h"
#include "frontends/language/work.h"

namespace quern::language {

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  // Appends the tokens of `piece`, in UTF-8. Errors: invalid_argument, a character that no token
  // stands for; unsupported, it would take more than the work.
  virtual Status tokenize(std::string_view piece, std::vector<TokenId>& ids, Work& work) const = 0;

 protected:
  explicit TokenModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  // Appends a token <0xNN> for each byte; false, and nothing, where one of them has none.
  bool append_bytes(std::string_view text, std::vector<TokenId>& ids) const;

 private:
  Vocabulary vocabulary_;
};

// Errors: invalid_argument, unsupported (with the type).
Result<std::unique_ptr<TokenModel>> read_token_model(Json json);

// Each in a file of its own.
Result<std::unique_ptr<TokenModel>> read_bpe(Json json);
Result<std::unique_ptr<TokenModel>> read_unigram(Json json);
Result<std::unique_ptr<TokenModel>> read_word_piece(Json json);
Result<std::unique_ptr<TokenModel>> read_word_level(Json json);

// The member `vocab` where it is an object of ids.
Result<Vocabulary> read_vocabulary(Json json);
// The length in bytes of the character that valid UTF-8 begins with.
std::size_t character_length(std::string_view text);
// The error of work that is spent.
Status too_much_work();

}  // namespace quern::language
