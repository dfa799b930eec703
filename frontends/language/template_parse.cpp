// SPDX-License-Identifier: Apache-2.0
// The grammar of Jinja 3 in descending functions, from what binds least to what binds most.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/language/template_syntax.h"

namespace quern::language {
namespace {

using Expression = TemplateExpression;
using Node = TemplateNode;
using Nodes = TemplateNode::Nodes;
using Word = TemplateToken::Kind;

constexpr int max_syntax_depth = 60;  // of expressions, and of blocks
constexpr int max_tree_height = 300;  // of the tree of an expression

class TemplateParser {
 public:
  explicit TemplateParser(std::vector<TemplateToken> tokens) : tokens_(std::move(tokens)) {}

  Result<Nodes> parse() {
    QUERN_ASSIGN(Nodes nodes, body({}));
    if (now().kind != Word::end) return error("an end of nothing");
    return nodes;
  }

 private:
  const TemplateToken& now() const { return tokens_[at_]; }
  const TemplateToken& after() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Status error(std::string_view what, Code code = Code::invalid_argument) const {
    return {code, cat("chat template, line ", now().line, ": ", what,
                      now().text.empty() ? std::string() : cat(", at '", shown(now().text), "'"))};
  }
  bool is_sign(std::string_view text) const {
    return now().kind == Word::sign && now().text == text;
  }
  bool is_name(std::string_view text) const {
    return now().kind == Word::name && now().text == text;
  }
  bool accept_sign(std::string_view text) { return is_sign(text) && ++at_; }
  bool accept_name(std::string_view text) { return is_name(text) && ++at_; }
  Status expect_sign(std::string_view text) {
    return accept_sign(text) ? Status() : error(cat("'", text, "' is missing"));
  }
  Status expect(Word kind, std::string_view what) {
    if (now().kind != kind) return error(cat(what, " is missing"));
    ++at_;
    return {};
  }
  Result<std::string> name() {
    if (now().kind != Word::name) return error("a name is missing");
    return tokens_[at_++].text;
  }
  Expression make(Expression::Kind kind, std::string text = {}) const {
    Expression e;
    e.kind = kind;
    e.text = std::move(text);
    e.line = now().line;
    return e;
  }
  template <class... E>
  Expression join(Expression::Kind kind, std::string text, E... parts) const {
    Expression e = make(kind, std::move(text));
    (add_part(e, std::move(parts)), ...);
    return e;
  }
  static void add_height(Expression& whole, const Expression& part) {
    whole.height = std::max(whole.height, part.height + 1);
  }
  static void add_part(Expression& whole, Expression part) {
    add_height(whole, part);
    whole.parts.push_back(std::move(part));
  }

  // ---- blocks

  // Up to a block that begins with one of these words, which stays; or up to the end.
  Result<Nodes> body(std::initializer_list<std::string_view> ends) {
    if (++depth_ > max_syntax_depth) return error("blocks nested too deep");
    Nodes nodes;
    while (now().kind != Word::end) {
      if (now().kind == Word::block_begin &&
          std::ranges::find(ends, std::string_view(after().text)) != ends.end())
        break;
      if (now().kind == Word::block_begin && after().text.starts_with("end") &&
          after().kind == Word::name)
        break;
      QUERN_ASSIGN(nodes.emplace_back(), node());
    }
    --depth_;
    return nodes;
  }

  Result<Node> node() {
    Node n{.line = now().line};
    if (now().kind == Word::text) {
      n.text = tokens_[at_++].text;
      return n;
    }
    if (now().kind == Word::print_begin) {
      ++at_;
      n.kind = Node::Kind::print;
      QUERN_ASSIGN(n.expressions.emplace_back(), tuple());
      QUERN_TRY(expect(Word::print_end, "'}}'"));
      return n;
    }
    QUERN_TRY(expect(Word::block_begin, "a block"));
    QUERN_ASSIGN(const std::string word, name());
    if (word == "for") return loop(std::move(n));
    if (word == "if") return branch(std::move(n));
    if (word == "set") return assignment(std::move(n));
    if (word == "macro") return macro(std::move(n));
    if (word == "break" || word == "continue") {
      n.kind = word == "break" ? Node::Kind::leave : Node::Kind::proceed;
      QUERN_TRY(expect(Word::block_end, "'%}'"));
      return n;
    }
    if (word == "generation") {  // marks what an assistant says, for training
      n.kind = Node::Kind::group;
      QUERN_TRY(expect(Word::block_end, "'%}'"));
      QUERN_ASSIGN(n.body, body({"endgeneration"}));
      QUERN_TRY(end_block("endgeneration"));
      return n;
    }
    return error(cat("the block '", shown(word), "' is not supported"), Code::unsupported);
  }

  Status end_block(std::string_view word) {
    QUERN_TRY(expect(Word::block_begin, cat("{% ", word, " %}")));
    if (!accept_name(word)) return error(cat("{% ", word, " %} is missing"));
    if (word == "endmacro" && now().kind == Word::name) ++at_;
    return expect(Word::block_end, "'%}'");
  }

  Result<Node> loop(Node n) {
    n.kind = Node::Kind::loop;
    QUERN_ASSIGN(n.names, targets());
    if (!accept_name("in")) return error("'in' is missing");
    QUERN_ASSIGN(n.expressions.emplace_back(), either());
    if (accept_name("if")) {
      QUERN_ASSIGN(n.expressions.emplace_back(), either());
    }
    if (is_name("recursive")) return error("recursive loops are not supported", Code::unsupported);
    QUERN_TRY(expect(Word::block_end, "'%}'"));
    QUERN_ASSIGN(n.body, body({"else", "endfor"}));
    if (after().text == "else") {
      at_ += 2;
      QUERN_TRY(expect(Word::block_end, "'%}'"));
      QUERN_ASSIGN(n.other, body({"endfor"}));
    }
    QUERN_TRY(end_block("endfor"));
    return n;
  }

  Result<std::vector<std::string>> targets() {
    std::vector<std::string> names;
    const bool has_bracket = accept_sign("(");
    do {
      QUERN_ASSIGN(names.emplace_back(), name());
    } while (accept_sign(","));
    if (has_bracket) QUERN_TRY(expect_sign(")"));
    return names;
  }

  // An elif is an if that is all of the else.
  Result<Node> branch(Node n) {
    n.kind = Node::Kind::branch;
    QUERN_ASSIGN(n.expressions.emplace_back(), tuple());
    QUERN_TRY(expect(Word::block_end, "'%}'"));
    QUERN_ASSIGN(n.body, body({"elif", "else", "endif"}));
    if (after().text == "elif") {
      at_ += 2;
      if (++depth_ > max_syntax_depth) return error("blocks nested too deep");
      QUERN_ASSIGN(n.other.emplace_back(), branch({.line = now().line}));
      --depth_;
      return n;
    }
    if (after().text == "else") {
      at_ += 2;
      QUERN_TRY(expect(Word::block_end, "'%}'"));
      QUERN_ASSIGN(n.other, body({"endif"}));
    }
    QUERN_TRY(end_block("endif"));
    return n;
  }

  Result<Node> assignment(Node n) {
    n.kind = Node::Kind::set;
    QUERN_ASSIGN(n.names, targets());
    if (n.names.size() == 1 && accept_sign(".")) {
      QUERN_ASSIGN(n.text, name());
    }
    if (accept_sign("=")) {
      QUERN_ASSIGN(n.expressions.emplace_back(), tuple());
      QUERN_TRY(expect(Word::block_end, "'%}'"));
      return n;
    }
    QUERN_TRY(expect(Word::block_end, "'='"));
    QUERN_ASSIGN(n.body, body({"endset"}));
    QUERN_TRY(end_block("endset"));
    return n;
  }

  Result<Node> macro(Node n) {
    n.kind = Node::Kind::macro;
    QUERN_ASSIGN(n.names.emplace_back(), name());
    QUERN_TRY(expect_sign("("));
    while (!accept_sign(")")) {
      QUERN_ASSIGN(n.names.emplace_back(), name());
      if (accept_sign("=")) {
        QUERN_ASSIGN(n.expressions.emplace_back(), expression());
      } else if (!n.expressions.empty()) {
        return error("a parameter without default after one with");
      }
      if (!is_sign(")")) QUERN_TRY(expect_sign(","));
    }
    QUERN_TRY(expect(Word::block_end, "'%}'"));
    QUERN_ASSIGN(n.body, body({"endmacro"}));
    QUERN_TRY(end_block("endmacro"));
    return n;
  }

  // ---- expressions

  Result<Expression> tuple() {
    QUERN_ASSIGN(Expression first, expression());
    if (!is_sign(",")) return first;
    Expression list = join(Expression::Kind::list, "", std::move(first));
    while (accept_sign(",")) {
      if (now().kind == Word::print_end || now().kind == Word::block_end || is_sign(")")) break;
      QUERN_ASSIGN(Expression next, expression());
      add_part(list, std::move(next));
    }
    return list;
  }

  Result<Expression> expression() {
    QUERN_ASSIGN(Expression value, either());
    while (accept_name("if")) {
      QUERN_ASSIGN(Expression condition, either());
      Expression other = make(Expression::Kind::constant);
      if (accept_name("else")) {
        QUERN_ASSIGN(other, expression());
      }
      value = join(Expression::Kind::choice, "", std::move(value), std::move(condition),
                   std::move(other));
    }
    return value;
  }

  // A row of operators of one rank, from left to right. Each makes the tree a level deeper.
  template <class Next, class Accept>
  Result<Expression> row(const Next& next, const Accept& accept) {
    QUERN_ASSIGN(Expression left, next());
    for (int count = 0;; ++count) {
      Expression whole;
      if (!accept(whole)) return left;
      if (count == 200) return error("a row of more than 200 operators", Code::unsupported);
      whole.line = now().line;
      QUERN_ASSIGN(Expression right, next());
      add_part(whole, std::move(left));
      add_part(whole, std::move(right));
      left = std::move(whole);
    }
  }

  Result<Expression> either() {
    if (++depth_ > max_syntax_depth) return error("expressions nested too deep");
    auto result = row([this] { return both(); },
                      [this](Expression& e) {
                        e.kind = Expression::Kind::either;
                        return accept_name("or");
                      });
    --depth_;
    if (result && result->height > max_tree_height) return error("expressions nested too deep");
    return result;
  }

  Result<Expression> both() {
    return row([this] { return negation(); },
               [this](Expression& e) {
                 e.kind = Expression::Kind::both;
                 return accept_name("and");
               });
  }

  Result<Expression> negation() {
    if (!accept_name("not")) return comparison();
    if (++depth_ > max_syntax_depth) return error("expressions nested too deep");
    QUERN_ASSIGN(Expression inner, negation());
    --depth_;
    return join(Expression::Kind::negation, "", std::move(inner));
  }

  // a < b < c holds where both hold.
  Result<Expression> comparison() {
    QUERN_ASSIGN(Expression left, sum());
    std::string word = comparison_word();
    if (word.empty()) return left;
    Expression whole = join(Expression::Kind::comparison, "", std::move(left));
    for (; !word.empty(); word = comparison_word()) {
      QUERN_ASSIGN(Expression right, sum());
      add_height(whole, right);
      whole.words.push_back(std::move(word));
      whole.named.push_back(std::move(right));
    }
    return whole;
  }

  std::string comparison_word() {
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"})
      if (accept_sign(sign)) return std::string(sign);
    if (accept_name("in")) return "in";
    if (is_name("not") && after().kind == Word::name && after().text == "in") {
      at_ += 2;
      return "not in";
    }
    return "";
  }

  template <class Next>
  Result<Expression> binary(const Next& next, std::initializer_list<std::string_view> signs) {
    return row(next, [this, signs](Expression& e) {
      e.kind = Expression::Kind::binary;
      for (const std::string_view sign : signs) {
        if (!accept_sign(sign)) continue;
        e.text = sign;
        return true;
      }
      return false;
    });
  }
  Result<Expression> sum() {
    return binary([this] { return joined_text(); }, {"+", "-"});
  }
  Result<Expression> joined_text() {
    return binary([this] { return product(); }, {"~"});
  }
  Result<Expression> product() {
    return binary([this] { return power(); }, {"*", "//", "/", "%"});
  }
  Result<Expression> power() {
    return binary([this] { return signed_value(); }, {"**"});
  }

  Result<Expression> signed_value() {
    Expression value;
    if (is_sign("-") || is_sign("+")) {
      const std::string sign = tokens_[at_++].text;
      if (++depth_ > max_syntax_depth) return error("expressions nested too deep");
      const bool is_inner = is_sign("-") || is_sign("+");
      QUERN_ASSIGN(Expression inner, is_inner ? signed_value() : operand());
      --depth_;
      value = join(Expression::Kind::unary, sign, std::move(inner));
    } else {
      QUERN_ASSIGN(value, operand());
    }
    return filtered(std::move(value));
  }

  // A value with what stands behind it: .name, [..], (..).
  Result<Expression> operand() {
    QUERN_ASSIGN(Expression value, primary());
    for (int count = 0; is_sign(".") || is_sign("[") || is_sign("("); ++count) {
      if (count == 50) return error("a row of more than 50 steps", Code::unsupported);
      if (accept_sign(".")) {
        if (now().kind == Word::integer) {
          Expression index = make(Expression::Kind::constant);
          QUERN_ASSIGN(index.value, number());
          value = join(Expression::Kind::item, "", std::move(value), std::move(index));
        } else {
          QUERN_ASSIGN(std::string attribute, name());
          value = join(Expression::Kind::attribute, std::move(attribute), std::move(value));
        }
      } else if (accept_sign("[")) {
        QUERN_ASSIGN(value, subscript(std::move(value)));
      } else {
        value = join(Expression::Kind::call, "", std::move(value));
        QUERN_TRY(arguments(value));
      }
    }
    return value;
  }

  Result<Expression> subscript(Expression value) {
    Expression slice = join(Expression::Kind::slice, "", std::move(value));
    bool is_slice = false;
    for (int part = 0; part < 3; ++part) {
      Expression bound = make(Expression::Kind::constant);
      bound.value = nullptr;
      if (!is_sign(":") && !is_sign("]")) {
        QUERN_ASSIGN(bound, expression());
      } else if (part == 0 && is_sign("]")) {
        return error("an index is missing");
      }
      add_part(slice, std::move(bound));
      if (!accept_sign(":")) break;
      is_slice = true;
    }
    QUERN_TRY(expect_sign("]"));
    slice.kind = is_slice ? Expression::Kind::slice : Expression::Kind::item;
    while (is_slice && slice.parts.size() < 4) {
      slice.parts.push_back(make(Expression::Kind::constant));
      slice.parts.back().value = nullptr;
    }
    return slice;
  }

  // "(a, b, name=c)", added to what is called.
  Status arguments(Expression& called) {
    QUERN_TRY(expect_sign("("));
    while (!accept_sign(")")) {
      if (now().kind == Word::name && after().kind == Word::sign && after().text == "=") {
        std::string key = tokens_[at_].text;
        at_ += 2;
        QUERN_ASSIGN(Expression value, expression());
        add_height(called, value);
        called.words.push_back(std::move(key));
        called.named.push_back(std::move(value));
      } else if (is_sign("*") || is_sign("**")) {
        return error("arguments from a list or object are not supported", Code::unsupported);
      } else {
        QUERN_ASSIGN(Expression value, expression());
        add_part(called, std::move(value));
      }
      if (!is_sign(")")) QUERN_TRY(expect_sign(","));
    }
    return {};
  }

  // Filters and tests behind a value.
  Result<Expression> filtered(Expression value) {
    for (int count = 0;; ++count) {
      if (count == 50) return error("a row of more than 50 filters", Code::unsupported);
      if (accept_sign("|")) {
        QUERN_ASSIGN(std::string filter, name());
        value = join(Expression::Kind::filter, std::move(filter), std::move(value));
        if (is_sign("(")) QUERN_TRY(arguments(value));
      } else if (accept_name("is")) {
        const bool is_negated = accept_name("not");
        QUERN_ASSIGN(std::string test, name());
        value = join(Expression::Kind::test, std::move(test), std::move(value));
        QUERN_TRY(test_arguments(value));
        if (is_negated) value = join(Expression::Kind::negation, "", std::move(value));
      } else {
        return value;
      }
    }
  }

  Status test_arguments(Expression& test) {
    if (is_sign("(")) return arguments(test);
    const bool is_word = now().kind == Word::name && !is_name("and") && !is_name("or") &&
                         !is_name("else") && !is_name("is") && !is_name("if") && !is_name("not") &&
                         !is_name("in");
    if (!is_word && now().kind != Word::string && now().kind != Word::integer &&
        now().kind != Word::real && !is_sign("["))
      return {};
    QUERN_ASSIGN(Expression argument, operand());
    add_part(test, std::move(argument));
    return {};
  }

  Result<TemplateValue> number() {
    const TemplateToken& token = tokens_[at_++];
    if (token.kind == Word::real) return TemplateValue(std::strtod(token.text.c_str(), nullptr));
    std::int64_t whole = 0;
    const char* end = token.text.data() + token.text.size();
    if (std::from_chars(token.text.data(), end, whole).ptr != end ||
        std::to_string(whole).size() > token.text.size())
      return error("a number that is too large");
    return TemplateValue(whole);
  }

  Result<Expression> primary() {
    Expression value = make(Expression::Kind::constant);
    switch (now().kind) {
      case Word::string: {
        std::string text;
        while (now().kind == Word::string) text += tokens_[at_++].text;
        value.value = std::move(text);
        return value;
      }
      case Word::integer:
      case Word::real: {
        QUERN_ASSIGN(value.value, number());
        return value;
      }
      case Word::name: return named_value();
      default: break;
    }
    if (accept_sign("(")) {
      if (accept_sign(")")) return make(Expression::Kind::list);
      QUERN_ASSIGN(value, tuple());
      QUERN_TRY(expect_sign(")"));
      return value;
    }
    if (accept_sign("[")) return items(make(Expression::Kind::list), "]");
    if (accept_sign("{")) return items(make(Expression::Kind::object), "}");
    return error("a value is missing");
  }

  Result<Expression> named_value() {
    const std::string& word = tokens_[at_++].text;
    Expression value = make(Expression::Kind::constant);
    if (word == "true" || word == "True" || word == "false" || word == "False") {
      value.value = TemplateValue::of_boolean(word[0] == 't' || word[0] == 'T');
    } else if (word == "none" || word == "None") {
      value.value = nullptr;
    } else {
      value.kind = Expression::Kind::name;
      value.text = word;
    }
    return value;
  }

  Result<Expression> items(Expression all, std::string_view end) {
    while (!accept_sign(end)) {
      QUERN_ASSIGN(Expression item, expression());
      add_part(all, std::move(item));
      if (all.kind == Expression::Kind::object) {
        QUERN_TRY(expect_sign(":"));
        QUERN_ASSIGN(Expression member, expression());
        add_part(all, std::move(member));
      }
      if (!is_sign(end)) QUERN_TRY(expect_sign(","));
    }
    return all;
  }

  std::vector<TemplateToken> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Nodes> parse_template(std::string_view source) {
  QUERN_ASSIGN(auto tokens, template_tokens(source));
  return TemplateParser(std::move(tokens)).parse();
}

}  // namespace quern::language
