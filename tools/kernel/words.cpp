// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/words.h"

#include "engine/vocabulary/text_util.h"
#include "tools/parse.h"

namespace quern::tools::lab {
namespace {

constexpr std::size_t longest_line = 16384;

bool is_small_letter(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "n c kh": a list of names, with a space after each.
bool is_among(std::string_view name, std::string_view known) {
  return cat(" ", known, " ").find(cat(" ", name, " ")) != std::string::npos;
}

}  // namespace

Status bad_word(std::string_view word, std::string_view why) {
  return {Code::invalid_argument, cat("'", printable(word, 80), "': ", why)};
}

Result<std::vector<std::string>> words_of(std::string_view line) {
  if (line.size() > longest_line)
    return bad_word(line.substr(0, 40), cat("a line of more than ", longest_line, " bytes"));
  std::vector<std::string> words;
  std::string word;
  std::string open;  // the ends that are still to come
  for (const char c : line) {
    if (!open.empty() && c == open.back()) {
      open.pop_back();
    } else if (open.empty() || open.back() != '"') {
      if (c == '"') open += '"';
      if (c == '[') open += ']';
      if (c == '{') open += '}';
    }
    const bool is_space = c == ' ' || c == '\t' || c == '\r';
    if (!is_space) word += c;
    if (is_space && !open.empty() && open.back() == '"') word += c;
    if (!is_space || !open.empty() || word.empty()) continue;
    words.push_back(std::move(word));
    word.clear();
  }
  if (!open.empty()) return bad_word(word, cat("wants a ", open.back(), " at its end"));
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

Result<Sizes> parse_sizes(std::string_view text, std::string_view known) {
  constexpr std::int64_t largest = std::int64_t{1} << 31;
  Sizes sizes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    while (at < text.size() && is_small_letter(text[at])) ++at;
    const std::string_view name = text.substr(begin, at - begin);
    const std::size_t digits = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    const auto number = parse_integer(text.substr(digits, at - digits));
    if (name.empty() || !number)
      return bad_word(text.substr(begin),
                      cat("wanted letters and a number, as in c64; letters are ", known));
    if (!is_among(name, known)) return bad_word(name, cat("no such size; there is ", known));
    if (*number > largest) return bad_word(name, cat(*number, " is larger than 2^31"));
    if (!sizes.emplace(name, *number).second) return bad_word(name, "stands twice");
  }
  return sizes;
}

}  // namespace quern::tools::lab
