// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/vocabulary.h"

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"

namespace quern::language {

Status Vocabulary::add(std::string_view token, std::int64_t id) {
  if (id < 0 || id > max_id)
    return {Code::invalid_argument, cat("tokenizer.json: token '", shown(token), "' has the id ",
                                        id, ", ids are 0 to ", max_id)};
  const auto place = static_cast<std::size_t>(id);
  if (tokens_.size() <= place) tokens_.resize(place + 1);
  const std::string* text = nullptr;
  if (const auto known = ids_.find(token); known != ids_.end()) {
    known->second = static_cast<TokenId>(id);
    text = tokens_[place] ? tokens_[place] : &texts_.emplace_back(token);
  } else {
    text = &texts_.emplace_back(token);
    ids_.emplace(*text, static_cast<TokenId>(id));
  }
  if (!tokens_[place]) tokens_[place] = text;
  return {};
}

std::optional<TokenId> Vocabulary::id_of(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

const std::string* Vocabulary::token_of(TokenId id) const {
  const auto place = static_cast<std::size_t>(id);
  return id < 0 || place >= tokens_.size() ? nullptr : tokens_[place];
}

}  // namespace quern::language
