// SPDX-License-Identifier: Apache-2.0
// Regular expressions of tokenizers, in the part of Oniguruma's syntax that they use: alternatives,
// groups, (?i:), classes with \p{..}, nested ones and &&, quantifiers that are greedy, lazy or
// possessive, atomic groups, looking ahead, and looking behind by a fixed length. No captures.
// The first alternative that leads to a match wins. Matching backtracks and counts its steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quern/status.h>

#include "frontends/language/unicode.h"
#include "frontends/language/work.h"

namespace quern::language {

// A set of code points: any of its members, all of `intersected`, or the complement.
struct CharacterClass {
  std::vector<std::pair<char32_t, char32_t>> ranges;
  CategorySet categories = 0;
  bool has_spaces = false;
  std::vector<CharacterClass> united;
  std::vector<CharacterClass> intersected;
  bool is_negated = false;
  bool ignores_case = false;
  // The answers for ASCII, which finish() makes.
  std::uint64_t ascii[2] = {0, 0};

  void finish();
  bool has(char32_t c) const {
    return c < 128 ? ((ascii[c >> 6] >> (c & 63)) & 1) != 0 : has_slowly(c);
  }
  bool has_slowly(char32_t c) const;
};

class Pattern {
 public:
  struct Span {
    std::size_t begin, end;
    bool operator==(const Span&) const = default;
  };
  enum class Op : std::uint8_t {
    character,  // class `index`
    repeat,     // class `index`, `min` to `max` times, as often as it goes; `is_possessive`
    split,      // tries `next`, then `other`
    jump,       // to `other`
    begin_line,
    end_line,
    begin_text,
    end_text,
    end_text_or_line,
    word_edge,
    no_word_edge,
    look,    // the program from `next` matches here, `min` characters before; goes on at `other`
    reject,  // the same, it does not
    atomic,  // the program from `next` matches; goes on at its end, at `other`
    match,
  };
  struct Instruction {
    Op op;
    bool is_possessive = false;
    std::uint32_t index = 0;
    std::uint32_t min = 0;
    std::uint32_t max = 0;
    std::uint32_t other = 0;
  };

  // Errors: invalid_argument (no such expression), unsupported; both name the place.
  static Result<Pattern> parse(std::string_view utf8);
  // The expression that matches `text` and nothing else.
  static Pattern literal(std::u32string_view text);

  // The first match at `from` or after it; none: nothing matches. Errors: unsupported, it would
  // take more than `work`.
  Result<std::optional<Span>> find(std::u32string_view text, std::size_t from, Work& work) const;

 private:
  friend class PatternCompiler;
  std::vector<Instruction> program_;
  std::vector<CharacterClass> classes_;
};

}  // namespace quern::language
