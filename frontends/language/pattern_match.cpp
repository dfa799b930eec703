// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "frontends/language/pattern.h"

namespace quern::language {
namespace {

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
constexpr std::size_t max_waiting = std::size_t{1} << 22;

// One attempt after the other over one text.
class PatternMatcher {
 public:
  PatternMatcher(const std::vector<Pattern::Instruction>& program,
                 const std::vector<CharacterClass>& classes, std::u32string_view text, Work& work)
      : program_(program), classes_(classes), text_(text), work_(work) {}

  // Where a match of the program from `pc` on ends that begins at `at`; nowhere: there is none, or
  // the work is spent.
  std::size_t end_of_match(std::uint32_t pc, std::size_t at) {
    const std::size_t bottom = waiting_.size();
    waiting_.push_back({pc, at, at});
    std::size_t end = nowhere;
    while (end == nowhere && waiting_.size() > bottom) {
      Waiting& top = waiting_.back();
      const Waiting here = top;
      if (here.low == here.high)
        waiting_.pop_back();
      else
        --top.high;
      end = run(here.pc, here.high);
      if (waiting_.size() > max_waiting) work_.spend(std::numeric_limits<std::uint64_t>::max());
      if (work_.is_spent()) break;
    }
    waiting_.resize(bottom);
    return end;
  }

 private:
  // Places that are left to try for the instruction `pc`, the last first.
  struct Waiting {
    std::uint32_t pc;
    std::size_t low, high;
  };

  // Goes on until the program has matched, or fails.
  std::size_t run(std::uint32_t pc, std::size_t at) {
    while (work_.spend(1)) {
      const Pattern::Instruction& in = program_[pc];
      ++pc;
      switch (in.op) {
        case Pattern::Op::match: return at;
        case Pattern::Op::jump: pc = in.other; break;
        case Pattern::Op::split: waiting_.push_back({in.other, at, at}); break;
        case Pattern::Op::character:
          if (at == text_.size() || !classes_[in.index].has(text_[at])) return nowhere;
          ++at;
          break;
        case Pattern::Op::repeat: {
          const std::size_t end = repeated(in, at);
          if (end == nowhere) return nowhere;
          if (!in.is_possessive && end > at + in.min)
            waiting_.push_back({pc, at + in.min, end - 1});
          at = end;
          break;
        }
        case Pattern::Op::look:
        case Pattern::Op::reject:
          if (matches_around(in, pc, at) != (in.op == Pattern::Op::look)) return nowhere;
          pc = in.other;
          break;
        case Pattern::Op::atomic:
          at = end_of_match(pc, at);
          if (at == nowhere) return nowhere;
          pc = in.other;
          break;
        default:
          if (!holds(in.op, at)) return nowhere;
      }
    }
    return nowhere;
  }

  std::size_t repeated(const Pattern::Instruction& in, std::size_t at) {
    const CharacterClass& wanted = classes_[in.index];
    const std::size_t most = std::min<std::size_t>(text_.size() - at, in.max);
    std::size_t count = 0;
    while (count < most && wanted.has(text_[at + count])) ++count;
    return count < in.min || !work_.spend(count) ? nowhere : at + count;
  }

  bool matches_around(const Pattern::Instruction& in, std::uint32_t pc, std::size_t at) {
    return at >= in.min && end_of_match(pc, at - in.min) != nowhere;
  }

  bool holds(Pattern::Op op, std::size_t at) const {
    const std::size_t end = text_.size();
    const bool is_word_edge =
        (at > 0 && is_word(text_[at - 1])) != (at < end && is_word(text_[at]));
    switch (op) {
      case Pattern::Op::begin_text: return at == 0;
      case Pattern::Op::begin_line: return at == 0 || text_[at - 1] == U'\n';
      case Pattern::Op::end_text: return at == end;
      case Pattern::Op::end_line: return at == end || text_[at] == U'\n';
      case Pattern::Op::end_text_or_line: return at == end || (at + 1 == end && text_[at] == U'\n');
      case Pattern::Op::word_edge: return is_word_edge;
      default: return !is_word_edge;
    }
  }

  const std::vector<Pattern::Instruction>& program_;
  const std::vector<CharacterClass>& classes_;
  std::u32string_view text_;
  Work& work_;
  std::vector<Waiting> waiting_;
};

}  // namespace

bool CharacterClass::has_slowly(char32_t c) const {
  const auto is_member = [this](char32_t x) {
    return std::ranges::any_of(ranges, [x](auto r) { return x >= r.first && x <= r.second; }) ||
           (categories != 0 && is_in(x, categories)) || (has_spaces && is_white_space(x)) ||
           std::ranges::any_of(united, [x](const CharacterClass& u) { return u.has_slowly(x); });
  };
  bool found = is_member(c);
  if (!found && ignores_case) {
    const char32_t small = folded(c);
    found = is_member(small) || (small >= U'a' && small <= U'z' && is_member(small - 32));
  }
  for (const CharacterClass& other : intersected) found = found && other.has_slowly(c);
  return found != is_negated;
}

void CharacterClass::finish() {
  for (char32_t c = 0; c < 128; ++c)
    if (has_slowly(c)) ascii[c >> 6] |= std::uint64_t{1} << (c & 63);
}

Result<std::optional<Pattern::Span>> Pattern::find(std::u32string_view text, std::size_t from,
                                                   Work& work) const {
  PatternMatcher matcher(program_, classes_, text, work);
  for (std::size_t at = from; at <= text.size(); ++at) {
    const std::size_t end = matcher.end_of_match(0, at);
    if (work.is_spent())
      return Status(Code::unsupported,
                    "the tokenizer's expression takes too many steps on this text");
    if (end != nowhere) return std::optional(Span{at, end});
  }
  return std::optional<Span>();
}

}  // namespace quern::language
