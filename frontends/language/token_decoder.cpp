// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/token_decoder.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "frontends/language/byte_letters.h"
#include "frontends/language/normalizer.h"
#include "frontends/language/pattern.h"
#include "frontends/language/pre_tokenizer.h"
#include "frontends/language/unicode.h"

namespace quern::language {
namespace {

using Texts = std::vector<std::string>;

Status decodes_too_much() {
  return {Code::unsupported, "the tokenizer's decoder makes more of these tokens than is allowed"};
}

// `text` with `to` for each `from`, which is not empty. False: the work is spent.
bool replace_all(std::string& text, std::string_view from, std::string_view to, Work& work) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = text.find(from, done)) != std::string::npos;) {
    if (!work.spend(1 + to.size())) return false;
    out.append(text, done, at - done) += to;
    done = at + from.size();
  }
  if (done > 0) text = std::move(out.append(text, done, std::string::npos));
  return work.spend(text.size());
}

void fuse(Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all += text;
  texts.clear();
  texts.push_back(std::move(all));
}

// A token with letters that stand for no byte is taken as it is.
Status decode_byte_letters(Texts& texts, Work& work) {
  for (std::string& text : texts) {
    if (!work.spend(text.size())) return decodes_too_much();
    std::string bytes;
    bool is_all = true;
    for (const char32_t letter : code_points(text)) {
      const int byte = byte_of_letter(letter);
      is_all = is_all && byte >= 0;
      bytes += static_cast<char>(byte);
    }
    if (is_all) text = std::move(bytes);
  }
  fuse(texts);
  return {};
}

// The byte that a token "<0xNN>" stands for.
std::optional<char> byte_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  unsigned value = 0;
  for (const char c : text.substr(3, 2)) {
    const char small = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9')
      value = value * 16 + static_cast<unsigned>(c - '0');
    else if (small >= 'a' && small <= 'f')
      value = value * 16 + static_cast<unsigned>(small - 'a' + 10);
    else
      return std::nullopt;
  }
  return static_cast<char>(value);
}

// Bytes that stand together are a text where they are UTF-8, else U+FFFD each.
Status decode_byte_tokens(Texts& texts, Work& work) {
  Texts out;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty()) return;
    if (repaired_utf8(bytes) == bytes)
      out.push_back(bytes);
    else
      out.insert(out.end(), bytes.size(), "\xEF\xBF\xBD");
    bytes.clear();
  };
  for (std::string& text : texts) {
    if (!work.spend(8 + text.size())) return decodes_too_much();
    if (const auto byte = byte_token(text)) {
      bytes += *byte;
    } else {
      flush();
      out.push_back(std::move(text));
    }
  }
  flush();
  texts = std::move(out);
  return {};
}

// Spaces that English writes before no mark.
constexpr std::pair<std::string_view, std::string_view> clean_ups[] = {
    {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
    {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
    {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};

TokenDecoder of_word_piece(Json json) {
  return [prefix = std::string(json["prefix"].text()),
          cleans = json["cleanup"].boolean().value_or(true)](Texts& texts, Work& work) -> Status {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::string& text = texts[i];
      if (i > 0 && !prefix.empty() && text.starts_with(prefix))
        text.erase(0, prefix.size());
      else if (i > 0)
        text.insert(0, " ");
      if (!cleans) continue;
      for (const auto& [from, to] : clean_ups)
        if (!replace_all(text, from, to, work)) return decodes_too_much();
    }
    return {};
  };
}

Result<TokenDecoder> decoder_metaspace(Json json) {
  const std::string mark(json["replacement"].text());
  if (mark.empty())
    return Status(Code::invalid_argument, "tokenizer.json: Metaspace has no replacement");
  QUERN_ASSIGN(const PrependScheme scheme, read_prepend_scheme(json));
  const bool drops_first = scheme != PrependScheme::never;
  return TokenDecoder([mark, drops_first](Texts& texts, Work& work) -> Status {
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (!replace_all(texts[i], mark, i == 0 && drops_first ? "" : " ", work))
        return decodes_too_much();
    return {};
  });
}

Result<TokenDecoder> decoder_strip(Json json) {
  const std::string content(json["content"].text());
  if (code_points(content).size() != 1)
    return Status(Code::invalid_argument, "tokenizer.json: Strip has no content of one character");
  const auto count = [&](const char* name) { return json[name].integer().value_or(0); };
  return TokenDecoder([content, start = count("start"), stop = count("stop")](
                          Texts& texts, Work& work) -> Status {
    for (std::string& text : texts) {
      if (!work.spend(text.size())) return decodes_too_much();
      std::size_t begin = 0;
      for (std::int64_t i = 0; i < start && text.compare(begin, content.size(), content) == 0; ++i)
        begin += content.size();
      text.erase(0, begin);
      for (std::int64_t i = 0; i < stop && text.ends_with(content); ++i)
        text.resize(text.size() - content.size());
    }
    return {};
  });
}

Result<TokenDecoder> decoder_replace(Json json) {
  QUERN_ASSIGN(Pattern pattern, read_pattern(json["pattern"]));
  return TokenDecoder(
      [pattern = std::make_shared<const Pattern>(std::move(pattern)),
       content = code_points(json["content"].text())](Texts& texts, Work& work) -> Status {
        for (std::string& text : texts) {
          if (!work.spend(4 * text.size())) return decodes_too_much();
          std::u32string whole = code_points(text);
          QUERN_TRY(replace_matches(whole, *pattern, content, work));
          text = utf8(whole);
        }
        return {};
      });
}

// Tokens that end a word carry a suffix, which becomes a space.
TokenDecoder of_suffix(Json json) {
  const Json suffix = json["suffix"];
  return [suffix = std::string(suffix.is_text() ? suffix.text() : "</w>")](Texts& texts,
                                                                           Work& work) -> Status {
    for (std::size_t i = 0; i < texts.size() && !suffix.empty(); ++i)
      if (!replace_all(texts[i], suffix, i + 1 < texts.size() ? " " : "", work))
        return decodes_too_much();
    return {};
  };
}

Result<TokenDecoder> decoder_sequence(Json list) {
  std::vector<TokenDecoder> parts;
  for (const Json element : list.elements()) {
    QUERN_ASSIGN(TokenDecoder part, read_token_decoder(element));
    if (part) parts.push_back(std::move(part));
  }
  return TokenDecoder([parts = std::move(parts)](Texts& texts, Work& work) -> Status {
    for (const TokenDecoder& part : parts) QUERN_TRY(part(texts, work));
    return {};
  });
}

}  // namespace

Result<TokenDecoder> read_token_decoder(Json json) {
  if (!json) return TokenDecoder();
  const std::string_view type = json["type"].text();
  if (type == "ByteLevel") return TokenDecoder(decode_byte_letters);
  if (type == "ByteFallback") return TokenDecoder(decode_byte_tokens);
  if (type == "WordPiece") return of_word_piece(json);
  if (type == "Metaspace") return decoder_metaspace(json);
  if (type == "Strip") return decoder_strip(json);
  if (type == "Replace") return decoder_replace(json);
  if (type == "BPEDecoder") return of_suffix(json);
  if (type == "Fuse")
    return TokenDecoder([](Texts& texts, Work&) -> Status {
      fuse(texts);
      return {};
    });
  if (type == "Sequence") return decoder_sequence(json["decoders"]);
  return unknown_component("decoder", json);
}

}  // namespace quern::language
