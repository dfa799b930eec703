// SPDX-License-Identifier: Apache-2.0
// From the tokens of a prompt to text, a token at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "frontends/language/next_logits.h"
#include "frontends/language/sampler.h"
#include "frontends/language/tokenizer.h"

namespace quern::language {

// What step() gives.
enum class TextUnit : std::uint8_t {
  characters,  // whole ones, which may come with a later token
  bytes,       // those of each token, which may be half a character
};

struct GenerateOptions {
  SamplingOptions sampling;
  std::int64_t max_new_tokens = 256;
  std::vector<TokenId> end_ids;         // tokens that end the answer; not part of the text
  std::vector<std::string> stop_texts;  // texts that do
  Specials specials = Specials::left_out;
  TextUnit unit = TextUnit::characters;
  std::size_t prompt_batch = 0;  // tokens of the prompt that are computed at a time; 0: all
};

// One answer, step by step. One thread at a time. Borrows the decoder.
class Generator {
 public:
  enum class End : std::uint8_t {
    none,       // it goes on
    end_token,  // the model ended it
    stop_text,
    length,   // max_new_tokens
    context,  // the decoder has no room for more
  };

  // Errors: invalid_argument, options out of their bounds.
  static Result<Generator> create(NextLogits& decoder, std::shared_ptr<const Tokenizer> tokenizer,
                                  GenerateOptions options);

  // Computes the prompt, of which the decoder holds the first `held` tokens, and nothing else.
  // After an error it may hold more of them. Errors: invalid_argument, no token that is not held,
  // or more than there is room for; those of NextLogits::append().
  Status begin(std::span<const TokenId> prompt, std::size_t held = 0);
  // The next token. Gives the text that became certain, which may be empty. Errors: those of
  // append() and of choosing; after the end, invalid_argument.
  Result<std::string> step();

  End end() const { return end_; }
  const std::vector<TokenId>& tokens() const { return tokens_; }  // chosen, that of the end too

 private:
  Generator(NextLogits& decoder, std::shared_ptr<const Tokenizer> tokenizer,
            GenerateOptions options);
  Result<std::string> text_of(TokenId token);
  Result<std::string> finish(End end);

  NextLogits* decoder_;
  GenerateOptions options_;
  Sampler sampler_;
  StreamDecoder stream_;
  StopTexts stops_;
  std::vector<TokenId> tokens_;
  bool is_pending_ = false;  // the last token is chosen and not yet computed
  End end_ = End::none;
};

// "end_token", ...
std::string_view name_of(Generator::End end);

}  // namespace quern::language
