// SPDX-License-Identifier: Apache-2.0
// Text as code points: UTF-8, general categories, normal forms and small letters. The tables are
// those of the version of Unicode that unicode_tables.py found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quern::language {

// In the order of unicode_tables.py.
enum class Category : std::uint8_t {
  lu,
  ll,
  lt,
  lm,
  lo,
  mn,
  mc,
  me,
  nd,
  nl,
  no,
  pc,
  pd,
  ps,
  pe,  // clang-format off
  pi, pf, po, sm, sc, sk, so, zs, zl, zp, cc, cf, cs, co, cn,
};  // clang-format on

// A set of general categories.
using CategorySet = std::uint32_t;
constexpr CategorySet set_of(Category category) {
  return CategorySet{1} << static_cast<unsigned>(category);
}
// The set that a name of one or two letters stands for ("L", "Lu"); 0: no such name.
CategorySet category_set(std::string_view name);

Category category_of(char32_t c);
inline bool is_in(char32_t c, CategorySet set) {
  return (set_of(category_of(c)) & set) != 0;
}
bool is_letter(char32_t c);
bool is_mark(char32_t c);
bool is_number(char32_t c);
bool is_punctuation(char32_t c);
bool is_white_space(char32_t c);  // the property White_Space
bool is_word(char32_t c);         // \w: letters, marks, digits, connectors and joiners

// Bytes that are no UTF-8 become U+FFFD, one for each longest beginning of a character.
std::u32string code_points(std::string_view utf8);
void append_utf8(std::string& out, char32_t c);
std::string utf8(std::u32string_view text);
// `bytes` with the same replacement; whole.
std::string repaired_utf8(std::string_view bytes);
// The number of bytes at the end of `bytes` that begin a character and do not end it: 0 to 3.
std::size_t unfinished_bytes(std::string_view bytes);

enum class NormalForm : std::uint8_t { nfc, nfd, nfkc, nfkd };
std::u32string normalized(std::u32string_view text, NormalForm form);
void append_small(std::u32string& out, char32_t c);  // a capital may have a small form of two
// The small form of one code point, for comparing without case: that of the long s is s.
char32_t folded(char32_t c);

}  // namespace quern::language
