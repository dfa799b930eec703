// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <quern/status.h>

namespace quern::language {

using TokenId = std::int32_t;

// Tokens by id and ids by token. Not copied: it refers to itself.
class Vocabulary {
 public:
  static constexpr TokenId max_id = (1 << 22) - 1;

  Vocabulary() = default;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;
  Vocabulary(const Vocabulary&) = delete;

  // Room for as many tokens.
  void reserve(std::size_t count) { ids_.reserve(count); }
  // A token that is there already gets the new id; an id that is there keeps its first token.
  // Errors: invalid_argument, an id below 0 or above max_id.
  Status add(std::string_view token, std::int64_t id);
  std::optional<TokenId> id_of(std::string_view token) const;
  // Null: no token has this id. The text is the vocabulary's.
  const std::string* token_of(TokenId id) const;
  std::size_t size() const { return ids_.size(); }
  // One more than the greatest id.
  std::size_t id_count() const { return tokens_.size(); }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, TokenId> ids_;
  std::vector<const std::string*> tokens_;
};

}  // namespace quern::language
