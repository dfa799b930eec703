// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/tokenizer.h"

#include <algorithm>
#include <utility>

#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/language/unicode.h"

namespace quern::language {
namespace {

// A stream waits for the end of a character for at most this many tokens.
constexpr std::size_t max_held_tokens = 16;

// Steps that decoding may take for one token.
constexpr std::uint64_t decoding_steps = 100'000;

Status broken_tokenizer(std::string_view what) {
  return {Code::invalid_argument, cat("tokenizer.json: ", what)};
}

constexpr std::string_view replacement_bytes = "\xEF\xBF\xBD";  // U+FFFD

bool ends_unfinished(std::string_view bytes) {
  return unfinished_bytes(bytes) > 0 || bytes.ends_with(replacement_bytes);
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::parse(std::string_view tokenizer_json) {
  return guarded([&]() -> Result<std::shared_ptr<const Tokenizer>> {
    auto document = JsonDocument::parse(tokenizer_json);
    if (!document) return std::move(document).error().in("tokenizer.json");
    const std::shared_ptr<Tokenizer> tokenizer(new Tokenizer);
    QUERN_TRY(tokenizer->read(document->root()));
    return std::shared_ptr<const Tokenizer>(tokenizer);
  });
}

Status Tokenizer::read(Json json) {
  if (!json.is_object()) return broken_tokenizer("it is no object");
  QUERN_ASSIGN(model_, read_token_model(json["model"]));
  QUERN_ASSIGN(normalizer_, read_normalizer(json["normalizer"]));
  QUERN_ASSIGN(pre_tokenizer_, read_pre_tokenizer(json["pre_tokenizer"]));
  QUERN_ASSIGN(added_, AddedTokens::read(json["added_tokens"], normalizer_));
  QUERN_ASSIGN(decoder_, read_token_decoder(json["decoder"]));
  return read_post_processor(json["post_processor"]);
}

Status Tokenizer::read_post_processor(Json json) {
  if (!json) return {};
  const std::string_view type = json["type"].text();
  if (type == "ByteLevel") return {};  // it moves offsets, which nobody asks for here
  if (type == "TemplateProcessing") return read_template(json);
  if (type == "BertProcessing" || type == "RobertaProcessing")
    return add_around(json["cls"], json["sep"]);
  if (type == "Sequence") {
    for (const Json element : json["processors"].elements())
      QUERN_TRY(read_post_processor(element));
    return {};
  }
  return unknown_component("post_processor", json);
}

Status Tokenizer::read_template(Json json) {
  const Json known = json["special_tokens"];
  std::vector<TokenId> before;
  std::vector<TokenId> after;
  bool is_after = false;
  for (const Json element : json["single"].elements()) {
    if (element["Sequence"].is_object()) {
      if (is_after) return broken_tokenizer("a template that has its text twice is not supported");
      is_after = true;
      continue;
    }
    const std::string_view name = element["SpecialToken"]["id"].text();
    const Json ids = known[name]["ids"];
    if (!ids.is_array())
      return broken_tokenizer(cat("the template's special token '", shown(name), "' has no ids"));
    for (const Json id : ids.elements()) {
      const auto number = id.integer();
      if (!number || *number < 0 || *number > Vocabulary::max_id)
        return broken_tokenizer(
            cat("the template's special token '", shown(name), "' has no valid id"));
      (is_after ? after : before).push_back(static_cast<TokenId>(*number));
    }
  }
  if (!is_after) return broken_tokenizer("a template without its text is not supported");
  before_.insert(before_.begin(), before.begin(), before.end());
  after_.insert(after_.end(), after.begin(), after.end());
  return {};
}

// Each is ["[CLS]", 101].
Status Tokenizer::add_around(Json cls, Json sep) {
  const auto id_in = [](Json pair) {
    const auto both = pair.elements();
    return both.size() == 2 ? both[1].integer() : std::nullopt;
  };
  const auto first = id_in(cls);
  const auto last = id_in(sep);
  if (!first || !last || *first < 0 || *last < 0 || std::max(*first, *last) > Vocabulary::max_id)
    return broken_tokenizer("cls and sep are no tokens with ids");
  before_.insert(before_.begin(), static_cast<TokenId>(*first));
  after_.push_back(static_cast<TokenId>(*last));
  return {};
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, Specials specials) const {
  return guarded([&]() -> Result<std::vector<TokenId>> {
    if (text.size() > max_text_bytes)
      return Status(Code::unsupported, cat("a text of ", text.size(), " bytes, at most ",
                                           max_text_bytes, " are taken"));
    Work work = work_for(text.size());
    QUERN_ASSIGN(const auto parts, added_.extract(code_points(text), normalizer_, work));
    std::vector<TokenId> ids;
    if (specials == Specials::kept) ids = before_;
    for (const TextPart& part : parts) {
      if (part.token) {
        ids.push_back(*part.token);
        continue;
      }
      if (part.text.empty()) continue;
      Pieces pieces = {{part.text, part.is_first}};
      if (pre_tokenizer_) QUERN_TRY(pre_tokenizer_(pieces, work));
      for (const Piece& piece : pieces) QUERN_TRY(model_->tokenize(utf8(piece.text), ids, work));
    }
    if (specials == Specials::kept) ids.insert(ids.end(), after_.begin(), after_.end());
    return ids;
  });
}

Result<std::string> Tokenizer::decoded_bytes(std::span<const TokenId> ids,
                                             Specials specials) const {
  std::vector<std::string> texts;
  std::size_t bytes = 0;
  for (const TokenId id : ids) {
    const std::string* token = token_of(id);
    if (!token || (specials == Specials::left_out && is_special(id))) continue;
    texts.push_back(*token);
    bytes += token->size();
    if (bytes > max_text_bytes)
      return Status(Code::unsupported,
                    cat("tokens of more than ", max_text_bytes, " bytes of text"));
  }
  if (decoder_) {
    Work work(decoding_steps * (texts.size() + 1) + 100 * bytes);
    QUERN_TRY(decoder_(texts, work));
  }
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!decoder_ && i > 0) all += ' ';
    all += texts[i];
  }
  return all;
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, Specials specials) const {
  return guarded([&]() -> Result<std::string> {
    QUERN_ASSIGN(const std::string bytes, decoded_bytes(ids, specials));
    return repaired_utf8(bytes);
  });
}

std::optional<TokenId> Tokenizer::id_of(std::string_view token) const {
  const auto added = added_.vocabulary().id_of(token);
  return added ? added : model_->vocabulary().id_of(token);
}

const std::string* Tokenizer::token_of(TokenId id) const {
  const std::string* added = added_.vocabulary().token_of(id);
  return added ? added : model_->vocabulary().token_of(id);
}

std::size_t Tokenizer::id_count() const {
  return std::max(added_.vocabulary().id_count(), model_->vocabulary().id_count());
}

// Decodes the tokens that gave the last text, and those with what came since: what is more is new.
// So a decoder that treats the first token otherwise, or joins neighbours, gives the same text as
// for all tokens at once.
Result<std::string> StreamDecoder::add(TokenId id) {
  return guarded([&]() -> Result<std::string> {
    if (specials_ == Specials::left_out && tokenizer_->is_special(id)) return std::string();
    ids_.push_back(id);
    QUERN_ASSIGN(const std::string all, tokenizer_->decoded_bytes(ids_, specials_));
    if (ends_unfinished(all) && ids_.size() - given_ < max_held_tokens) return std::string();
    return finish();
  });
}

Result<std::string> StreamDecoder::add_bytes(TokenId id) {
  return guarded([&]() -> Result<std::string> {
    if (specials_ == Specials::left_out && tokenizer_->is_special(id)) return std::string();
    ids_.push_back(id);
    QUERN_ASSIGN(const std::string all, tokenizer_->decoded_bytes(ids_, specials_));
    if (all.ends_with(replacement_bytes) && ids_.size() - given_ < max_held_tokens)
      return std::string();
    return give();
  });
}

Result<std::string> StreamDecoder::finish() {
  return guarded([&]() -> Result<std::string> {
    QUERN_ASSIGN(const std::string text, give());
    return repaired_utf8(text);
  });
}

Result<std::string> StreamDecoder::give() {
  const std::span<const TokenId> known(ids_.data(), given_);
  QUERN_ASSIGN(const std::string before, tokenizer_->decoded_bytes(known, specials_));
  QUERN_ASSIGN(const std::string all, tokenizer_->decoded_bytes(ids_, specials_));
  const bool is_more = all.size() > before.size();
  if (!is_more && ids_.size() - given_ < max_held_tokens) return std::string();
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(given_));
  given_ = ids_.size();
  return is_more ? all.substr(before.size()) : std::string();
}

}  // namespace quern::language
