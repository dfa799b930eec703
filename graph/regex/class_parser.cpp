// SPDX-License-Identifier: Apache-2.0
#include "graph/regex/class_parser.h"

#include "engine/vocabulary/text_util.h"
#include "engine/vocabulary/utf8.h"

namespace quern::regex {
namespace {

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

std::optional<char32_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// Of an octal escape up to three digits; the cursor stands on the first one.
char32_t take_octal(Cursor& at) {
  char32_t value = 0;
  for (int digits = 0; digits < 3 && is_octal(at.peek()); ++digits, ++at.at)
    value = value * 8 + static_cast<char32_t>(at.peek() - '0');
  return value;
}

// Behind \x: two digits, or any number of them in braces.
Result<char32_t> take_hex(Cursor& at) {
  const bool in_braces = at.take("{");
  char32_t value = 0;
  std::size_t digits = 0;
  while (const auto digit = hex_digit(at.peek())) {
    if (!in_braces && digits == 2) break;
    value = value * 16 + *digit;
    ++digits;
    ++at.at;
    if (value > last_code_point) return at.error("a character above 10FFFF");
  }
  if (digits == 0 || (in_braces ? !at.take("}") : digits != 2))
    return at.error("\\x wants two hexadecimal digits, or some in braces");
  return value;
}

// [:name:] or [:^name:]; none: this is no such class.
Result<std::optional<CharacterSet>> take_posix_set(Cursor& at, Case letters) {
  if (!at.starts_with("[:")) return std::optional<CharacterSet>();
  const std::size_t end = at.text.find(":]", at.at + 2);
  if (end == std::string_view::npos) return std::optional<CharacterSet>();
  std::string_view name = at.text.substr(at.at + 2, end - at.at - 2);
  const bool is_negated = name.starts_with('^');
  if (is_negated) name.remove_prefix(1);
  const CharacterSet* known = posix_set(name);
  if (!known) return at.error(cat("there is no class [:", printable(name), ":]"));
  at.at = end + 2;
  CharacterSet set = *known;
  QUERN_TRY(apply_case(at, letters, set));
  if (is_negated) set.negate();
  return std::optional(std::move(set));
}

// A member of a class: a character or an escape.
Result<char32_t> take_member(Cursor& at) {
  if (at.at_end()) return at.error("a class without its ]");
  return at.peek() == '\\' ? take_escape(at) : Result<char32_t>(at.take_character());
}

Result<CharacterSet> take_range(Cursor& at, Case letters) {
  QUERN_ASSIGN(const char32_t first, take_member(at));
  char32_t last = first;
  if (at.peek() == '-' && at.at + 1 < at.text.size() && at.peek(1) != ']') {
    ++at.at;
    QUERN_ASSIGN(last, take_member(at));
    if (last < first) return at.error("a range whose end is before its begin");
  }
  CharacterSet members({{first, last}});
  QUERN_TRY(apply_case(at, letters, members));
  return members;
}

}  // namespace

char32_t Cursor::take_character() {
  const Decoded d = decode_first(text.substr(at));
  at += d.length;
  return d.c;
}

Status Cursor::error(std::string_view what) const {
  return {Code::invalid_argument, cat("the expression, at byte ", at, ": ", what)};
}

Status Cursor::unsupported(std::string_view what) const {
  return {Code::unsupported, cat("the expression, at byte ", at, ": ", what)};
}

Status apply_case(const Cursor& at, Case letters, CharacterSet& set) {
  if (letters == Case::counts || set.fold()) return {};
  return at.unsupported("ignoring case is for ASCII alone, and a character here is not of it");
}

Result<std::optional<CharacterSet>> take_named_set(Cursor& at, Case letters) {
  const char letter = at.peek(1);
  if (letter == 'p' || letter == 'P')
    return at.unsupported("classes of Unicode (\\p) are not supported");
  const bool is_negated = letter >= 'A' && letter <= 'Z';
  const CharacterSet* known = perl_set(static_cast<char>(is_negated ? letter + 32 : letter));
  if (!known) return std::optional<CharacterSet>();
  at.at += 2;
  CharacterSet set = *known;
  QUERN_TRY(apply_case(at, letters, set));
  if (is_negated) set.negate();
  return std::optional(std::move(set));
}

Result<char32_t> take_escape(Cursor& at) {
  ++at.at;
  if (at.at_end()) return at.error("a backslash at the end");
  const char c = at.peek();
  // One digit refers to a group, which no automaton can follow.
  if (c == '0' || (c >= '1' && c <= '7' && is_octal(at.peek(1)))) return take_octal(at);
  if (c >= '1' && c <= '9') return at.error("references to groups are not in this syntax");
  ++at.at;
  switch (c) {
    case 'x': return take_hex(at);
    case 'a': return U'\a';
    case 'f': return U'\f';
    case 'n': return U'\n';
    case 'r': return U'\r';
    case 't': return U'\t';
    case 'v': return U'\v';
    default: break;
  }
  if (static_cast<unsigned char>(c) < 0x80 && (c == '_' || !is_word(static_cast<char32_t>(c))))
    return static_cast<char32_t>(c);
  --at.at;
  return at.error("this escape is not in this syntax");
}

Result<CharacterSet> take_class(Cursor& at, Case letters) {
  const Cursor begin = at;
  ++at.at;
  const bool is_negated = at.take("^");
  std::vector<CodeRange> ranges;
  // A ] that comes first is a member.
  for (bool is_first = true; is_first || at.peek() != ']' || at.at_end(); is_first = false) {
    if (at.at_end()) return begin.error("a class without its ]");
    QUERN_ASSIGN(std::optional<CharacterSet> named, take_posix_set(at, letters));
    if (!named && at.peek() == '\\') {
      QUERN_ASSIGN(named, take_named_set(at, letters));
    }
    if (!named) {
      QUERN_ASSIGN(named, take_range(at, letters));
    }
    ranges.insert(ranges.end(), named->ranges().begin(), named->ranges().end());
  }
  ++at.at;
  CharacterSet set(std::move(ranges));
  if (is_negated) set.negate();
  return set;
}

}  // namespace quern::regex
