// SPDX-License-Identifier: Apache-2.0
// An expression as a tree, in the syntax of RE2 (github.com/google/re2/wiki/Syntax), UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "graph/regex/character_set.h"

namespace quern::regex {

// A condition between two characters.
enum class Place : std::uint8_t {
  text_begin,  // \A
  text_end,    // \z
  line_begin,
  line_end,
  word_edge,     // \b
  no_word_edge,  // \B
};

struct SyntaxNode {
  enum class Kind : std::uint8_t { empty, set, place, sequence, alternatives, repetition };
  Kind kind = Kind::empty;
  Place place = Place::text_begin;
  std::uint32_t set = 0;
  std::uint32_t least = 0;              // of a repetition
  std::uint32_t most = 0;               // unlimited: no end
  std::vector<std::uint32_t> children;  // by their numbers; one of a repetition

  static constexpr std::uint32_t unlimited = ~std::uint32_t{0};
};

struct Syntax {
  std::vector<SyntaxNode> nodes;
  std::vector<CharacterSet> sets;
  std::uint32_t root = 0;
};

// Limits of what comes from outside. A repetition of more than 1,000 is refused by RE2, too.
inline constexpr std::size_t longest_pattern = std::size_t{1} << 16;
inline constexpr std::uint32_t most_repetitions = 1000;
inline constexpr std::size_t deepest_group = 200;

// Errors: invalid_argument (no expression of this syntax), unsupported (what is not done here:
// Unicode's classes, cases beyond ASCII, \C; expressions that are too large). The sentence names
// the place.
Result<Syntax> parse(std::string_view pattern);

}  // namespace quern::regex
