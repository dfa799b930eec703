// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/token_model.h"

#include <cstdio>
#include <string>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"

namespace quern::language {

bool TokenModel::append_bytes(std::string_view text, std::vector<TokenId>& ids) const {
  const std::size_t before = ids.size();
  for (const char c : text) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    const auto id = vocabulary_.id_of(name);
    if (!id) {
      ids.resize(before);
      return false;
    }
    ids.push_back(*id);
  }
  return true;
}

Result<Vocabulary> read_vocabulary(Json json) {
  if (!json.is_object())
    return Status(Code::invalid_argument, "tokenizer.json: the vocabulary is no object of ids");
  Vocabulary vocabulary;
  vocabulary.reserve(json.size());
  Status status;
  json.each_member([&](std::string_view token, Json id) {
    if (!status.ok()) return;
    const auto number = id.integer();
    status = number ? vocabulary.add(token, *number)
                    : Status(Code::invalid_argument, cat("tokenizer.json: token '", shown(token),
                                                         "' has no whole number as its id"));
  });
  QUERN_TRY(std::move(status));
  return vocabulary;
}

std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return length < text.size() ? length : text.size();
}

Status too_much_work() {
  return {Code::unsupported, "the tokenizer takes too many steps on this text"};
}

Result<std::unique_ptr<TokenModel>> read_token_model(Json json) {
  const std::string_view type = json["type"].text();
  if (type == "BPE") return read_bpe(json);
  if (type == "Unigram") return read_unigram(json);
  if (type == "WordPiece") return read_word_piece(json);
  if (type == "WordLevel") return read_word_level(json);
  if (!type.empty())
    return Status(Code::unsupported,
                  cat("tokenizer.json: the model '", shown(type), "' is not supported"));
  // Files of the first versions name no type.
  if (json["merges"].is_array()) return read_bpe(json);
  if (json["vocab"].is_array()) return read_unigram(json);
  if (json["continuing_subword_prefix"].is_text()) return read_word_piece(json);
  return Status(Code::invalid_argument, "tokenizer.json has no model");
}

}  // namespace quern::language
