// SPDX-License-Identifier: Apache-2.0
// WordPiece (Schuster and Nakajima 2012): the longest token at each place of a word; and whole
// words.
#include <string>
#include <utility>
#include <vector>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/language/token_model.h"

namespace quern::language {
namespace {

class WordPiece final : public TokenModel {
 public:
  WordPiece(Vocabulary vocabulary, TokenId unknown, std::string prefix, std::size_t max_characters)
      : TokenModel(std::move(vocabulary)),
        unknown_(unknown),
        prefix_(std::move(prefix)),
        max_characters_(max_characters) {}

  Status tokenize(std::string_view piece, std::vector<TokenId>& ids, Work& work) const override {
    std::vector<std::size_t> starts;
    for (std::size_t at = 0; at < piece.size(); at += character_length(piece.substr(at)))
      starts.push_back(at);
    const std::size_t before = ids.size();
    bool is_known = starts.size() <= max_characters_;
    starts.push_back(piece.size());
    std::string text;
    for (std::size_t begin = 0; is_known && begin + 1 < starts.size();) {
      std::size_t end = starts.size() - 1;
      for (is_known = false; end > begin && !is_known; end -= is_known ? 0 : 1) {
        text.assign(begin == 0 ? std::string_view() : prefix_);
        text += piece.substr(starts[begin], starts[end] - starts[begin]);
        if (!work.spend(8 + text.size())) return too_much_work();
        const auto id = vocabulary().id_of(text);
        is_known = id.has_value();
        if (id) ids.push_back(*id);
      }
      begin = end;
    }
    if (is_known) return {};
    ids.resize(before);
    ids.push_back(unknown_);
    return {};
  }

 private:
  TokenId unknown_;
  std::string prefix_;  // of what does not begin a word
  std::size_t max_characters_;
};

class WordLevel final : public TokenModel {
 public:
  WordLevel(Vocabulary vocabulary, TokenId unknown)
      : TokenModel(std::move(vocabulary)), unknown_(unknown) {}

  Status tokenize(std::string_view piece, std::vector<TokenId>& ids, Work&) const override {
    ids.push_back(vocabulary().id_of(piece).value_or(unknown_));
    return {};
  }

 private:
  TokenId unknown_;
};

Result<TokenId> unknown_of(Json json, const Vocabulary& vocabulary) {
  const std::string_view name = json["unk_token"].is_text() ? json["unk_token"].text() : "[UNK]";
  const auto id = vocabulary.id_of(name);
  if (!id)
    return Status(Code::invalid_argument,
                  cat("tokenizer.json: unk_token '", shown(name), "' is no token"));
  return *id;
}

}  // namespace

Result<std::unique_ptr<TokenModel>> read_word_piece(Json json) {
  QUERN_ASSIGN(Vocabulary vocabulary, read_vocabulary(json["vocab"]));
  QUERN_ASSIGN(const TokenId unknown, unknown_of(json, vocabulary));
  const Json prefix = json["continuing_subword_prefix"];
  const auto most = json["max_input_chars_per_word"].integer().value_or(100);
  return std::unique_ptr<TokenModel>(std::make_unique<WordPiece>(
      std::move(vocabulary), unknown, std::string(prefix.is_text() ? prefix.text() : "##"),
      static_cast<std::size_t>(most < 0 ? 0 : most)));
}

Result<std::unique_ptr<TokenModel>> read_word_level(Json json) {
  QUERN_ASSIGN(Vocabulary vocabulary, read_vocabulary(json["vocab"]));
  QUERN_ASSIGN(const TokenId unknown, unknown_of(json, vocabulary));
  return std::unique_ptr<TokenModel>(std::make_unique<WordLevel>(std::move(vocabulary), unknown));
}

}  // namespace quern::language
