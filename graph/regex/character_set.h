// SPDX-License-Identifier: Apache-2.0
// Sets of code points, as expressions name them.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::regex {

inline constexpr char32_t last_code_point = 0x10FFFF;

struct CodeRange {
  char32_t first, last;
  bool operator==(const CodeRange&) const = default;
};

class CharacterSet {
 public:
  CharacterSet() = default;
  explicit CharacterSet(std::vector<CodeRange> ranges) : ranges_(std::move(ranges)) { merge(); }

  // Adds the other case of each letter. False: a member is beyond ASCII, where cases are unknown.
  bool fold();
  void negate();

  bool has(char32_t c) const;
  // Sorted, and no two of them touch.
  const std::vector<CodeRange>& ranges() const { return ranges_; }
  bool operator==(const CharacterSet&) const = default;

 private:
  void merge();

  std::vector<CodeRange> ranges_;
};

bool is_word(char32_t c);  // \w

// The set that \d, \s or \w stands for, by its letter, and one of [:alpha:] and its like, by its
// name; null: there is none.
const CharacterSet* perl_set(char letter);
const CharacterSet* posix_set(std::string_view name);

}  // namespace quern::regex
