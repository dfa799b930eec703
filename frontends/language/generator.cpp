// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/generator.h"

#include <algorithm>
#include <utility>

#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/text_util.h"

namespace quern::language {

std::string_view name_of(Generator::End end) {
  switch (end) {
    case Generator::End::none: return "none";
    case Generator::End::end_token: return "end_token";
    case Generator::End::stop_text: return "stop_text";
    case Generator::End::length: return "length";
    case Generator::End::context: break;
  }
  return "context";
}

Generator::Generator(NextLogits& decoder, std::shared_ptr<const Tokenizer> tokenizer,
                     GenerateOptions options)
    : decoder_(&decoder),
      options_(std::move(options)),
      sampler_(options_.sampling),
      stream_(std::move(tokenizer), options_.specials),
      stops_(options_.stop_texts) {}

Result<Generator> Generator::create(NextLogits& decoder, std::shared_ptr<const Tokenizer> tokenizer,
                                    GenerateOptions options) {
  QUERN_TRY(check(options.sampling));
  if (options.max_new_tokens < 1)
    return Status(Code::invalid_argument,
                  cat("max_new_tokens is ", options.max_new_tokens, ", it must be 1 or more"));
  return Generator(decoder, std::move(tokenizer), std::move(options));
}

Status Generator::begin(std::span<const TokenId> prompt, std::size_t held) {
  const auto capacity = static_cast<std::size_t>(decoder_->capacity());
  if (prompt.size() <= held) return {Code::invalid_argument, "the prompt has no token"};
  if (prompt.size() > capacity)
    return {Code::invalid_argument,
            cat("the prompt has ", prompt.size(), " tokens, there is room for ", capacity)};
  for (const TokenId token : prompt) sampler_.accept(token);
  const std::vector<std::int64_t> rest(prompt.begin() + static_cast<std::ptrdiff_t>(held),
                                       prompt.end());
  const std::size_t most = options_.prompt_batch > 0 ? options_.prompt_batch : rest.size();
  for (std::size_t at = 0; at < rest.size(); at += most)
    QUERN_TRY(decoder_->append(std::span(rest).subspan(at, std::min(most, rest.size() - at))));
  return {};
}

Result<std::string> Generator::text_of(TokenId token) {
  return options_.unit == TextUnit::bytes ? stream_.add_bytes(token) : stream_.add(token);
}

Result<std::string> Generator::step() {
  return guarded([&]() -> Result<std::string> {
    if (end_ != End::none) return Status(Code::invalid_argument, "the answer has ended");
    if (is_pending_) {
      if (decoder_->length() >= decoder_->capacity()) return finish(End::context);
      const std::int64_t last = tokens_.back();
      QUERN_TRY(decoder_->append({&last, 1}));
      is_pending_ = false;
    }
    QUERN_ASSIGN(const TokenId token, sampler_.choose(decoder_->logits()));
    sampler_.accept(token);
    tokens_.push_back(token);
    is_pending_ = true;
    if (std::ranges::find(options_.end_ids, token) != options_.end_ids.end())
      return finish(End::end_token);
    QUERN_ASSIGN(const std::string part, text_of(token));
    std::string text = stops_.add(part);
    if (stops_.is_found()) {
      end_ = End::stop_text;
    } else if (static_cast<std::int64_t>(tokens_.size()) >= options_.max_new_tokens) {
      QUERN_ASSIGN(const std::string rest, finish(End::length));
      text += rest;
    }
    return text;
  });
}

Result<std::string> Generator::finish(End end) {
  end_ = end;
  QUERN_ASSIGN(const std::string part, stream_.finish());
  std::string text = stops_.add(part);
  if (stops_.is_found())
    end_ = End::stop_text;
  else
    text += stops_.finish();
  return text;
}

}  // namespace quern::language
