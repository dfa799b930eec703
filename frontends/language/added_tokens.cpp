// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/added_tokens.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "frontends/language/unicode.h"

namespace quern::language {
namespace {

Status too_many_steps() {
  return {Code::unsupported, "the tokenizer takes too many steps to find its tokens in this text"};
}

}  // namespace

void AddedTokens::Matcher::add(std::u32string content, const Token& token) {
  if (content.empty()) return;
  auto& known = lengths[content[0]];
  const auto place = std::ranges::lower_bound(known, content.size(), std::greater());
  if (place == known.end() || *place != content.size()) known.insert(place, content.size());
  tokens.insert_or_assign(std::move(content), token);
}

const AddedTokens::Token* AddedTokens::Matcher::find(std::u32string_view text, std::size_t at,
                                                     std::size_t& length, Work& work) const {
  const auto of_first = lengths.find(text[at]);
  if (of_first == lengths.end()) return nullptr;
  for (const std::size_t n : of_first->second) {
    if (n > text.size() - at) continue;
    if (!work.spend(n)) return nullptr;
    const auto found = tokens.find(std::u32string(text.substr(at, n)));
    if (found == tokens.end()) continue;
    length = n;
    return &found->second;
  }
  return nullptr;
}

Status AddedTokens::Matcher::split(const TextPart& part, std::vector<TextPart>& out,
                                   Work& work) const {
  const std::u32string_view text = part.text;
  std::size_t done = 0;
  const auto add_text = [&](std::size_t end) {
    if (done < end)
      out.push_back(
          {std::u32string(text.substr(done, end - done)), part.is_first && done == 0, {}});
  };
  for (std::size_t at = 0; at < text.size() && !tokens.empty();) {
    std::size_t length = 1;
    const Token* token = find(text, at, length, work);
    if (!work.spend(1)) return too_many_steps();
    std::size_t begin = at;
    at += length;
    if (!token || begin < done) continue;
    std::size_t end = at;
    if (token->is_single_word &&
        ((begin > 0 && is_word(text[begin - 1])) || (end < text.size() && is_word(text[end]))))
      continue;
    while (token->strips_left && begin > done && is_white_space(text[begin - 1])) --begin;
    while (token->strips_right && end < text.size() && is_white_space(text[end])) ++end;
    add_text(begin);
    out.push_back({{}, part.is_first && begin == 0, token->id});
    done = end;
  }
  add_text(text.size());
  return {};
}

Status AddedTokens::add(Json json, const Normalizer& normalizer) {
  const std::string_view content = json["content"].text();
  const auto id = json["id"].integer();
  if (!json["content"].is_text() || !id)
    return {Code::invalid_argument, "tokenizer.json: an added token without content or id"};
  QUERN_TRY(vocabulary_.add(content, *id));
  const auto is = [&](const char* name) { return json[name].boolean().value_or(false); };
  const Token token{static_cast<TokenId>(*id), is("lstrip"), is("rstrip"), is("single_word")};
  if (is("special")) special_.insert(token.id);
  std::u32string text = code_points(content);
  if (!json["normalized"].boolean().value_or(!is("special"))) {
    before_.add(std::move(text), token);
    return {};
  }
  if (normalizer) {
    Work work = work_for(text.size());
    QUERN_TRY(normalizer(text, work));
  }
  after_.add(std::move(text), token);
  return {};
}

Result<AddedTokens> AddedTokens::read(Json list, const Normalizer& normalizer) {
  AddedTokens all;
  for (const Json json : list.elements()) QUERN_TRY(all.add(json, normalizer));
  return all;
}

Result<std::vector<TextPart>> AddedTokens::extract(std::u32string text,
                                                   const Normalizer& normalizer, Work& work) const {
  std::vector<TextPart> parts;
  QUERN_TRY(before_.split({std::move(text), true, {}}, parts, work));
  std::vector<TextPart> out;
  for (TextPart& part : parts) {
    if (part.token) {
      out.push_back(std::move(part));
      continue;
    }
    if (normalizer) QUERN_TRY(normalizer(part.text, work));
    QUERN_TRY(after_.split(part, out, work));
  }
  return out;
}

}  // namespace quern::language
