// SPDX-License-Identifier: Apache-2.0
// Text to tokens and back, as a tokenizer.json of Hugging Face's tokenizers describes it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "frontends/language/added_tokens.h"
#include "frontends/language/json.h"
#include "frontends/language/normalizer.h"
#include "frontends/language/pre_tokenizer.h"
#include "frontends/language/token_decoder.h"
#include "frontends/language/token_model.h"

namespace quern::language {

enum class Specials : unsigned char { left_out, kept };

// Immutable: any thread may use it.
class Tokenizer {
 public:
  // The longest text that is taken, in bytes.
  static constexpr std::size_t max_text_bytes = std::size_t{64} << 20;

  // Truncation and padding in the file are not applied, nor is dropout. Errors: invalid_argument,
  // the file contradicts itself; unsupported, a component that is not known, by its name.
  static Result<std::shared_ptr<const Tokenizer>> parse(std::string_view tokenizer_json);

  // The tokens of a text, whose bytes that are no UTF-8 count as U+FFFD; special tokens in it are
  // recognised. With `specials` kept, those that the post-processor adds for one sequence too.
  // Errors: unsupported, the text is too long or takes too many steps; invalid_argument.
  Result<std::vector<TokenId>> encode(std::string_view text,
                                      Specials specials = Specials::kept) const;
  // The text of tokens; an id that no token has is left out. With `specials` left out, so are
  // special tokens. Errors: unsupported, it takes too many steps.
  Result<std::string> decode(std::span<const TokenId> ids,
                             Specials specials = Specials::left_out) const;

  std::optional<TokenId> id_of(std::string_view token) const;
  // Null: no token has this id.
  const std::string* token_of(TokenId id) const;
  bool is_special(TokenId id) const { return added_.is_special(id); }
  // One more than the greatest id.
  std::size_t id_count() const;

 private:
  Tokenizer() = default;
  Status read(Json json);
  Status read_post_processor(Json json);
  Status read_template(Json json);
  Status add_around(Json cls, Json sep);
  // The bytes that a decoder makes, not yet valid UTF-8.
  Result<std::string> decoded_bytes(std::span<const TokenId> ids, Specials specials) const;
  friend class StreamDecoder;

  std::unique_ptr<const TokenModel> model_;
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  AddedTokens added_;
  TokenDecoder decoder_;
  std::vector<TokenId> before_;  // what the post-processor adds
  std::vector<TokenId> after_;
};

// Text of tokens that come one by one. One thread at a time.
class StreamDecoder {
 public:
  explicit StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer,
                         Specials specials = Specials::left_out)
      : tokenizer_(std::move(tokenizer)), specials_(specials) {}

  // The text that is certain with this token: whole characters, "" while one is not finished.
  // Errors: those of Tokenizer::decode().
  Result<std::string> add(TokenId id);
  // The same without holding characters back: the bytes of this token, which may begin or end
  // within a character. Only what the decoder of the file shows as U+FFFD until it is whole comes
  // later. Errors: the same.
  Result<std::string> add_bytes(TokenId id);
  // The text that was held back.
  Result<std::string> finish();

 private:
  // What is more than with the tokens that were given; these are all tokens then.
  Result<std::string> give();
  std::shared_ptr<const Tokenizer> tokenizer_;
  Specials specials_;
  std::vector<TokenId> ids_;  // those that gave the last text, and what came since
  std::size_t given_ = 0;     // of ids_
};

}  // namespace quern::language
