// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <limits>
#include <utility>

#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/platform/process.h"
#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/language/chat_template.h"
#include "frontends/language/template_functions.h"
#include "frontends/language/unicode.h"

namespace quern::language {
namespace {

using Value = TemplateValue;
using Expression = TemplateExpression;
using Node = TemplateNode;
using Nodes = TemplateNode::Nodes;

// Steps that a template may take, and more for each byte of what it is given; a character that is
// made is a step, too.
constexpr std::uint64_t least_steps = 20'000'000;
constexpr std::uint64_t steps_per_byte = 50;
constexpr int max_calls = 12;  // of macros within macros

std::uint64_t steps_for(const TemplateValue::Map& variables) {
  std::uint64_t bytes = 0;
  for (const auto& variable : variables) bytes += variable.second.weight();
  return least_steps + steps_per_byte * bytes;
}

Status at_line(Status error, int line) {
  if (error.ok() || error.message().starts_with("chat template")) return error;
  return {error.code(), cat("chat template, line ", line, ": ", error.message())};
}

// What a list of statements ended with.
enum class Flow : std::uint8_t { on, leave, proceed };

class Runner {
 public:
  explicit Runner(const Value::Map& variables) : work_(steps_for(variables)) {
    scopes_.push_back(variables);
    scopes_.emplace_back();
  }

  Result<Flow> run(const Nodes& nodes) {
    for (const Node& node : nodes) {
      if (!work_.spend(1)) return template_work_spent();
      auto flow = run(node);
      if (!flow) return at_line(std::move(flow).error(), node.line);
      if (*flow != Flow::on) return flow;
    }
    return Flow::on;
  }

  std::string take_output() { return std::move(out_); }

 private:
  // ---- statements

  Result<Flow> run(const Node& node) {
    switch (node.kind) {
      case Node::Kind::text: QUERN_TRY(print(node.text)); return Flow::on;
      case Node::Kind::print: {
        QUERN_ASSIGN(const Value value, evaluate(node.expressions[0]));
        if (!work_.spend(value.weight())) return template_work_spent();
        QUERN_TRY(print(value.printed()));
        return Flow::on;
      }
      case Node::Kind::loop: return loop(node);
      case Node::Kind::branch: {
        QUERN_ASSIGN(const Value value, evaluate(node.expressions[0]));
        return run(value.truth() ? node.body : node.other);
      }
      case Node::Kind::set: QUERN_TRY(assign(node)); return Flow::on;
      case Node::Kind::macro:
        set(node.names[0], Value(std::make_shared<const TemplateMacro>(TemplateMacro{&node})));
        return Flow::on;
      case Node::Kind::leave: return Flow::leave;
      case Node::Kind::proceed: return Flow::proceed;
      case Node::Kind::group: return run(node.body);
    }
    return Flow::on;
  }

  Status print(std::string_view text) {
    if (!work_.spend(text.size())) return template_work_spent();
    out_ += text;
    return {};
  }

  Result<Flow> loop(const Node& node) {
    QUERN_ASSIGN(const Value over, evaluate(node.expressions[0]));
    QUERN_ASSIGN(Value::List all, elements_of(over, work_));
    scopes_.emplace_back();
    if (node.expressions.size() > 1) {
      Value::List kept;
      for (Value& element : all) {
        QUERN_TRY(bind(node.names, element));
        QUERN_ASSIGN(const Value holds, evaluate(node.expressions[1]));
        if (holds.truth()) kept.push_back(std::move(element));
      }
      all = std::move(kept);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      scopes_.back().clear();
      QUERN_TRY(bind(node.names, all[i]));
      QUERN_ASSIGN(Value state, loop_state(all, i));
      set("loop", std::move(state));
      QUERN_ASSIGN(const Flow flow, run(node.body));
      if (flow == Flow::leave) break;
    }
    scopes_.pop_back();
    return all.empty() ? run(node.other) : Flow::on;
  }

  Result<Value> loop_state(const Value::List& all, std::size_t i) {
    if (!work_.spend(20)) return template_work_spent();
    const auto number = [](std::size_t n) { return Value(static_cast<std::int64_t>(n)); };
    Value::Map state = {{"index", number(i + 1)},
                        {"index0", number(i)},
                        {"first", Value::of_boolean(i == 0)},
                        {"last", Value::of_boolean(i + 1 == all.size())},
                        {"length", number(all.size())},
                        {"revindex", number(all.size() - i)},
                        {"revindex0", number(all.size() - i - 1)}};
    if (i > 0) state.emplace_back("previtem", all[i - 1]);
    if (i + 1 < all.size()) state.emplace_back("nextitem", all[i + 1]);
    return Value::of_map(std::move(state));
  }

  Status bind(const std::vector<std::string>& names, const Value& value) {
    if (names.size() == 1) {
      set(names[0], value);
      return {};
    }
    if (!value.list() || value.list()->size() != names.size())
      return template_error(
          cat("a value of kind ", value.type_name(), " is no list of ", names.size(), " values"));
    for (std::size_t i = 0; i < names.size(); ++i) set(names[i], (*value.list())[i]);
    return {};
  }

  Status assign(const Node& node) {
    Value value;
    if (node.expressions.empty()) {
      std::string outer = std::exchange(out_, {});
      auto flow = run(node.body);
      value = Value(std::exchange(out_, std::move(outer)));
      QUERN_TRY(std::move(flow).status());
    } else {
      QUERN_ASSIGN(value, evaluate(node.expressions[0]));
    }
    if (node.text.empty()) return bind(node.names, value);
    const Value target = look_up(node.names[0]);
    if (!target.space()) return template_error(cat("'", shown(node.names[0]), "' is no namespace"));
    if (value.space()) return template_error("a namespace within a namespace");
    put((*target.space())->members, node.text, std::move(value));
    return {};
  }

  // ---- names

  static void put(Value::Map& members, std::string_view name, Value value) {
    const auto found = std::ranges::find(members, name, &std::pair<std::string, Value>::first);
    if (found != members.end())
      found->second = std::move(value);
    else
      members.emplace_back(name, std::move(value));
  }
  void set(std::string_view name, Value value) { put(scopes_.back(), name, std::move(value)); }

  // In the scopes of the macro that runs, then in those of the whole template.
  Value look_up(std::string_view name) {
    const auto in = [&](std::size_t scope) -> const Value* {
      work_.spend(1 + scopes_[scope].size());
      const auto found =
          std::ranges::find(scopes_[scope], name, &std::pair<std::string, Value>::first);
      return found == scopes_[scope].end() ? nullptr : &found->second;
    };
    for (std::size_t i = scopes_.size(); i-- > base_;)
      if (const Value* value = in(i)) return *value;
    for (std::size_t i = 2; i-- > 0;)
      if (const Value* value = in(i)) return *value;
    return {};
  }

  // ---- expressions

  Result<Value> evaluate(const Expression& e) {
    if (!work_.spend(1)) return template_work_spent();
    auto value = evaluate_here(e);
    if (!value) return at_line(std::move(value).error(), e.line);
    return value;
  }

  Result<Value> evaluate_here(const Expression& e) {
    switch (e.kind) {
      case Expression::Kind::constant: return e.value;
      case Expression::Kind::name: return look_up(e.text);
      case Expression::Kind::list: return list(e);
      case Expression::Kind::object: return object(e);
      case Expression::Kind::attribute: return attribute(e);
      case Expression::Kind::item: return item(e);
      case Expression::Kind::slice: return slice(e);
      case Expression::Kind::call: return call(e);
      case Expression::Kind::filter: return filter(e);
      case Expression::Kind::test: return test(e);
      case Expression::Kind::unary: return unary(e);
      case Expression::Kind::binary: return binary(e);
      case Expression::Kind::comparison: return comparison(e);
      default: return logic(e);
    }
  }

  Result<Value> logic(const Expression& e) {
    if (e.kind == Expression::Kind::choice) {
      QUERN_ASSIGN(const Value condition, evaluate(e.parts[1]));
      return evaluate(e.parts[condition.truth() ? 0 : 2]);
    }
    QUERN_ASSIGN(Value left, evaluate(e.parts[0]));
    if (e.kind == Expression::Kind::negation) return Value::of_boolean(!left.truth());
    const bool is_decided = left.truth() == (e.kind == Expression::Kind::either);
    return is_decided ? Result<Value>(std::move(left)) : evaluate(e.parts[1]);
  }

  Result<Value> list(const Expression& e) {
    Value::List all;
    for (const Expression& part : e.parts) {
      QUERN_ASSIGN(all.emplace_back(), evaluate(part));
      if (all.back().space()) return template_error("a namespace within a list");
    }
    return Value::of_list(std::move(all));
  }

  Result<Value> object(const Expression& e) {
    Value::Map members;
    for (std::size_t i = 0; i + 1 < e.parts.size(); i += 2) {
      QUERN_ASSIGN(const Value key, evaluate(e.parts[i]));
      QUERN_ASSIGN(Value value, evaluate(e.parts[i + 1]));
      if (value.space()) return template_error("a namespace within an object");
      put(members, key.printed(), std::move(value));
    }
    return Value::of_map(std::move(members));
  }

  Result<Value> attribute(const Expression& e) {
    QUERN_ASSIGN(const Value object, evaluate(e.parts[0]));
    return member(object, e.text);
  }

  static Result<Value> member(const Value& object, std::string_view name) {
    if (object.is_undefined())
      return template_error(cat("'", shown(name), "' of what is not defined"));
    const Value* found = object.find(name);
    return found ? *found : Value();
  }

  Result<Value> item(const Expression& e) {
    QUERN_ASSIGN(const Value object, evaluate(e.parts[0]));
    QUERN_ASSIGN(const Value key, evaluate(e.parts[1]));
    if (key.text()) return member(object, *key.text());
    if (object.is_undefined()) return template_error("an element of what is not defined");
    if (!key.is_integer() || (!object.list() && !object.text())) return Value();
    if (!work_.spend(object.text() ? object.weight() : 1)) return template_work_spent();
    const std::u32string text = object.text() ? code_points(*object.text()) : std::u32string();
    const auto size =
        static_cast<std::int64_t>(object.list() ? object.list()->size() : text.size());
    const std::int64_t index = key.integer() < 0 ? key.integer() + size : key.integer();
    if (index < 0 || index >= size) return Value();
    const auto place = static_cast<std::size_t>(index);
    return object.list() ? (*object.list())[place] : Value(utf8({&text[place], 1}));
  }

  // As Python cuts: bounds beyond the ends are the ends, and negative ones count from the end.
  Result<Value> slice(const Expression& e) {
    QUERN_ASSIGN(const Value object, evaluate(e.parts[0]));
    std::int64_t given[3] = {0, 0, 1};
    bool is_given[3] = {false, false, false};
    for (std::size_t i = 0; i < 3; ++i) {
      QUERN_ASSIGN(const Value bound, evaluate(e.parts[i + 1]));
      is_given[i] = bound.is_integer();
      if (is_given[i]) given[i] = bound.integer();
      if (!is_given[i] && !bound.is_none() && !bound.is_undefined())
        return template_error(cat("a bound of kind ", bound.type_name()));
    }
    const std::int64_t step = given[2];
    if (step == 0) return template_error("a slice with step 0");
    if (!object.list() && !object.text())
      return template_error(cat("a slice of a value of kind ", object.type_name()));
    QUERN_ASSIGN(const Value::List all, elements_of(object, work_));
    const auto size = static_cast<std::int64_t>(all.size());
    const auto bound = [&](std::size_t i, std::int64_t otherwise) {
      const std::int64_t least = step > 0 ? 0 : -1;
      if (!is_given[i]) return otherwise;
      const std::int64_t at = given[i] < 0 ? std::max(given[i], -size - 1) + size : given[i];
      return std::clamp(at, least, step > 0 ? size : size - 1);
    };
    const std::int64_t end = bound(1, step > 0 ? size : -1);
    Value::List out;
    for (std::int64_t at = bound(0, step > 0 ? 0 : size - 1); step > 0 ? at < end : at > end;) {
      out.push_back(all[static_cast<std::size_t>(at)]);
      if (std::abs(std::clamp(step, -size - 1, size + 1)) > size) break;
      at += step;
    }
    if (object.list()) return Value::of_list(std::move(out));
    std::string text;
    for (const Value& character : out) text += *character.text();
    return Value(text);
  }

  Result<TemplateArguments> arguments_of(const Expression& e) {
    TemplateArguments arguments;
    for (std::size_t i = 1; i < e.parts.size(); ++i) {
      QUERN_ASSIGN(arguments.values.emplace_back(), evaluate(e.parts[i]));
    }
    for (std::size_t i = 0; i < e.named.size(); ++i) {
      QUERN_ASSIGN(Value value, evaluate(e.named[i]));
      arguments.named.emplace_back(e.words[i], std::move(value));
    }
    return arguments;
  }

  Result<Value> filter(const Expression& e) {
    QUERN_ASSIGN(const Value value, evaluate(e.parts[0]));
    QUERN_ASSIGN(const TemplateArguments arguments, arguments_of(e));
    return apply_filter(e.text, value, arguments, work_);
  }

  Result<Value> test(const Expression& e) {
    QUERN_ASSIGN(const Value value, evaluate(e.parts[0]));
    QUERN_ASSIGN(const TemplateArguments arguments, arguments_of(e));
    for (const Value& argument : arguments.values) work_.spend(argument.weight());
    QUERN_ASSIGN(const bool holds, apply_test(e.text, value, arguments, work_));
    return Value::of_boolean(holds);
  }

  // ---- calls

  Result<Value> call(const Expression& e) {
    const Expression& what = e.parts[0];
    QUERN_ASSIGN(TemplateArguments arguments, arguments_of(e));
    if (what.kind == Expression::Kind::attribute) {
      QUERN_ASSIGN(const Value object, evaluate(what.parts[0]));
      if (what.text == "cycle" && object.find("index0") && !arguments.values.empty())
        return arguments.values[static_cast<std::size_t>(object.find("index0")->integer()) %
                                arguments.values.size()];
      const Value* found = object.find(what.text);
      if (found && found->macro()) return call_macro(**found->macro(), arguments);
      if (object.is_undefined())
        return template_error(cat("'", shown(what.text), "' of what is not defined"));
      return call_method(object, what.text, arguments, work_);
    }
    QUERN_ASSIGN(const Value called, evaluate(what));
    if (called.macro()) return call_macro(**called.macro(), arguments);
    if (what.kind != Expression::Kind::name || !called.is_undefined())
      return template_error(cat("a call of a value of kind ", called.type_name()));
    return call_function(what.text, arguments);
  }

  Result<Value> call_function(std::string_view name, TemplateArguments& arguments) {
    if (name == "range") return range(arguments);
    if (name == "raise_exception")
      return template_error(cat("the template says: ", arguments.text(0, "message", "")));
    if (name == "namespace") {
      auto space = std::make_shared<Value::Namespace>();
      if (!arguments.values.empty() && arguments.values[0].map())
        space->members = *arguments.values[0].map();
      for (auto& [key, value] : arguments.named) {
        if (value.space()) return template_error("a namespace within a namespace");
        put(space->members, key, std::move(value));
      }
      return Value(std::move(space));
    }
    if (name == "dict") return Value::of_map(std::move(arguments.named));
    if (name == "strftime_now") return now_as(arguments.text(0, "format", "%Y-%m-%d"));
    return Status(Code::unsupported, cat("the function '", shown(name), "' is not supported"));
  }

  static Result<Value> now_as(std::string_view format) {
    if (format.size() > 200) return template_error("a format of a date that is too long");
    const std::tm parts = platform::local_time(std::time(nullptr));
    char text[2000];
    const std::size_t size = std::strftime(text, sizeof text, std::string(format).c_str(), &parts);
    return Value(std::string(text, size));
  }

  Result<Value> range(const TemplateArguments& arguments) {
    std::int64_t bounds[3] = {0, 0, 1};
    const std::size_t count = arguments.values.size();
    if (count < 1 || count > 3) return template_error("range() wants one to three numbers");
    for (std::size_t i = 0; i < count; ++i) {
      if (!arguments.values[i].is_integer()) return template_error("range() wants whole numbers");
      bounds[count == 1 ? 1 : i] = arguments.values[i].integer();
    }
    if (bounds[2] == 0) return template_error("range() with step 0");
    Value::List all;
    for (std::int64_t at = bounds[0]; bounds[2] > 0 ? at < bounds[1] : at > bounds[1];) {
      if (!work_.spend(40)) return template_work_spent();
      all.emplace_back(at);
      if (__builtin_add_overflow(at, bounds[2], &at)) break;
    }
    return Value::of_list(std::move(all));
  }

  // In a scope of its own, above those of the whole template.
  Result<Value> call_macro(const TemplateMacro& macro, const TemplateArguments& arguments) {
    const Node& node = *macro.node;
    if (calls_ == max_calls) return Status(Code::unsupported, "macros call each other too deep");
    const std::size_t parameters = node.names.size() - 1;
    if (arguments.values.size() > parameters)
      return template_error(cat("macro '", shown(node.names[0]), "' takes ", parameters,
                                " arguments, ", arguments.values.size(), " are given"));
    Value::Map scope;
    for (std::size_t i = 0; i < parameters; ++i) {
      const std::string& name = node.names[i + 1];
      const Value* given = arguments.find(i, name);
      Value value = given ? *given : Value();
      const std::size_t first_default = parameters - node.expressions.size();
      if (!given && i >= first_default) {
        QUERN_ASSIGN(value, evaluate(node.expressions[i - first_default]));
      }
      scope.emplace_back(name, std::move(value));
    }
    const std::size_t outer_base = std::exchange(base_, scopes_.size());
    const std::size_t outer_size = scopes_.size();
    std::string outer = std::exchange(out_, {});
    scopes_.push_back(std::move(scope));
    ++calls_;
    auto flow = run(node.body);
    --calls_;
    scopes_.resize(outer_size);
    base_ = outer_base;
    std::string text = std::exchange(out_, std::move(outer));
    if (!flow) return std::move(flow).error();
    return Value(std::move(text));
  }

  // ---- operators

  Result<Value> unary(const Expression& e) {
    QUERN_ASSIGN(const Value value, evaluate(e.parts[0]));
    if (!value.is_number()) return template_error(cat("a sign before a ", value.type_name()));
    const bool is_minus = e.text == "-";
    if (value.is_integer() && value.integer() != std::numeric_limits<std::int64_t>::min())
      return Value(is_minus ? -value.integer() : value.integer());
    return Value(is_minus ? -value.number() : value.number());
  }

  Result<Value> comparison(const Expression& e) {
    QUERN_ASSIGN(Value left, evaluate(e.parts[0]));
    for (std::size_t i = 0; i < e.named.size(); ++i) {
      QUERN_ASSIGN(Value right, evaluate(e.named[i]));
      if (!work_.spend(left.weight() + right.weight())) return template_work_spent();
      QUERN_ASSIGN(const bool holds, compare(e.words[i], left, right));
      if (!holds) return Value::of_boolean(false);
      left = std::move(right);
    }
    return Value::of_boolean(true);
  }

  static Result<bool> compare(std::string_view word, const Value& left, const Value& right) {
    if (word == "==") return left == right;
    if (word == "!=") return !(left == right);
    if (word == "in" || word == "not in") {
      QUERN_ASSIGN(const bool is_in, contains(right, left));
      return is_in == (word == "in");
    }
    QUERN_ASSIGN(const int order, compared(left, right));
    if (word == "<") return order < 0;
    if (word == ">") return order > 0;
    return word == "<=" ? order <= 0 : order >= 0;
  }

  Result<Value> binary(const Expression& e) {
    QUERN_ASSIGN(const Value left, evaluate(e.parts[0]));
    QUERN_ASSIGN(const Value right, evaluate(e.parts[1]));
    if (!work_.spend(left.weight() + right.weight())) return template_work_spent();
    if (e.text == "~") return Value(left.printed() + right.printed());
    if (e.text == "+" && left.text() && right.text()) return Value(*left.text() + *right.text());
    if (e.text == "+" && left.list() && right.list()) {
      Value::List all = *left.list();
      all.insert(all.end(), right.list()->begin(), right.list()->end());
      return Value::of_list(std::move(all));
    }
    if (e.text == "*" && left.text() && right.is_integer())
      return repeated(*left.text(), right.integer());
    if (!left.is_number() || !right.is_number())
      return template_error(
          cat("'", e.text, "' of ", left.type_name(), " and ", right.type_name()));
    if (left.is_integer() && right.is_integer() && e.text != "/" && e.text != "**")
      return whole(e.text[0], e.text, left.integer(), right.integer());
    return real(e.text, left, right);
  }

  Result<Value> repeated(std::string_view text, std::int64_t count) {
    std::string out;
    for (std::int64_t i = 0; i < count && !text.empty(); ++i) {
      if (!work_.spend(text.size())) return template_work_spent();
      out += text;
    }
    return Value(out);
  }

  static Result<Value> whole(char sign, std::string_view text, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    bool is_too_large = false;
    if (sign == '+') is_too_large = __builtin_add_overflow(a, b, &result);
    if (sign == '-') is_too_large = __builtin_sub_overflow(a, b, &result);
    if (sign == '*') is_too_large = __builtin_mul_overflow(a, b, &result);
    if (sign == '/' || sign == '%') {
      if (b == 0) return template_error("a division by 0");
      if (b == -1) return sign == '%' ? Value(std::int64_t{0}) : whole('-', "-", 0, a);
      const bool goes_down = a % b != 0 && (a % b < 0) != (b < 0);  // Python rounds down
      result = sign == '%' ? a % b + (goes_down ? b : 0) : a / b - (goes_down ? 1 : 0);
    }
    if (is_too_large) return template_error(cat("the result of '", text, "' is too large"));
    return Value(result);
  }

  static Result<Value> real(std::string_view sign, const Value& left, const Value& right) {
    const double a = left.number();
    const double b = right.number();
    if ((sign[0] == '/' || sign == "%") && b == 0) return template_error("a division by 0");
    if (sign == "+") return Value(a + b);
    if (sign == "-") return Value(a - b);
    if (sign == "*") return Value(a * b);
    if (sign == "/") return Value(a / b);
    if (sign == "//") return Value(std::floor(a / b));
    if (sign == "%") return Value(a - b * std::floor(a / b));
    const double power = std::pow(a, b);
    const bool is_whole = left.is_integer() && right.is_integer() && b >= 0;
    if (is_whole && std::fabs(power) < 9e15) return Value(static_cast<std::int64_t>(power));
    return Value(power);
  }

  Work work_;
  std::vector<Value::Map> scopes_;  // the variables given, those of the template, and inner ones
  std::size_t base_ = 1;            // the outermost scope that the macro that runs can see
  int calls_ = 0;
  std::string out_;
};

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  return guarded([&]() -> Result<ChatTemplate> {
    QUERN_ASSIGN(Nodes nodes, parse_template(source));
    ChatTemplate parsed;
    parsed.nodes_ = std::make_shared<const Nodes>(std::move(nodes));
    return parsed;
  });
}

Result<std::string> ChatTemplate::render(const TemplateValue::Map& variables) const {
  return guarded([&]() -> Result<std::string> {
    Runner runner(variables);
    QUERN_TRY(runner.run(*nodes_).status());
    return runner.take_output();
  });
}

}  // namespace quern::language
