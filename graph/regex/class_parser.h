// SPDX-License-Identifier: Apache-2.0
// The characters of an expression: where a parser stands, escapes, and classes in brackets.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <quern/status.h>

#include "graph/regex/character_set.h"

namespace quern::regex {

// A pattern of which the first `at` bytes are read.
struct Cursor {
  std::string_view text;
  std::size_t at = 0;

  bool at_end() const { return at == text.size(); }
  char peek(std::size_t ahead = 0) const {  // 0 behind the end
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }
  bool starts_with(std::string_view s) const { return text.substr(at).starts_with(s); }
  bool take(std::string_view s) {
    if (!starts_with(s)) return false;
    at += s.size();
    return true;
  }
  // The next code point. The pattern is UTF-8 and does not end here.
  char32_t take_character();

  Status error(std::string_view what) const;
  Status unsupported(std::string_view what) const;
};

enum class Case : std::uint8_t { counts, ignored };

// Adds the other cases of the members where they are ignored.
Status apply_case(const Cursor& at, Case letters, CharacterSet& set);

// \d, \pN and their like at the cursor, which stands on the backslash; none: it is another escape.
Result<std::optional<CharacterSet>> take_named_set(Cursor& at, Case letters);
// The character that an escape stands for; the cursor stands on the backslash.
Result<char32_t> take_escape(Cursor& at);
// A class in brackets; the cursor stands on the first one.
Result<CharacterSet> take_class(Cursor& at, Case letters);

}  // namespace quern::regex
