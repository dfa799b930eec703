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

struct GenerateOptions {
  SamplingOptions sampling;
  std::int64_t max_new_tokens = 256;
  std::vector<TokenId> end_ids;         // tokens that end the answer; not part of the text
  std::vector<std::string> stop_texts;  // texts that do
  Specials specials = Specials::left_out;
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

  // Computes the prompt, behind what the decoder holds already. Errors: invalid_argument, no tokens
  // or more than there is room for; those of NextLogits::append().
  Status begin(std::span<const TokenId> prompt);
  // The next token. Gives the text that became certain, which may be empty. Errors: those of
  // append() and of choosing; after the end, invalid_argument.
  Result<std::string> step();

  End end() const { return end_; }
  const std::vector<TokenId>& tokens() const { return tokens_; }  // chosen, that of the end too

 private:
  Generator(NextLogits& decoder, std::shared_ptr<const Tokenizer> tokenizer,
            GenerateOptions options);
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
