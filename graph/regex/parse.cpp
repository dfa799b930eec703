// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "engine/vocabulary/text_util.h"
#include "engine/vocabulary/utf8.h"
#include "graph/regex/class_parser.h"
#include "graph/regex/syntax.h"

namespace quern::regex {
namespace {

using Kind = SyntaxNode::Kind;
using NodeId = std::uint32_t;

// (?i), (?m), (?s). Which repetition a match prefers (U, and a ? behind it) changes no answer of
// whether a whole text matches.
struct Flags {
  Case letters = Case::counts;
  bool has_lines = false;
  bool dot_is_any = false;
};

// By descent; what a group sets ends with it.
class Parser {
 public:
  explicit Parser(std::string_view pattern) : at_{pattern} {}

  Result<Syntax> run() {
    QUERN_ASSIGN(syntax_.root, alternatives());
    if (!at_.at_end()) return at_.error("a ) without its (");
    return std::move(syntax_);
  }

 private:
  NodeId add(SyntaxNode node) {
    syntax_.nodes.push_back(std::move(node));
    return static_cast<NodeId>(syntax_.nodes.size() - 1);
  }
  NodeId add_set(CharacterSet set) {
    syntax_.sets.push_back(std::move(set));
    return add({.kind = Kind::set, .set = static_cast<std::uint32_t>(syntax_.sets.size() - 1)});
  }
  NodeId add_place(Place place) { return add({.kind = Kind::place, .place = place}); }
  Result<NodeId> add_character(char32_t c) {
    CharacterSet set({{c, c}});
    QUERN_TRY(apply_case(at_, flags_.letters, set));
    return add_set(std::move(set));
  }
  // One child stands for itself.
  NodeId add_all(Kind kind, std::vector<NodeId> children) {
    if (children.empty()) return add({});
    if (children.size() == 1) return children.front();
    return add({.kind = kind, .children = std::move(children)});
  }

  Result<NodeId> alternatives() {
    std::vector<NodeId> children;
    do {
      QUERN_ASSIGN(const NodeId child, sequence());
      children.push_back(child);
    } while (at_.take("|"));
    return add_all(Kind::alternatives, std::move(children));
  }

  Result<NodeId> sequence() {
    std::vector<NodeId> children;
    while (!at_.at_end() && at_.peek() != '|' && at_.peek() != ')') {
      if (at_.take("\\Q")) {
        QUERN_TRY(quoted(children));
        continue;
      }
      QUERN_ASSIGN(const std::optional<NodeId> atom, this->atom());
      if (!atom) continue;  // flags
      QUERN_ASSIGN(const NodeId child, repeated(*atom));
      children.push_back(child);
    }
    return add_all(Kind::sequence, std::move(children));
  }

  // Up to \E. A repetition behind it is one of the last character.
  Status quoted(std::vector<NodeId>& children) {
    while (!at_.at_end() && !at_.take("\\E")) {
      QUERN_ASSIGN(const NodeId character, add_character(at_.take_character()));
      children.push_back(character);
      if (!at_.starts_with("\\E")) continue;
      at_.at += 2;
      QUERN_ASSIGN(children.back(), repeated(character));
      break;
    }
    return {};
  }

  // None: it was a group of flags alone.
  Result<std::optional<NodeId>> atom() {
    switch (at_.peek()) {
      case '(': return group();
      case '[': {
        QUERN_ASSIGN(CharacterSet set, take_class(at_, flags_.letters));
        return std::optional(add_set(std::move(set)));
      }
      case '\\': return escape();
      case '*':
      case '+':
      case '?': return at_.error("a repetition of nothing");
      default: break;
    }
    Cursor behind = at_;
    if (at_.peek() == '{' && take_counts(behind)) return at_.error("a repetition of nothing");
    if (at_.take(".")) return std::optional(add_set(dot()));
    if (at_.take("^"))
      return std::optional(add_place(flags_.has_lines ? Place::line_begin : Place::text_begin));
    if (at_.take("$"))
      return std::optional(add_place(flags_.has_lines ? Place::line_end : Place::text_end));
    QUERN_ASSIGN(const NodeId character, add_character(at_.take_character()));
    return std::optional(character);
  }

  CharacterSet dot() const {
    if (flags_.dot_is_any) return CharacterSet({{0, last_code_point}});
    return CharacterSet({{0, '\n' - 1}, {'\n' + 1, last_code_point}});
  }

  Result<std::optional<NodeId>> escape() {
    if (at_.take("\\A")) return std::optional(add_place(Place::text_begin));
    if (at_.take("\\z")) return std::optional(add_place(Place::text_end));
    if (at_.take("\\b")) return std::optional(add_place(Place::word_edge));
    if (at_.take("\\B")) return std::optional(add_place(Place::no_word_edge));
    if (at_.starts_with("\\C")) return at_.unsupported("\\C, a byte of a character");
    QUERN_ASSIGN(std::optional<CharacterSet> named, take_named_set(at_, flags_.letters));
    if (named) return std::optional(add_set(std::move(*named)));
    QUERN_ASSIGN(const char32_t c, take_escape(at_));
    QUERN_ASSIGN(const NodeId character, add_character(c));
    return std::optional(character);
  }

  Result<std::optional<NodeId>> group() {
    const Cursor begin = at_;
    const Flags outside = flags_;
    ++at_.at;
    if (at_.take("?")) {
      QUERN_ASSIGN(const bool is_open, group_head());
      if (!is_open) return std::optional<NodeId>();
    }
    if (++depth_ > deepest_group)
      return begin.unsupported(cat("more than ", deepest_group, " groups in each other"));
    QUERN_ASSIGN(const NodeId inside, alternatives());
    --depth_;
    if (!at_.take(")")) return begin.error("a ( without its )");
    flags_ = outside;
    return std::optional(inside);
  }

  // Behind "(?". False: the group sets flags and is closed.
  Result<bool> group_head() {
    if (at_.take("P<") ||
        (at_.starts_with("<") && at_.peek(1) != '=' && at_.peek(1) != '!' && at_.take("<"))) {
      QUERN_TRY(group_name());
      return true;
    }
    bool is_on = true;
    bool is_named = true;  // a minus wants a flag behind it
    for (; !at_.at_end(); ++at_.at) {
      const char c = at_.peek();
      if (c == ')' || c == ':') {
        if (!is_named) break;
        ++at_.at;
        return c == ':';
      }
      if (c == '-' && is_on) {
        is_on = is_named = false;
        continue;
      }
      if (c == 'i')
        flags_.letters = is_on ? Case::ignored : Case::counts;
      else if (c == 'm')
        flags_.has_lines = is_on;
      else if (c == 's')
        flags_.dot_is_any = is_on;
      else if (c != 'U')
        break;
      is_named = true;
    }
    return at_.error("(? wants flags, : or a name; looking around is not in this syntax");
  }

  Status group_name() {
    const std::size_t begin = at_.at;
    while (is_word(static_cast<unsigned char>(at_.peek()))) ++at_.at;
    const std::string_view name = at_.text.substr(begin, at_.at - begin);
    if (name.empty() || !at_.take(">")) return at_.error("a name of letters, digits and _ wanted");
    if (std::ranges::find(names_, name) != names_.end())
      return at_.error(cat("two groups are named ", printable(name, 40)));
    names_.push_back(name);
    return {};
  }

  struct Counts {
    std::uint32_t least, most;
  };

  static std::optional<std::uint32_t> take_count(Cursor& at) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!is_digit(at.peek()) || (at.peek() == '0' && is_digit(at.peek(1)))) return std::nullopt;
    std::uint32_t n = 0;
    while (is_digit(at.peek())) {
      n = std::min(n * 10 + static_cast<std::uint32_t>(at.peek() - '0'), most_repetitions + 1);
      ++at.at;
    }
    return n;
  }

  // {n}, {n,} or {n,m}; anything else in braces is text.
  static std::optional<Counts> take_counts(Cursor& at) {
    Cursor c = at;
    if (!c.take("{")) return std::nullopt;
    const auto least = take_count(c);
    if (!least) return std::nullopt;
    Counts counts{*least, *least};
    if (c.take(",")) {
      counts.most = SyntaxNode::unlimited;
      if (c.peek() != '}') {
        const auto most = take_count(c);
        if (!most) return std::nullopt;
        counts.most = *most;
      }
    }
    if (!c.take("}")) return std::nullopt;
    at = c;
    return counts;
  }

  static std::optional<Counts> take_repetition(Cursor& at) {
    if (at.take("*")) return Counts{0, SyntaxNode::unlimited};
    if (at.take("+")) return Counts{1, SyntaxNode::unlimited};
    if (at.take("?")) return Counts{0, 1};
    return take_counts(at);
  }

  Result<NodeId> repeated(NodeId atom) {
    const Cursor begin = at_;
    const auto counts = take_repetition(at_);
    if (!counts) return atom;
    if (counts->least > most_repetitions || counts->least > counts->most ||
        (counts->most > most_repetitions && counts->most != SyntaxNode::unlimited))
      return begin.error(cat("the counts of a repetition go from 0 to ", most_repetitions));
    at_.take("?");
    Cursor behind = at_;
    if (take_repetition(behind)) return at_.error("a repetition of a repetition");
    return add({.kind = Kind::repetition,
                .least = counts->least,
                .most = counts->most,
                .children = {atom}});
  }

  Cursor at_;
  Flags flags_;
  Syntax syntax_;
  std::vector<std::string_view> names_;
  std::size_t depth_ = 0;
};

}  // namespace

Result<Syntax> parse(std::string_view pattern) {
  if (pattern.size() > longest_pattern)
    return Status(Code::unsupported, cat("the expression has ", pattern.size(),
                                         " bytes, more than ", longest_pattern));
  for (std::size_t at = 0; at < pattern.size();) {
    const Decoded d = decode_first(pattern.substr(at));
    if (!d.is_whole) return Cursor{pattern, at}.error("a byte that is no UTF-8");
    at += d.length;
  }
  return Parser(pattern).run();
}

}  // namespace quern::regex
