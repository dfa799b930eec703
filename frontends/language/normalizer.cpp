// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/normalizer.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/language/byte_letters.h"
#include "frontends/language/precompiled.h"
#include "frontends/language/unicode.h"

namespace quern::language {
namespace {

using Text = std::u32string;

Status grows_too_large() {
  return {Code::unsupported, "the tokenizer's normalizer makes more of this text than is allowed"};
}

Normalizer of_form(NormalForm form) {
  return [form](Text& text, Work& work) -> Status {
    if (!work.spend(20 * text.size())) return grows_too_large();
    text = normalized(text, form);
    return {};
  };
}

// A normalizer of what `keeps` says of each code point.
template <class F>
Normalizer of_filter(const F& keeps) {
  return [keeps](Text& text, Work& work) -> Status {
    if (!work.spend(text.size())) return grows_too_large();
    std::erase_if(text, [&](char32_t c) { return !keeps(c); });
    return {};
  };
}

Status make_small(Text& text, Work& work) {
  if (!work.spend(2 * text.size())) return grows_too_large();
  Text out;
  out.reserve(text.size());
  for (const char32_t c : text) append_small(out, c);
  text = std::move(out);
  return {};
}

struct Ends {
  bool left, right;
};

Normalizer normalizer_strip(Ends ends) {
  return [ends](Text& text, Work&) -> Status {
    std::size_t begin = 0;
    std::size_t end = text.size();
    while (ends.left && begin < end && is_white_space(text[begin])) ++begin;
    while (ends.right && end > begin && is_white_space(text[end - 1])) --end;
    text = text.substr(begin, end - begin);
    return {};
  };
}

Normalizer of_prepend(std::string_view what) {
  return [what = code_points(what)](Text& text, Work& work) -> Status {
    if (!work.spend(what.size() + text.size())) return grows_too_large();
    if (!text.empty()) text.insert(0, what);
    return {};
  };
}

// The controls and spaces that translation models leave out or make a space.
Status clean_for_translation(Text& text, Work& work) {
  if (!work.spend(text.size())) return grows_too_large();
  std::erase_if(text, [](char32_t c) {
    return (c >= 1 && c <= 8) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
           c == 0x9F;
  });
  for (char32_t& c : text)
    if (c == 9 || c == 10 || c == 12 || c == 13 || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
        c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD)
      c = U' ';
  return {};
}

bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B820 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

Text cleaned(std::u32string_view text) {
  static const CategorySet other = category_set("C");
  Text out;
  for (const char32_t c : text) {
    const bool is_plain = c == U'\t' || c == U'\n' || c == U'\r';
    if (!is_plain && (c == 0xFFFD || is_in(c, other))) continue;
    out += is_white_space(c) ? U' ' : c;
  }
  return out;
}

Text with_chinese_apart(std::u32string_view text) {
  Text out;
  for (const char32_t c : text) {
    if (is_chinese(c))
      ((out += U' ') += c) += U' ';
    else
      out += c;
  }
  return out;
}

Normalizer bert_normalizer(Json json) {
  const bool is_small = json["lowercase"].boolean().value_or(true);
  const bool strips = json["strip_accents"].boolean().value_or(is_small);
  const bool cleans = json["clean_text"].boolean().value_or(true);
  const bool parts = json["handle_chinese_chars"].boolean().value_or(true);
  return [=](Text& text, Work& work) -> Status {
    if (!work.spend(40 * text.size())) return grows_too_large();
    if (cleans) text = cleaned(text);
    if (parts) text = with_chinese_apart(text);
    if (strips) {
      text = normalized(text, NormalForm::nfd);
      std::erase_if(text, [](char32_t c) { return is_in(c, set_of(Category::mn)); });
    }
    return is_small ? make_small(text, work) : Status();
  };
}

Result<Normalizer> normalizer_replace(Json json) {
  QUERN_ASSIGN(Pattern pattern, read_pattern(json["pattern"]));
  return Normalizer([pattern = std::make_shared<const Pattern>(std::move(pattern)),
                     content = code_points(json["content"].text())](Text& text, Work& work) {
    return replace_matches(text, *pattern, content, work);
  });
}

Result<Normalizer> normalizer_sequence(Json list) {
  std::vector<Normalizer> parts;
  for (const Json element : list.elements()) {
    QUERN_ASSIGN(Normalizer part, read_normalizer(element));
    if (part) parts.push_back(std::move(part));
  }
  return Normalizer([parts = std::move(parts)](Text& text, Work& work) -> Status {
    for (const Normalizer& part : parts) QUERN_TRY(part(text, work));
    return {};
  });
}

Result<Normalizer> of_precompiled(Json json) {
  QUERN_ASSIGN(PrecompiledReplacements map,
               PrecompiledReplacements::read(json["precompiled_charsmap"].text()));
  return Normalizer([map = std::make_shared<const PrecompiledReplacements>(std::move(map))](
                        Text& text, Work& work) -> Status {
    if (!work.spend(20 * text.size())) return grows_too_large();
    text = map->apply(text, work);
    return work.is_spent() ? grows_too_large() : Status();
  });
}

}  // namespace

Status unknown_component(std::string_view role, Json json) {
  const std::string_view type = json["type"].text();
  if (type.empty())
    return {Code::invalid_argument, cat("tokenizer.json: a ", role, " without a type")};
  return {Code::unsupported,
          cat("tokenizer.json: the ", role, " '", shown(type), "' is not supported")};
}

Result<Pattern> read_pattern(Json json) {
  if (json.is_text()) return Pattern::literal(code_points(json.text()));
  if (const Json text = json["String"]; text.is_text())
    return Pattern::literal(code_points(text.text()));
  if (const Json expression = json["Regex"]; expression.is_text())
    return Pattern::parse(expression.text());
  return Status(Code::invalid_argument, "tokenizer.json: a pattern is neither String nor Regex");
}

Status replace_matches(std::u32string& text, const Pattern& pattern, std::u32string_view content,
                       Work& work) {
  Text out;
  std::size_t from = 0;
  while (from < text.size()) {
    QUERN_ASSIGN(const auto found, pattern.find(text, from, work));
    if (!found) break;
    if (!work.spend(1 + content.size())) return grows_too_large();
    out.append(text, from, found->begin - from);
    out += content;
    from = found->end;
    if (found->begin == found->end && from < text.size()) out += text[from++];
  }
  out.append(text, std::min(from, text.size()), Text::npos);
  text = std::move(out);
  return {};
}

Result<Normalizer> read_normalizer(Json json) {
  if (!json) return Normalizer();
  const std::string_view type = json["type"].text();
  if (type == "NFC") return of_form(NormalForm::nfc);
  if (type == "NFD") return of_form(NormalForm::nfd);
  if (type == "NFKC") return of_form(NormalForm::nfkc);
  if (type == "NFKD") return of_form(NormalForm::nfkd);
  if (type == "Lowercase") return Normalizer(make_small);
  if (type == "StripAccents") return of_filter([](char32_t c) { return !is_mark(c); });
  if (type == "Strip")
    return normalizer_strip({json["strip_left"].boolean().value_or(true),
                             json["strip_right"].boolean().value_or(true)});
  if (type == "Prepend") return of_prepend(json["prepend"].text());
  if (type == "Replace") return normalizer_replace(json);
  if (type == "BertNormalizer") return bert_normalizer(json);
  if (type == "Nmt") return Normalizer(clean_for_translation);
  if (type == "Precompiled") return of_precompiled(json);
  if (type == "ByteLevel")
    return Normalizer([](Text& text, Work& work) -> Status {
      if (!work.spend(4 * text.size())) return grows_too_large();
      text = letters_of_bytes(text);
      return {};
    });
  if (type == "Sequence") return normalizer_sequence(json["normalizers"]);
  return unknown_component("normalizer", json);
}

}  // namespace quern::language
