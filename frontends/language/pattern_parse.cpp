// SPDX-License-Identifier: Apache-2.0
// From the text of an expression to a tree, and from that to a program.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/language/pattern.h"

namespace quern::language {
namespace {

constexpr std::uint32_t no_maximum = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t max_count = 1000;
constexpr std::size_t max_group_depth = 40;
constexpr std::size_t max_instructions = 20'000;

// The ranges of the script Han (Scripts.txt), the one script that tokenizers name.
constexpr std::array<std::pair<char32_t, char32_t>, 21> han = {{
    {0x2E80, 0x2E99},   {0x2E9B, 0x2EF3},   {0x2F00, 0x2FD5},   {0x3005, 0x3005},
    {0x3007, 0x3007},   {0x3021, 0x3029},   {0x3038, 0x303B},   {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},   {0xF900, 0xFA6D},   {0xFA70, 0xFAD9},   {0x16FE2, 0x16FE3},
    {0x16FF0, 0x16FF1}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B738}, {0x2B740, 0x2B81D},
    {0x2B820, 0x2CEA1}, {0x2CEB0, 0x2EBE0}, {0x2F800, 0x2FA1D}, {0x30000, 0x3134A},
    {0x31350, 0x323AF},
}};

struct PatternNode {
  enum class Kind : std::uint8_t { character, sequence, alternatives, repeat, place, look, atomic };
  enum class Mode : std::uint8_t { greedy, lazy, possessive };

  Kind kind = Kind::sequence;
  Mode mode = Mode::greedy;
  Pattern::Op op = Pattern::Op::match;  // of a place or a look
  bool is_behind = false;
  std::uint32_t index = 0;  // of a class
  std::uint32_t min = 0;
  std::uint32_t max = 0;
  std::vector<PatternNode> children;
};

// The least and the greatest number of code points that a node matches.
struct Lengths {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

Lengths lengths_of(const PatternNode& node) {
  Lengths sum;
  if (node.kind == PatternNode::Kind::character) return {1, 1};
  if (node.kind == PatternNode::Kind::place || node.kind == PatternNode::Kind::look) return sum;
  if (node.kind == PatternNode::Kind::alternatives) sum.least = no_maximum;
  for (const PatternNode& child : node.children) {
    const Lengths each = lengths_of(child);
    if (node.kind == PatternNode::Kind::alternatives)
      sum = {std::min(sum.least, each.least), std::max(sum.most, each.most)};
    else
      sum = {sum.least + each.least, sum.most + each.most};
  }
  const auto bounded = [](std::uint64_t n) { return std::min<std::uint64_t>(n, no_maximum); };
  if (node.kind == PatternNode::Kind::repeat)
    sum = {sum.least * node.min,
           node.max == no_maximum && sum.most > 0 ? no_maximum : sum.most * node.max};
  return {bounded(sum.least), bounded(sum.most)};
}

class PatternParser {
 public:
  PatternParser(std::u32string_view text, std::vector<CharacterClass>& classes)
      : text_(text), classes_(classes) {}

  Result<PatternNode> parse() {
    QUERN_ASSIGN(PatternNode node, alternatives(0));
    if (at_ < text_.size()) return error("a ')' that closes nothing");
    return node;
  }

 private:
  Status error(std::string_view what, Code code = Code::invalid_argument) const {
    return {code, cat("expression '", shown(utf8(text_), 200), "', character ", at_, ": ", what)};
  }
  bool is_at_end() const { return at_ == text_.size(); }
  bool accept(std::u32string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Result<PatternNode> alternatives(std::size_t depth) {
    if (depth > max_group_depth) return error("groups nested too deep");
    const bool outer_case = ignores_case_;
    PatternNode all{.kind = PatternNode::Kind::alternatives};
    do {
      PatternNode sequence;
      while (!is_at_end() && text_[at_] != U'|' && text_[at_] != U')') {
        QUERN_ASSIGN(PatternNode atom, term(depth));
        QUERN_TRY(quantifiers(atom));
        sequence.children.push_back(std::move(atom));
      }
      all.children.push_back(std::move(sequence));
    } while (accept(U"|"));
    ignores_case_ = outer_case;
    return all.children.size() == 1 ? std::move(all.children[0]) : std::move(all);
  }

  PatternNode of_class(CharacterClass members) {
    finish(members);
    classes_.push_back(std::move(members));
    return {.kind = PatternNode::Kind::character,
            .index = static_cast<std::uint32_t>(classes_.size() - 1)};
  }
  // Without case, what is compared is small: so are the members, as far as they stand one by one.
  void finish(CharacterClass& members) const {
    members.ignores_case = ignores_case_;
    for (std::size_t i = 0, count = members.ranges.size(); ignores_case_ && i < count; ++i) {
      const auto [first, last] = members.ranges[i];
      for (char32_t c = first; c <= last && c - first < 256; ++c)
        if (const char32_t small = folded(c); small != c) members.ranges.emplace_back(small, small);
    }
    members.finish();
  }
  static PatternNode of_place(Pattern::Op op) {
    return {.kind = PatternNode::Kind::place, .op = op};
  }

  Result<PatternNode> term(std::size_t depth) {
    if (accept(U"(")) return group(depth);
    if (accept(U"^")) return of_place(Pattern::Op::begin_line);
    if (accept(U"$")) return of_place(Pattern::Op::end_line);
    CharacterClass members;
    if (accept(U"[")) {
      QUERN_ASSIGN(members, bracket(0));
      return of_class(std::move(members));
    }
    if (accept(U".")) {
      members.ranges = {{U'\n', U'\n'}};
      members.is_negated = !dot_is_all_;
      if (dot_is_all_) members.ranges = {{0, 0x10FFFF}};
      return of_class(std::move(members));
    }
    if (accept(U"\\")) return escaped();
    const char32_t c = text_[at_];
    if (c == U'*' || c == U'+' || c == U'?') return error("a quantifier of nothing");
    ++at_;
    members.ranges = {{c, c}};
    return of_class(std::move(members));
  }

  Result<PatternNode> closed(PatternNode node) {
    if (!accept(U")")) return error("a group that does not end");
    return node;
  }

  Result<PatternNode> group(std::size_t depth) {
    struct Opening {
      std::u32string_view text;
      Pattern::Op op;
      bool is_behind;
    };
    static constexpr Opening looks[] = {{U"?=", Pattern::Op::look, false},
                                        {U"?!", Pattern::Op::reject, false},
                                        {U"?<=", Pattern::Op::look, true},
                                        {U"?<!", Pattern::Op::reject, true}};
    for (const Opening& opening : looks) {
      if (!accept(opening.text)) continue;
      QUERN_ASSIGN(PatternNode inside, alternatives(depth + 1));
      PatternNode look{
          .kind = PatternNode::Kind::look, .op = opening.op, .is_behind = opening.is_behind};
      if (const Lengths n = lengths_of(inside); look.is_behind && n.least != n.most)
        return error("it looks behind by a length that varies", Code::unsupported);
      look.children.push_back(std::move(inside));
      return closed(std::move(look));
    }
    if (accept(U"?>")) {
      QUERN_ASSIGN(PatternNode inside, alternatives(depth + 1));
      PatternNode atomic{.kind = PatternNode::Kind::atomic};
      atomic.children.push_back(std::move(inside));
      return closed(std::move(atomic));
    }
    return plain_group(depth);
  }

  // A group with or without a name, or with options, which hold to its end or, in "(?i)", to the
  // end of what is around it.
  Result<PatternNode> plain_group(std::size_t depth) {
    const bool outer_case = ignores_case_;
    if (accept(U"?<") || accept(U"?P<")) {
      while (!is_at_end() && text_[at_] != U'>') ++at_;
      if (!accept(U">")) return error("a name that does not end");
    } else if (accept(U"?")) {
      bool is_on = true;
      for (; !is_at_end() && text_[at_] != U':' && text_[at_] != U')'; ++at_) {
        if (text_[at_] == U'-')
          is_on = false;
        else if (text_[at_] == U'i')
          ignores_case_ = is_on;
        else if (text_[at_] == U's' || text_[at_] == U'm')
          dot_is_all_ = is_on;
        else if (text_[at_] != U'u')
          return error("an option other than i, m, s and u", Code::unsupported);
      }
      if (accept(U")")) return PatternNode();
      if (!accept(U":")) return error("a group that does not end");
    }
    QUERN_ASSIGN(PatternNode inside, alternatives(depth + 1));
    ignores_case_ = outer_case;
    return closed(std::move(inside));
  }

  Result<PatternNode> escaped() {
    if (is_at_end()) return error("a '\\' at the end");
    switch (text_[at_]) {
      case U'A': ++at_; return of_place(Pattern::Op::begin_text);
      case U'z': ++at_; return of_place(Pattern::Op::end_text);
      case U'Z': ++at_; return of_place(Pattern::Op::end_text_or_line);
      case U'b': ++at_; return of_place(Pattern::Op::word_edge);
      case U'B': ++at_; return of_place(Pattern::Op::no_word_edge);
      default: break;
    }
    CharacterClass members;
    QUERN_TRY(escape(members));
    return of_class(std::move(members));
  }

  // A class or a character after a backslash, added to `members`.
  Status escape(CharacterClass& members) {
    if (is_at_end()) return error("a '\\' at the end");
    const char32_t c = text_[at_++];
    CharacterClass part;
    switch (c) {
      case U's':
      case U'S': part.has_spaces = true; break;
      case U'd':
      case U'D': part.categories = category_set("Nd"); break;
      case U'w':
      case U'W':
        part.categories =
            category_set("L") | category_set("M") | category_set("Nd") | category_set("Pc");
        break;
      case U'h':
      case U'H': part.ranges = {{U'0', U'9'}, {U'a', U'f'}, {U'A', U'F'}}; break;
      case U'p':
      case U'P': QUERN_TRY(property(part)); break;
      default: {
        QUERN_ASSIGN(const char32_t plain, escaped_character(c));
        members.ranges.emplace_back(plain, plain);
        return {};
      }
    }
    if (c >= U'A' && c <= U'Z') part.is_negated = !part.is_negated;
    part.finish();
    members.united.push_back(std::move(part));
    return {};
  }

  Status property(CharacterClass& part) {
    if (!accept(U"{")) return error("\\p without {NAME}");
    if (accept(U"^")) part.is_negated = true;
    std::string name;
    while (!is_at_end() && text_[at_] != U'}') append_utf8(name, text_[at_++]);
    if (!accept(U"}")) return error("\\p{ that does not end");
    part.categories = category_set(name);
    if (part.categories != 0) return {};
    if (name == "Han")
      part.ranges.assign(han.begin(), han.end());
    else if (const CategorySet named = long_name(small_letters(name)); named != 0)
      part.categories = named;
    else
      return error(cat("no property '", shown(name), "' is known"), Code::unsupported);
    return {};
  }

  static CategorySet long_name(std::string_view name) {
    struct Row {
      std::string_view name, set;
    };
    static constexpr Row rows[] = {{"letter", "L"},      {"mark", "M"},   {"number", "N"},
                                   {"punctuation", "P"}, {"punct", "P"},  {"symbol", "S"},
                                   {"separator", "Z"},   {"digit", "Nd"}, {"alpha", "L"},
                                   {"upper", "Lu"},      {"lower", "Ll"}};
    for (const Row& row : rows)
      if (row.name == name) return category_set(row.set);
    return 0;
  }

  Result<char32_t> escaped_character(char32_t c) {
    switch (c) {
      case U'n': return U'\n';
      case U'r': return U'\r';
      case U't': return U'\t';
      case U'f': return U'\f';
      case U'v': return U'\v';
      case U'a': return U'\a';
      case U'e': return char32_t{0x1B};
      case U'0': return U'\0';
      case U'x': return accept(U"{") ? number(1, 6, U"}") : number(1, 2, U"");
      case U'u': return accept(U"{") ? number(1, 6, U"}") : number(4, 4, U"");
      default: break;
    }
    if ((c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || (c >= U'1' && c <= U'9'))
      return error("an escape that is not known", Code::unsupported);
    return c;
  }

  Result<char32_t> number(int least, int most, std::u32string_view end) {
    char32_t value = 0;
    int digits = 0;
    for (; digits < most && !is_at_end(); ++digits, ++at_) {
      const char32_t c = folded_digit(text_[at_]);
      if (c > 15) break;
      value = value * 16 + c;
    }
    if (digits < least || value > 0x10FFFF || !accept(end))
      return error("no number of a character");
    return value;
  }
  static char32_t folded_digit(char32_t c) {
    if (c >= U'0' && c <= U'9') return c - U'0';
    const char32_t small = c | 0x20;
    return small >= U'a' && small <= U'f' ? small - U'a' + 10 : 99;
  }

  // What stands after '[', up to its ']'.
  Result<CharacterClass> bracket(std::size_t depth) {
    if (depth > max_group_depth) return error("classes nested too deep");
    CharacterClass members;
    members.is_negated = accept(U"^");
    for (bool is_first = true; is_first || is_at_end() || text_[at_] != U']'; is_first = false) {
      if (is_at_end()) return error("a class that does not end");
      if (accept(U"&&")) {
        QUERN_ASSIGN(CharacterClass other, rest_of_bracket(depth + 1));
        members.intersected.push_back(std::move(other));
        break;
      }
      QUERN_TRY(bracket_item(members, depth));
    }
    if (!accept(U"]")) return error("a class that does not end");
    finish(members);
    return members;
  }

  // What stands after '&&', up to the ']' of the class, which stays.
  Result<CharacterClass> rest_of_bracket(std::size_t depth) {
    if (depth > max_group_depth) return error("classes nested too deep");
    CharacterClass members;
    while (!is_at_end() && text_[at_] != U']') {
      if (accept(U"&&")) {
        QUERN_ASSIGN(CharacterClass other, rest_of_bracket(depth + 1));
        members.intersected.push_back(std::move(other));
      } else {
        QUERN_TRY(bracket_item(members, depth));
      }
    }
    finish(members);
    return members;
  }

  Status bracket_item(CharacterClass& members, std::size_t depth) {
    if (text_.substr(at_).starts_with(U"[:")) return error("a class [:NAME:]", Code::unsupported);
    if (accept(U"[")) {
      QUERN_ASSIGN(CharacterClass inner, bracket(depth + 1));
      members.united.push_back(std::move(inner));
      return {};
    }
    const std::size_t before = members.united.size();
    QUERN_TRY(bracket_character(members));
    const bool is_range = at_ + 1 < text_.size() && text_[at_] == U'-' && text_[at_ + 1] != U']';
    if (members.united.size() != before || !is_range) return {};
    ++at_;
    CharacterClass last;
    QUERN_TRY(bracket_character(last));
    if (last.ranges.empty() || last.ranges[0].second < members.ranges.back().first)
      return error("a range that ends before it begins");
    members.ranges.back().second = last.ranges[0].second;
    return {};
  }

  Status bracket_character(CharacterClass& members) {
    if (accept(U"\\")) return escape(members);
    if (is_at_end()) return error("a class that does not end");
    members.ranges.emplace_back(text_[at_], text_[at_]);
    ++at_;
    return {};
  }

  // The quantifiers after `atom`, which becomes what they repeat.
  Status quantifiers(PatternNode& atom) {
    for (int stacked = 0;; ++stacked) {
      std::uint32_t min = 0;
      std::uint32_t max = no_maximum;
      const std::size_t begin = at_;
      if (accept(U"+"))
        min = 1;
      else if (accept(U"?"))
        max = 1;
      else if (!accept(U"*") && !counts(min, max)) {
        at_ = begin;
        return {};
      }
      if (stacked == 4) return error("quantifiers of quantifiers", Code::unsupported);
      if (min > max || (max != no_maximum && max > max_count) || min > max_count)
        return error(cat("a repetition of more than ", max_count, " times"));
      if (atom.kind == PatternNode::Kind::place || atom.kind == PatternNode::Kind::look)
        return error("a place that is repeated", Code::unsupported);
      if (max > 1 && lengths_of(atom).least == 0)
        return error("what may match nothing is repeated", Code::unsupported);
      PatternNode repeat{.kind = PatternNode::Kind::repeat, .min = min, .max = max};
      // As in Ruby, "{2,3}+" repeats what is repeated.
      if (accept(U"?"))
        repeat.mode = PatternNode::Mode::lazy;
      else if (text_[at_ - 1] != U'}' && accept(U"+"))
        repeat.mode = PatternNode::Mode::possessive;
      repeat.children.push_back(std::move(atom));
      atom = std::move(repeat);
    }
  }

  // "{3}", "{1,}", "{,3}", "{1,3}"; a '{' that begins none of these is a character.
  bool counts(std::uint32_t& min, std::uint32_t& max) {
    if (!accept(U"{")) return false;
    const auto read = [this](std::uint32_t& value) {
      const std::size_t begin = at_;
      std::uint64_t sum = 0;
      while (!is_at_end() && text_[at_] >= U'0' && text_[at_] <= U'9')
        sum = std::min<std::uint64_t>(sum * 10 + (text_[at_++] - U'0'), no_maximum - 1);
      if (at_ > begin) value = static_cast<std::uint32_t>(sum);
      return at_ > begin;
    };
    const bool has_min = read(min);
    if (!accept(U",")) {
      max = min;
      return has_min && accept(U"}");
    }
    const bool has_max = read(max);
    return (has_min || has_max) && accept(U"}");
  }

  std::u32string_view text_;
  std::vector<CharacterClass>& classes_;
  std::size_t at_ = 0;
  bool ignores_case_ = false;
  bool dot_is_all_ = false;
};

}  // namespace

class PatternCompiler {
 public:
  explicit PatternCompiler(Pattern& pattern) : program_(pattern.program_) {}

  Status compile(const PatternNode& node) {
    QUERN_TRY(emit(node));
    add({.op = Pattern::Op::match});
    return {};
  }
  static std::vector<CharacterClass>& classes_of(Pattern& pattern) { return pattern.classes_; }

 private:
  std::uint32_t here() const { return static_cast<std::uint32_t>(program_.size()); }
  std::uint32_t add(Pattern::Instruction instruction) {
    program_.push_back(instruction);
    return here() - 1;
  }

  Status emit(const PatternNode& node) {
    if (program_.size() > max_instructions)
      return {Code::unsupported, "the tokenizer's expression is too long"};
    switch (node.kind) {
      case PatternNode::Kind::character:
        add({.op = Pattern::Op::character, .index = node.index});
        return {};
      case PatternNode::Kind::place: add({.op = node.op}); return {};
      case PatternNode::Kind::sequence:
        for (const PatternNode& child : node.children) QUERN_TRY(emit(child));
        return {};
      case PatternNode::Kind::alternatives: return emit_alternatives(node);
      case PatternNode::Kind::repeat: return emit_repeat(node);
      case PatternNode::Kind::look:
      case PatternNode::Kind::atomic: return emit_inner(node);
    }
    return {};
  }

  Status emit_alternatives(const PatternNode& node) {
    std::vector<std::uint32_t> ends;
    for (std::size_t i = 0; i + 1 < node.children.size(); ++i) {
      const std::uint32_t split = add({.op = Pattern::Op::split});
      QUERN_TRY(emit(node.children[i]));
      ends.push_back(add({.op = Pattern::Op::jump}));
      program_[split].other = here();
    }
    QUERN_TRY(emit(node.children.back()));
    for (const std::uint32_t end : ends) program_[end].other = here();
    return {};
  }

  // A program of its own within the program.
  Status emit_inner(const PatternNode& node) {
    const bool is_atomic = node.kind == PatternNode::Kind::atomic;
    const std::uint64_t back = node.is_behind ? lengths_of(node.children[0]).least : 0;
    const std::uint32_t outer = add(
        {.op = is_atomic ? Pattern::Op::atomic : node.op, .min = static_cast<std::uint32_t>(back)});
    QUERN_TRY(emit(node.children[0]));
    add({.op = Pattern::Op::match});
    program_[outer].other = here();
    return {};
  }

  Status emit_repeat(const PatternNode& node) {
    const PatternNode& what = node.children[0];
    if (node.mode == PatternNode::Mode::possessive && what.kind != PatternNode::Kind::character) {
      PatternNode greedy = node;
      greedy.mode = PatternNode::Mode::greedy;
      PatternNode atomic{.kind = PatternNode::Kind::atomic};
      atomic.children.push_back(std::move(greedy));
      return emit_inner(atomic);
    }
    if (what.kind == PatternNode::Kind::character && node.mode != PatternNode::Mode::lazy) {
      add({.op = Pattern::Op::repeat,
           .is_possessive = node.mode == PatternNode::Mode::possessive,
           .index = what.index,
           .min = node.min,
           .max = node.max});
      return {};
    }
    for (std::uint32_t i = 0; i < node.min; ++i) QUERN_TRY(emit(what));
    if (node.max == no_maximum) return emit_loop(node);
    std::vector<std::uint32_t> splits;
    for (std::uint32_t i = node.min; i < node.max; ++i) {
      splits.push_back(begin_choice(node));
      QUERN_TRY(emit(what));
    }
    for (const std::uint32_t split : splits) program_[split].other = here();
    return {};
  }

  // What leads to the repeated part or out of it, in the order of the mode: `other` of the
  // instruction that is returned is the way out.
  std::uint32_t begin_choice(const PatternNode& node) {
    const std::uint32_t split = add({.op = Pattern::Op::split});
    if (node.mode != PatternNode::Mode::lazy) return split;
    const std::uint32_t out = add({.op = Pattern::Op::jump});
    program_[split].other = here();
    return out;
  }

  Status emit_loop(const PatternNode& node) {
    const std::uint32_t begin = here();
    const std::uint32_t out = begin_choice(node);
    QUERN_TRY(emit(node.children[0]));
    add({.op = Pattern::Op::jump, .other = begin});
    program_[out].other = here();
    return {};
  }

  std::vector<Pattern::Instruction>& program_;
};

Result<Pattern> Pattern::parse(std::string_view utf8) {
  if (utf8.size() > 65536)
    return Status(Code::unsupported, "the tokenizer's expression is longer than 64 KiB");
  Pattern pattern;
  const std::u32string text = code_points(utf8);
  QUERN_ASSIGN(const PatternNode tree, PatternParser(text, pattern.classes_).parse());
  QUERN_TRY(PatternCompiler(pattern).compile(tree));
  return pattern;
}

Pattern Pattern::literal(std::u32string_view text) {
  Pattern pattern;
  for (const char32_t c : text) {
    CharacterClass one{.ranges = {{c, c}}};
    one.finish();
    pattern.classes_.push_back(std::move(one));
    pattern.program_.push_back(
        {.op = Op::character, .index = static_cast<std::uint32_t>(pattern.classes_.size() - 1)});
  }
  pattern.program_.push_back({.op = Op::match});
  return pattern;
}

}  // namespace quern::language
