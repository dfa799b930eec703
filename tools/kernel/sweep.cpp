// SPDX-License-Identifier: Apache-2.0
// Lines that stand for several.
#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "tools/kernel/problem.h"
#include "tools/kernel/words.h"
#include "tools/parse.h"

namespace quern::tools::lab {
namespace {

constexpr std::int64_t largest_size = std::int64_t{1} << 31;

Status too_many() {
  return {Code::invalid_argument, cat("a line stands for more than ", max_lines, " problems")};
}

// "64..512*2", "1..9+4", "1..4".
Result<std::vector<std::int64_t>> parse_steps(std::string_view text) {
  const std::size_t dots = text.find("..");
  const std::size_t by = text.find_first_of("*+", dots + 2);
  const auto first = parse_integer(text.substr(0, dots));
  const auto last = parse_integer(text.substr(dots + 2, by - std::min(by, dots + 2)));
  const auto step = by == text.npos ? std::int64_t{1} : parse_integer(text.substr(by + 1));
  const bool multiplies = by != text.npos && text[by] == '*';
  const auto last_number = by == text.npos ? parse_integer(text.substr(dots + 2)) : last;
  if (!first || !last_number || !step)
    return bad_word(text, "wanted a sweep such as 64..512*2 or 1..9+4");
  if (*first < 0 || *last_number > largest_size)
    return bad_word(text, "sizes of a sweep are 0 to 2^31");
  if (*step < 1 || (multiplies && (*step < 2 || *first < 1)))
    return bad_word(text, "has no end: wanted a step of +1 or *2 at least, *2 from 1 at least");
  std::vector<std::int64_t> numbers;
  for (std::int64_t v = *first; v <= *last_number; v = multiplies ? v * *step : v + *step) {
    numbers.push_back(v);
    if (numbers.size() > max_lines) return too_many();
    if (*step > largest_size) break;
  }
  if (numbers.empty()) return bad_word(text, "a sweep that ends before it begins");
  return numbers;
}

Result<std::vector<std::string>> parse_choices(std::string_view text) {
  std::vector<std::string> choices;
  if (text.find("..") != text.npos) {
    QUERN_ASSIGN(const std::vector<std::int64_t> numbers, parse_steps(text));
    for (const std::int64_t n : numbers) choices.push_back(cat(n));
    return choices;
  }
  choices = split_list(text);
  if (choices.empty()) return bad_word(text, "wanted numbers in braces");
  for (const std::string& c : choices)
    if (!parse_integer(c)) return bad_word(c, "wanted a number in braces");
  return choices;
}

// "c=64..512*2" becomes c{64..512*2} in the head, in the place of the c that stands there.
Status take_shorthand(std::string& head, std::string_view word) {
  const std::size_t equal = word.find('=');
  const std::string_view name = word.substr(0, equal);
  std::string place = cat(name, "{", word.substr(equal + 1), "}");
  std::size_t at = head.find(':') + 1;
  while (at < head.size()) {
    const std::size_t letters = at;
    while (at < head.size() && head[at] >= 'a' && head[at] <= 'z') ++at;
    const bool is_it = std::string_view(head).substr(letters, at - letters) == name;
    const std::size_t number = at;
    while (at < head.size() && !(head[at] >= 'a' && head[at] <= 'z')) ++at;
    if (at == letters) return bad_word(head, "wanted letters and numbers");
    if (!is_it) continue;
    if (head.find('{', number) < at) return bad_word(word, "a second sweep of this size");
    head.replace(letters, at - letters, place);
    return {};
  }
  head += place;
  return {};
}

bool is_shorthand(std::string_view head, std::string_view word) {
  const std::size_t equal = word.find('=');
  return (head.starts_with("conv:") || head.starts_with("matmul:")) && equal != word.npos &&
         !word.starts_with('+') && word.substr(0, equal).find_first_of("[:{@") == word.npos;
}

Result<std::string> in_long_form(std::string_view line) {
  QUERN_ASSIGN(std::vector<std::string> words, words_of(line));
  if (words.empty()) return bad_word(line, "a problem has a word at least");
  std::string text;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (is_shorthand(words[0], words[i]))
      QUERN_TRY(take_shorthand(words[0], words[i]));
    else
      text += " " + words[i];
  }
  return words[0] + text;
}

// The first brace that is no list of a constant's elements.
std::size_t find_sweep(std::string_view text) {
  std::size_t at = text.find('{');
  while (at != text.npos && at > 0 && text[at - 1] == '=') at = text.find('{', at + 1);
  return at;
}

}  // namespace

Result<std::vector<std::string>> expand_sweeps(std::string_view line) {
  QUERN_ASSIGN(std::string whole, in_long_form(line));
  std::vector<std::string> lines = {std::move(whole)};
  while (true) {
    const std::size_t open = find_sweep(lines[0]);
    if (open == std::string::npos) return lines;
    std::vector<std::string> more;
    for (const std::string& one : lines) {
      const std::size_t from = find_sweep(one);
      const std::size_t to = one.find('}', from);
      if (to == one.npos) return bad_word(one, "wants a } at its end");
      QUERN_ASSIGN(const std::vector<std::string> choices,
                   parse_choices(std::string_view(one).substr(from + 1, to - from - 1)));
      if (lines.size() * choices.size() > max_lines) return too_many();
      for (const std::string& choice : choices)
        more.push_back(cat(one.substr(0, from), choice, one.substr(to + 1)));
    }
    lines = std::move(more);
  }
}

}  // namespace quern::tools::lab
