// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/unicode.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/vocabulary/utf8.h"

namespace quern::language {
namespace {

constexpr std::uint32_t category_runs[] = {
#include "frontends/language/unicode_categories.inc"
};
constexpr std::uint32_t class_runs[] = {
#include "frontends/language/unicode_classes.inc"
};
constexpr std::string_view decomposition_text =
#include "frontends/language/unicode_decompositions.inc"
    ;
constexpr std::string_view small_letter_text =
#include "frontends/language/unicode_small_letters.inc"
    ;
constexpr std::string_view category_names =
    "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCoCn";

constexpr char32_t hangul_first = 0xAC00;
constexpr char32_t leading_first = 0x1100;
constexpr char32_t vowel_first = 0x1161;
constexpr char32_t trailing_first = 0x11A7;
constexpr char32_t leading_count = 19;
constexpr char32_t vowel_count = 21;
constexpr char32_t trailing_count = 28;
constexpr char32_t hangul_count = leading_count * vowel_count * trailing_count;

// The value of the run that holds `c`, in a table of first code points shifted by `shift`.
template <std::size_t n>
std::uint32_t run_value(const std::uint32_t (&runs)[n], char32_t c, unsigned shift) {
  const std::uint32_t key = (static_cast<std::uint32_t>(c) << shift) | ((1U << shift) - 1);
  const auto after = std::upper_bound(std::begin(runs), std::end(runs), key);
  return *std::prev(after) & ((1U << shift) - 1);
}

std::uint32_t combining_class(char32_t c) {
  return c < 0x300 ? 0 : run_value(class_runs, c, 8);
}

// Calls found(c, mark, text) for each entry "41=61.307" of a table.
template <class F>
void read_table(std::string_view table, const F& found) {
  std::uint32_t number = 0;
  const auto read = [&] {
    const auto end = std::from_chars(table.data(), table.data() + table.size(), number, 16).ptr;
    table.remove_prefix(static_cast<std::size_t>(end - table.data()));
  };
  while (!table.empty()) {
    read();
    const char32_t c = number;
    const char mark = table[0];
    std::u32string text;
    do {
      table.remove_prefix(1);
      read();
      text += static_cast<char32_t>(number);
    } while (table[0] == '.');
    table.remove_prefix(1);
    found(c, mark, text);
  }
}

struct Decompositions {
  struct Entry {
    bool is_canonical;
    std::u32string text;
  };
  std::unordered_map<char32_t, Entry> of;
  std::unordered_map<std::uint64_t, char32_t> composed;

  static std::uint64_t pair(char32_t a, char32_t b) { return (std::uint64_t{a} << 32) | b; }
  Decompositions() {
    read_table(decomposition_text, [this](char32_t c, char mark, const std::u32string& text) {
      of[c] = {mark != '~', text};
      if (mark == '=') composed[pair(text[0], text[1])] = c;
    });
  }
};

const Decompositions& decompositions() {
  static const Decompositions table;
  return table;
}

enum class Mapping : std::uint8_t { canonical, compatible };

void decompose(char32_t c, Mapping kind, std::u32string& out) {
  if (c < 0xA0) {
    out += c;
  } else if (c >= hangul_first && c < hangul_first + hangul_count) {
    const char32_t index = c - hangul_first;
    out += static_cast<char32_t>(leading_first + index / (vowel_count * trailing_count));
    out += static_cast<char32_t>(vowel_first +
                                 index % (vowel_count * trailing_count) / trailing_count);
    if (index % trailing_count) out += trailing_first + index % trailing_count;
  } else {
    const auto found = decompositions().of.find(c);
    if (found == decompositions().of.end() ||
        (kind == Mapping::canonical && !found->second.is_canonical)) {
      out += c;
      return;
    }
    for (const char32_t part : found->second.text) decompose(part, kind, out);
  }
}

// Puts marks into the order of their classes, stable within a class.
void order_marks(std::u32string& text) {
  for (std::size_t i = 0; i < text.size();) {
    if (combining_class(text[i]) == 0) {
      ++i;
      continue;
    }
    std::size_t end = i;
    std::vector<std::pair<std::uint32_t, char32_t>> marks;
    for (; end < text.size(); ++end) {
      const std::uint32_t mark_class = combining_class(text[end]);
      if (mark_class == 0) break;
      marks.emplace_back(mark_class, text[end]);
    }
    std::ranges::stable_sort(marks, {}, &std::pair<std::uint32_t, char32_t>::first);
    for (const auto& mark : marks) text[i++] = mark.second;
  }
}

// What two adjacent code points compose to; 0: nothing.
char32_t composition(char32_t a, char32_t b) {
  if (a >= leading_first && a < leading_first + leading_count && b >= vowel_first &&
      b < vowel_first + vowel_count)
    return hangul_first + ((a - leading_first) * vowel_count + (b - vowel_first)) * trailing_count;
  if (a >= hangul_first && a < hangul_first + hangul_count &&
      (a - hangul_first) % trailing_count == 0 && b > trailing_first &&
      b < trailing_first + trailing_count)
    return a + (b - trailing_first);
  const auto& composed = decompositions().composed;
  const auto found = composed.find(Decompositions::pair(a, b));
  return found == composed.end() ? 0 : found->second;
}

// Canonical composition (Unicode, chapter 3.11).
void compose(std::u32string& text) {
  std::size_t out = 0;
  std::size_t starter = text.size();  // none yet
  std::uint32_t last_class = 0;       // of what stands between the starter and here
  for (const char32_t c : std::u32string(text)) {
    const std::uint32_t mark_class = combining_class(c);
    const bool is_blocked = out != starter + 1 && last_class >= mark_class;
    if (starter < out && !is_blocked) {
      if (const char32_t whole = composition(text[starter], c); whole != 0) {
        text[starter] = whole;
        continue;
      }
    }
    if (mark_class == 0) starter = out;
    last_class = mark_class;
    text[out++] = c;
  }
  text.resize(out);
}

}  // namespace

CategorySet category_set(std::string_view name) {
  CategorySet set = 0;
  for (std::size_t i = 0; i < category_names.size() && !name.empty() && name.size() <= 2; i += 2)
    if (category_names.substr(i, name.size()) == name) set |= CategorySet{1} << (i / 2);
  return set;
}

Category category_of(char32_t c) {
  return c > 0x10FFFF ? Category::cn : static_cast<Category>(run_value(category_runs, c, 5));
}

bool is_letter(char32_t c) {
  static const CategorySet set = category_set("L");
  return is_in(c, set);
}

bool is_mark(char32_t c) {
  static const CategorySet set = category_set("M");
  return c >= 0x300 && is_in(c, set);
}

bool is_number(char32_t c) {
  static const CategorySet set = category_set("N");
  return is_in(c, set);
}

bool is_punctuation(char32_t c) {
  static const CategorySet set = category_set("P");
  return is_in(c, set);
}

bool is_white_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_word(char32_t c) {
  static const CategorySet set = category_set("L") | category_set("M") | category_set("Nd") |
                                 category_set("Nl") | category_set("Pc");
  return is_in(c, set) || c == 0x200C || c == 0x200D;
}

std::u32string code_points(std::string_view utf8) {
  std::u32string out;
  out.reserve(utf8.size());
  while (!utf8.empty()) {
    const Decoded d = decode_first(utf8);
    out += d.c;
    utf8.remove_prefix(d.length);
  }
  return out;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0U | (c >> 6));
    put(0x80U | (c & 0x3FU));
  } else if (c < 0x10000) {
    put(0xE0U | (c >> 12));
    put(0x80U | ((c >> 6) & 0x3FU));
    put(0x80U | (c & 0x3FU));
  } else {
    put(0xF0U | (c >> 18));
    put(0x80U | ((c >> 12) & 0x3FU));
    put(0x80U | ((c >> 6) & 0x3FU));
    put(0x80U | (c & 0x3FU));
  }
}

std::string utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

std::string repaired_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Decoded d = decode_first(bytes);
    if (d.is_whole)
      out += bytes.substr(0, d.length);
    else
      append_utf8(out, replacement_character);
    bytes.remove_prefix(d.length);
  }
  return out;
}

std::size_t unfinished_bytes(std::string_view bytes) {
  for (std::size_t n = 1; n <= 3 && n <= bytes.size(); ++n) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - n]);
    if ((byte & 0xC0U) == 0x80U) continue;
    const Decoded d = decode_first(bytes.substr(bytes.size() - n));
    return d.wants_more && d.length == n ? n : 0;
  }
  return 0;
}

std::u32string normalized(std::u32string_view text, NormalForm form) {
  const bool is_compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
  std::u32string out;
  out.reserve(text.size());
  for (const char32_t c : text)
    decompose(c, is_compatible ? Mapping::compatible : Mapping::canonical, out);
  order_marks(out);
  if (form == NormalForm::nfc || form == NormalForm::nfkc) compose(out);
  return out;
}

void append_small(std::u32string& out, char32_t c) {
  static const auto table = [] {
    std::unordered_map<char32_t, std::u32string> small;
    read_table(small_letter_text,
               [&](char32_t capital, char, const std::u32string& text) { small[capital] = text; });
    return small;
  }();
  if (c < 0x80) {
    out += c >= U'A' && c <= U'Z' ? c + 32 : c;
    return;
  }
  const auto found = table.find(c);
  if (found == table.end())
    out += c;
  else
    out += found->second;
}

char32_t folded(char32_t c) {
  if (c < 0x80) return c >= U'A' && c <= U'Z' ? c + 32 : c;
  if (c == 0x17F) return U's';
  std::u32string small;
  append_small(small, c);
  return small.size() == 1 ? small[0] : c;
}

}  // namespace quern::language
