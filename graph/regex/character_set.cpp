// SPDX-License-Identifier: Apache-2.0
#include "graph/regex/character_set.h"

#include <algorithm>

namespace quern::regex {
namespace {

struct NamedSet {
  std::string_view name;
  CharacterSet set;
};

}  // namespace

void CharacterSet::merge() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const CodeRange& a, const CodeRange& b) { return a.first < b.first; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < ranges_.size(); ++i) {
    if (ranges_[i].first <= ranges_[kept].last + 1)
      ranges_[kept].last = std::max(ranges_[kept].last, ranges_[i].last);
    else
      ranges_[++kept] = ranges_[i];
  }
  if (!ranges_.empty()) ranges_.resize(kept + 1);
}

bool CharacterSet::fold() {
  // Beyond ASCII stand the long s and the sign of the kelvin, whose small letters are s and k.
  constexpr char32_t long_s = 0x17F;
  constexpr char32_t kelvin = 0x212A;
  const std::vector<CodeRange> given = ranges_;
  for (const CodeRange& r : given) {
    const bool is_s_or_k = r.first == r.last && (r.first == long_s || r.first == kelvin);
    if (r.last >= 0x80 && !is_s_or_k) return false;
    for (char32_t c = r.first; c <= r.last; ++c) {
      const char32_t small = c == long_s ? U's' : c == kelvin ? U'k' : c | 0x20;
      if (small < 'a' || small > 'z') continue;
      ranges_.push_back({small, small});
      ranges_.push_back({small - 0x20, small - 0x20});
      if (small == 's') ranges_.push_back({long_s, long_s});
      if (small == 'k') ranges_.push_back({kelvin, kelvin});
    }
  }
  merge();
  return true;
}

void CharacterSet::negate() {
  std::vector<CodeRange> others;
  char32_t next = 0;
  for (const CodeRange& r : ranges_) {
    if (r.first > next) others.push_back({next, r.first - 1});
    next = r.last + 1;
  }
  if (next <= last_code_point) others.push_back({next, last_code_point});
  ranges_ = std::move(others);
}

bool CharacterSet::has(char32_t c) const {
  const auto behind = std::upper_bound(ranges_.begin(), ranges_.end(), c,
                                       [](char32_t v, const CodeRange& r) { return v < r.first; });
  return behind != ranges_.begin() && c <= behind[-1].last;
}

bool is_word(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

const CharacterSet* perl_set(char letter) {
  static const CharacterSet digits = CharacterSet({{'0', '9'}});
  static const CharacterSet spaces = CharacterSet({{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}});
  static const CharacterSet word = CharacterSet({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
  return letter == 'd' ? &digits : letter == 's' ? &spaces : letter == 'w' ? &word : nullptr;
}

const CharacterSet* posix_set(std::string_view name) {
  static const NamedSet sets[] = {
      {"alnum", CharacterSet({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}})},
      {"alpha", CharacterSet({{'A', 'Z'}, {'a', 'z'}})},
      {"ascii", CharacterSet({{0, 0x7F}})},
      {"blank", CharacterSet({{'\t', '\t'}, {' ', ' '}})},
      {"cntrl", CharacterSet({{0, 0x1F}, {0x7F, 0x7F}})},
      {"digit", CharacterSet({{'0', '9'}})},
      {"graph", CharacterSet({{'!', '~'}})},
      {"lower", CharacterSet({{'a', 'z'}})},
      {"print", CharacterSet({{' ', '~'}})},
      {"punct", CharacterSet({{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}})},
      {"space", CharacterSet({{'\t', '\r'}, {' ', ' '}})},
      {"upper", CharacterSet({{'A', 'Z'}})},
      {"word", CharacterSet({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}})},
      {"xdigit", CharacterSet({{'0', '9'}, {'A', 'F'}, {'a', 'f'}})},
  };
  for (const NamedSet& s : sets)
    if (s.name == name) return &s.set;
  return nullptr;
}

}  // namespace quern::regex
