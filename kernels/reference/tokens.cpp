// SPDX-License-Identifier: Apache-2.0
// TokenCount and Tokens cut strings by expressions; StringHash is MurmurHash3_x86_32 of their
// bytes.
//
// com.microsoft: Tokenizer, whose width the parser makes of TokenCount, and MurmurHash3 of strings.
// Tokens point into the string that was cut. The expressions are compiled in each call, which
// allocates.
#include <bit>
#include <cstring>
#include <list>

#include "engine/vocabulary/text_util.h"
#include "engine/vocabulary/utf8.h"
#include "graph/ops/strings.h"
#include "graph/regex/search.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/string_room.h"

namespace quern {
namespace {

// The number of characters; nullopt: it is no UTF-8.
std::optional<std::int64_t> characters_of(std::string_view text) {
  std::int64_t n = 0;
  for (; !text.empty(); ++n) {
    const Decoded d = decode_first(text);
    if (!d.is_whole) return std::nullopt;
    text.remove_prefix(d.length);
  }
  return n;
}

// Behind the character at byte `at`; one byte behind the end.
std::size_t behind(std::string_view text, std::size_t at) {
  return at < text.size() ? at + decode_first(text.substr(at)).length : at + 1;
}

class Cutter {
 public:
  static Result<Cutter> make(const TokenRule& rule) {
    Cutter cutter(rule);
    if (rule.is_of_characters()) return cutter;
    for (const std::string& pattern : rule.separators) QUERN_TRY(cutter.add(pattern));
    if (rule.separators.empty()) QUERN_TRY(cutter.add(rule.token));
    for (const regex::Program& p : cutter.programs_) cutter.searches_.emplace_back(p);
    return cutter;
  }

  // Calls f(token) for each token of `text`, which is UTF-8, in order.
  template <class F>
  void for_each(std::string_view text, StopCheck& check, F&& f) {
    if (rule_->is_of_characters()) {
      for (std::size_t at = 0; at < text.size() && !check.spend(4); at = behind(text, at))
        f(text.substr(at, behind(text, at) - at));
    } else if (rule_->separators.empty()) {
      find_tokens(text, check, f);
    } else {
      cut(0, text, check, f);
    }
  }

 private:
  explicit Cutter(const TokenRule& rule) : rule_(&rule) {}

  Status add(const std::string& pattern) {
    QUERN_ASSIGN(regex::Program program, regex::Program::compile(pattern));
    programs_.push_back(std::move(program));
    return {};
  }

  bool is_long(std::string_view token) const { return characters_of(token) >= rule_->least; }

  // The pieces between what separator `level` matches, cut at the ones behind it.
  template <class F>
  void cut(std::size_t level, std::string_view text, StopCheck& check, F&& f) {
    if (level == searches_.size()) return f(text);
    const auto piece = [&](std::size_t from, std::size_t to) {
      const std::string_view all = text.substr(from, to - from);
      if (is_long(all)) cut(level + 1, all, check, f);
    };
    std::size_t from = 0;
    while (from <= text.size() && !check.spend(64)) {
      const auto match = searches_[level].find(text, from, check);
      if (!match) return piece(from, text.size());
      piece(from, match->begin);
      from = match->end > match->begin ? match->end : behind(text, match->end);
    }
  }

  template <class F>
  void find_tokens(std::string_view text, StopCheck& check, F&& f) {
    std::size_t from = 0;
    while (from <= text.size() && !check.spend(64)) {
      const auto match = searches_[0].find(text, from, check);
      if (!match) return;
      const std::string_view token = text.substr(match->begin, match->end - match->begin);
      from = is_long(token) ? match->end : behind(text, match->begin);
      if (is_long(token)) f(token);
    }
  }

  const TokenRule* rule_;
  std::list<regex::Program> programs_;  // which stay where they are
  std::vector<regex::Search> searches_;
};

Status want_utf8(const StringRef& text, std::int64_t i) {
  if (characters_of(text.view())) return {};
  return {Code::invalid_argument, cat("text ", i, " is no UTF-8")};
}

Status token_count_reference(const ReferenceCall& call) {
  QUERN_ASSIGN(Cutter cutter, Cutter::make(call.as<TokenCount>()));
  auto* y = call.outputs[0].as<std::int64_t>();
  StopCheck check(call.stop);
  std::int64_t i = 0;
  for (const StringRef& text : call.inputs[0].span<StringRef>()) {
    if (check.spend(16 + static_cast<std::int64_t>(text.size))) return {};
    QUERN_TRY(want_utf8(text, i));
    y[i] = 0;
    cutter.for_each(text.view(), check, [&](std::string_view) { ++y[i]; });
    ++i;
  }
  return {};
}

Status tokens_reference(const ReferenceCall& call) {
  const auto& op = call.as<Tokens>();
  QUERN_ASSIGN(Cutter cutter, Cutter::make(op));
  const Shape& shape = call.outputs[0].type.shape;
  const std::int64_t width = shape[shape.rank() - 1];
  QUERN_TRY(check_room(call.strings, op.padding.size() + 2));
  const StringRef padding = call.strings.add(op.padding);
  const StringRef begin = call.strings.add("\x02"), end = call.strings.add("\x03");
  auto* y = call.outputs[0].as<StringRef>();
  StopCheck check(call.stop);
  std::int64_t i = 0;
  for (const StringRef& text : call.inputs[0].span<StringRef>()) {
    if (check.spend(16 + static_cast<std::int64_t>(text.size) + width)) return {};
    QUERN_TRY(want_utf8(text, i++));
    std::int64_t n = 0;
    const auto put = [&](const StringRef& token) {
      if (n < width) y[n++] = token;
    };
    if (op.marks) put(begin);
    cutter.for_each(text.view(), check, [&](std::string_view token) {
      put({token.data(), token.size()});
    });
    if (op.marks) put(end);
    while (n < width) y[n++] = padding;
    y += width;
  }
  return {};
}

// ---- hashes

std::uint32_t mixed(std::uint32_t word) {
  return std::rotl(word * 0xcc9e2d51U, 15) * 0x1b873593U;
}

std::uint32_t hash_of(std::string_view text, std::uint32_t h) {
  const auto length = static_cast<std::uint32_t>(text.size());
  for (; text.size() >= 4; text.remove_prefix(4)) {
    std::uint32_t word = 0;
    std::memcpy(&word, text.data(), 4);
    h = std::rotl(h ^ mixed(word), 13) * 5 + 0xe6546b64U;
  }
  std::uint32_t rest = 0;
  for (std::size_t i = text.size(); i-- > 0;)
    rest = rest << 8 | static_cast<unsigned char>(text[i]);
  if (!text.empty()) h ^= mixed(rest);
  h ^= length;
  h = (h ^ h >> 16) * 0x85ebca6bU;
  h = (h ^ h >> 13) * 0xc2b2ae35U;
  return h ^ h >> 16;
}

Status string_hash_reference(const ReferenceCall& call) {
  const auto seed = static_cast<std::uint32_t>(call.as<StringHash>().seed);
  auto* y = call.outputs[0].as<std::uint32_t>();
  StopCheck check(call.stop);
  for (const StringRef& text : call.inputs[0].span<StringRef>()) {
    if (check.spend(16 + static_cast<std::int64_t>(text.size))) return {};
    *y++ = hash_of(text.view(), seed);
  }
  return {};
}

}  // namespace

const OpKernels& TokenCount::kernels() {
  static constexpr OpKernels table{.reference = {token_count_reference}};
  return table;
}

const OpKernels& Tokens::kernels() {
  static constexpr OpKernels table{.reference = {tokens_reference}};
  return table;
}

const OpKernels& StringHash::kernels() {
  static constexpr OpKernels table{.reference = {string_hash_reference}};
  return table;
}

}  // namespace quern
