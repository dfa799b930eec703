// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/template_functions.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/language/unicode.h"

namespace quern::language {
namespace {

using Value = TemplateValue;
using List = TemplateValue::List;
using Arguments = TemplateArguments;
using Test = Result<bool> (*)(const Value& value, const Arguments& arguments);

struct TestRow {
  std::string_view name;
  Test holds;
};

Status unfit(const Value& value, std::string_view wanted) {
  return template_error(cat(value.type_name(), " where ", wanted, " is wanted"));
}

// ---- lists and objects

Result<Value> length(const Value& value, const Arguments&, Work&) {
  if (value.text()) return Value(static_cast<std::int64_t>(code_points(*value.text()).size()));
  if (value.list()) return Value(static_cast<std::int64_t>(value.list()->size()));
  if (value.map()) return Value(static_cast<std::int64_t>(value.map()->size()));
  if (value.is_undefined()) return Value(std::int64_t{0});
  return unfit(value, "a text, a list or an object");
}

Result<Value> items(const Value& value, const Arguments&, Work&) {
  List all;
  if (value.is_undefined()) return Value::of_list({});
  if (!value.map()) return unfit(value, "an object");
  for (const auto& [key, member] : *value.map()) {
    QUERN_ASSIGN(all.emplace_back(), Value::of_list({Value(key), member}));
  }
  return Value::of_list(std::move(all));
}
Result<Value> keys(const Value& value, const Arguments&, Work& work) {
  if (!value.map()) return unfit(value, "an object");
  QUERN_ASSIGN(List all, elements_of(value, work));
  return Value::of_list(std::move(all));
}
Result<Value> values(const Value& value, const Arguments&, Work&) {
  if (!value.map()) return unfit(value, "an object");
  List all;
  for (const auto& member : *value.map()) all.push_back(member.second);
  return Value::of_list(std::move(all));
}
Result<Value> get(const Value& value, const Arguments& arguments, Work&) {
  if (!value.map()) return unfit(value, "an object");
  const Value* key = arguments.find(0, "key");
  const Value* found = key && key->text() ? value.find(*key->text()) : nullptr;
  if (found) return *found;
  const Value* otherwise = arguments.find(1, "default");
  return otherwise ? *otherwise : Value(nullptr);
}

Result<Value> list(const Value& value, const Arguments&, Work& work) {
  QUERN_ASSIGN(List all, elements_of(value, work));
  return Value::of_list(std::move(all));
}
Result<Value> reverse(const Value& value, const Arguments&, Work& work) {
  if (value.text()) {
    std::u32string all = code_points(*value.text());
    std::ranges::reverse(all);
    return Value(utf8(all));
  }
  QUERN_ASSIGN(List all, elements_of(value, work));
  std::ranges::reverse(all);
  return Value::of_list(std::move(all));
}
Result<Value> first(const Value& value, const Arguments&, Work& work) {
  QUERN_ASSIGN(const List all, elements_of(value, work));
  return all.empty() ? Value() : all.front();
}
Result<Value> last(const Value& value, const Arguments&, Work& work) {
  QUERN_ASSIGN(const List all, elements_of(value, work));
  return all.empty() ? Value() : all.back();
}

// The member `path` ("a.b") of each element.
Value attribute_of(const Value& value, std::string_view path) {
  Value at = value;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const Value* member = at.find(path.substr(0, dot));
    if (!member) return {};
    at = Value(*member);
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at;
}

Result<Value> join(const Value& value, const Arguments& arguments, Work& work) {
  QUERN_ASSIGN(const List all, elements_of(value, work));
  const std::string_view between = arguments.text(0, "d", "");
  const std::string_view attribute = arguments.text(1, "attribute", "");
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!work.spend(all[i].weight() + between.size())) return template_work_spent();
    if (i > 0) out += between;
    out += (attribute.empty() ? all[i] : attribute_of(all[i], attribute)).printed();
  }
  return Value(out);
}

Result<Value> map(const Value& value, const Arguments& arguments, Work& work) {
  QUERN_ASSIGN(List all, elements_of(value, work));
  const std::string_view attribute = arguments.text(1000, "attribute", "");
  const Value* otherwise = arguments.find(1000, "default");
  Arguments rest = arguments;
  if (attribute.empty()) {
    if (rest.values.empty()) return template_error("map() without a filter");
    rest.values.erase(rest.values.begin());
  }
  for (Value& element : all) {
    if (attribute.empty()) {
      QUERN_ASSIGN(element, apply_filter(arguments.text(0, "", ""), element, rest, work));
    } else {
      element = attribute_of(element, attribute);
      if (element.is_undefined() && otherwise) element = *otherwise;
    }
  }
  return Value::of_list(std::move(all));
}

// Elements for which a test holds (or not), or their attribute's value.
template <bool wanted, bool by_attribute>
Result<Value> select(const Value& value, const Arguments& arguments, Work& work) {
  QUERN_ASSIGN(List all, elements_of(value, work));
  Arguments rest = arguments;
  const std::size_t used = std::min<std::size_t>(rest.values.size(), by_attribute ? 2 : 1);
  rest.values.erase(rest.values.begin(), rest.values.begin() + static_cast<std::ptrdiff_t>(used));
  const std::string_view attribute = by_attribute ? arguments.text(0, "", "") : "";
  const std::string_view test = arguments.text(by_attribute ? 1 : 0, "", "");
  List out;
  for (Value& element : all) {
    const Value subject = by_attribute ? attribute_of(element, attribute) : element;
    bool holds = subject.truth();
    if (!test.empty()) {
      QUERN_ASSIGN(holds, apply_test(test, subject, rest, work));
    }
    if (holds == wanted) out.push_back(std::move(element));
  }
  return Value::of_list(std::move(out));
}

// Texts compare without case unless they are told to.
Result<Value> sort(const Value& value, const Arguments& arguments, Work& work) {
  QUERN_ASSIGN(List all, elements_of(value, work));
  const Value* is_reverse = arguments.find(0, "reverse");
  const Value* by_case = arguments.find(1, "case_sensitive");
  const std::string_view attribute = arguments.text(2, "attribute", "");
  if (!work.spend(20 * value.weight())) return template_work_spent();
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& element : all) {
    Value key = attribute.empty() ? element : attribute_of(element, attribute);
    if (key.text() && !(by_case && by_case->truth())) key = Value(small_text(*key.text()));
    if (!keyed.empty()) QUERN_TRY(compared(keyed[0].first, key).status());
    keyed.emplace_back(std::move(key), element);
  }
  const bool is_down = is_reverse && is_reverse->truth();
  std::ranges::stable_sort(keyed, [is_down](const auto& a, const auto& b) {
    const auto order = is_down ? compared(b.first, a.first) : compared(a.first, b.first);
    return order && *order < 0;
  });
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = keyed[i].second;
  return Value::of_list(std::move(all));
}

Result<Value> sorted_items(const Value& value, const Arguments& arguments, Work& work) {
  QUERN_ASSIGN(const Value all, items(value, arguments, work));
  return sort(all, {}, work);
}

Result<Value> unique(const Value& value, const Arguments&, Work& work) {
  QUERN_ASSIGN(const List all, elements_of(value, work));
  List out;
  for (const Value& element : all) {
    if (!work.spend(element.weight() * (1 + out.size()))) return template_work_spent();
    if (std::ranges::find(out, element) == out.end()) out.push_back(element);
  }
  return Value::of_list(std::move(out));
}

template <int sign>
Result<Value> extreme(const Value& value, const Arguments&, Work& work) {
  QUERN_ASSIGN(const List all, elements_of(value, work));
  Value best;
  for (const Value& element : all) {
    if (best.is_undefined()) best = element;
    QUERN_ASSIGN(const int order, compared(element, best));
    if (order * sign > 0) best = element;
  }
  return best;
}

Result<Value> sum(const Value& value, const Arguments& arguments, Work& work) {
  QUERN_ASSIGN(const List all, elements_of(value, work));
  const std::string_view attribute = arguments.text(0, "attribute", "");
  double total = 0;
  bool is_whole = true;
  for (const Value& element : all) {
    const Value number = attribute.empty() ? element : attribute_of(element, attribute);
    if (!number.is_number()) return unfit(number, "a number");
    total += number.number();
    is_whole = is_whole && number.is_integer();
  }
  if (is_whole && std::fabs(total) < 9e15) return Value(static_cast<std::int64_t>(total));
  return Value(total);
}

// ---- values

Result<Value> otherwise(const Value& value, const Arguments& arguments, Work&) {
  const Value* instead = arguments.find(0, "default_value");
  const Value* also_false = arguments.find(1, "boolean");
  if (value.is_undefined() || (also_false && also_false->truth() && !value.truth()))
    return instead ? *instead : Value("");
  return value;
}

Result<Value> to_json(const Value& value, const Arguments& arguments, Work& work) {
  const Value* indent = arguments.find(0, "indent");
  if (value.is_undefined()) return template_error("tojson of what is not defined");
  const int width = indent && indent->is_integer()
                        ? static_cast<int>(std::clamp<std::int64_t>(indent->integer(), 0, 40))
                        : -1;
  const std::size_t lines = width < 0 ? 1 : static_cast<std::size_t>(width) * 20 + 1;
  if (!work.spend(value.weight() * lines)) return template_work_spent();
  return Value(value.json(width));
}

Result<Value> to_text(const Value& value, const Arguments&, Work&) {
  return Value(value.printed());
}
Result<Value> same(const Value& value, const Arguments&, Work&) {
  return value;
}
Result<Value> to_real(const Value& value, const Arguments& arguments, Work&) {
  if (value.is_number()) return Value(value.number());
  const std::string text = value.printed();
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == '\0') return Value(number);
  const Value* instead = arguments.find(0, "default");
  return instead ? *instead : Value(0.0);
}
Result<Value> to_integer(const Value& value, const Arguments& arguments, Work& work) {
  QUERN_ASSIGN(const Value number, to_real(value, {}, work));
  const Value* instead = arguments.find(0, "default");
  if (value.is_integer()) return Value(value.integer());
  if (std::fabs(number.number()) < 9e18 && (number.number() != 0 || !instead))
    return Value(static_cast<std::int64_t>(number.number()));
  return instead ? *instead : Value(std::int64_t{0});
}
Result<Value> absolute(const Value& value, const Arguments&, Work&) {
  if (value.as<double>()) return Value(std::fabs(value.number()));
  if (!value.is_integer() || value.integer() == std::numeric_limits<std::int64_t>::min())
    return unfit(value, "a number");
  return Value(std::int64_t{std::abs(value.integer())});
}
Result<Value> rounded(const Value& value, const Arguments& arguments, Work&) {
  if (!value.is_number()) return unfit(value, "a number");
  const double scale = std::pow(10.0, static_cast<double>(std::clamp<std::int64_t>(
                                          arguments.integer(0, "precision", 0), -15, 15)));
  const std::string_view method = arguments.text(1, "method", "common");
  const double scaled = value.number() * scale;
  return Value((method == "ceil"    ? std::ceil(scaled)
                : method == "floor" ? std::floor(scaled)
                                    : std::nearbyint(scaled)) /
               scale);
}

constexpr TemplateFunction filters[] = {
    {"tojson", to_json},
    {"length", length},
    {"count", length},
    {"default", otherwise},
    {"d", otherwise},
    {"items", items},
    {"list", list},
    {"join", join},
    {"string", to_text},
    {"int", to_integer},
    {"float", to_real},
    {"first", first},
    {"last", last},
    {"map", map},
    {"select", select<true, false>},
    {"reject", select<false, false>},
    {"selectattr", select<true, true>},
    {"rejectattr", select<false, true>},
    {"sort", sort},
    {"dictsort", sorted_items},
    {"unique", unique},
    {"reverse", reverse},
    {"min", extreme<-1>},
    {"max", extreme<1>},
    {"sum", sum},
    {"abs", absolute},
    {"round", rounded},
    {"safe", same},

};

constexpr TemplateFunction map_methods[] = {
    {"items", items}, {"keys", keys}, {"values", values}, {"get", get}};

const Value& argument(const Arguments& arguments) {
  static const Value none;
  const Value* found = arguments.find(0);
  return found ? *found : none;
}

template <bool (*is)(int)>
Result<bool> ordered(const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN(const int order, compared(value, argument(arguments)));
  return is(order);
}
bool is_below(int order) {
  return order < 0;
}
bool is_above(int order) {
  return order > 0;
}
bool is_at_most(int order) {
  return order <= 0;
}
bool is_at_least(int order) {
  return order >= 0;
}

Result<bool> is_divisible(const Value& value, const Arguments& arguments) {
  const Value& by = argument(arguments);
  if (!value.is_integer() || !by.is_integer() || by.integer() == 0)
    return template_error("divisibleby() wants whole numbers, and not 0");
  return by.integer() == -1 || value.integer() % by.integer() == 0;
}

constexpr TestRow tests[] = {
    {"defined", [](const Value& v, const Arguments&) -> Result<bool> { return !v.is_undefined(); }},
    {"undefined",
     [](const Value& v, const Arguments&) -> Result<bool> { return v.is_undefined(); }},
    {"none", [](const Value& v, const Arguments&) -> Result<bool> { return v.is_none(); }},
    {"string",
     [](const Value& v, const Arguments&) -> Result<bool> { return v.text() != nullptr; }},
    {"mapping",
     [](const Value& v, const Arguments&) -> Result<bool> { return v.map() != nullptr; }},
    {"iterable",
     [](const Value& v, const Arguments&) -> Result<bool> {
       return v.text() || v.list() || v.map() || v.is_undefined();
     }},
    {"sequence",
     [](const Value& v, const Arguments&) -> Result<bool> {
       return v.text() || v.list() || v.map() || v.is_undefined();
     }},
    {"number", [](const Value& v, const Arguments&) -> Result<bool> { return v.is_number(); }},
    {"integer",
     [](const Value& v, const Arguments&) -> Result<bool> {
       return v.as<std::int64_t>() != nullptr;
     }},
    {"float",
     [](const Value& v, const Arguments&) -> Result<bool> { return v.as<double>() != nullptr; }},
    {"boolean",
     [](const Value& v, const Arguments&) -> Result<bool> { return v.as<bool>() != nullptr; }},
    {"true",
     [](const Value& v, const Arguments&) -> Result<bool> { return v.as<bool>() && v.truth(); }},
    {"false",
     [](const Value& v, const Arguments&) -> Result<bool> { return v.as<bool>() && !v.truth(); }},
    {"callable",
     [](const Value& v, const Arguments&) -> Result<bool> { return v.macro() != nullptr; }},
    {"eq", [](const Value& v, const Arguments& a) -> Result<bool> { return v == argument(a); }},
    {"equalto",
     [](const Value& v, const Arguments& a) -> Result<bool> { return v == argument(a); }},
    {"sameas", [](const Value& v, const Arguments& a) -> Result<bool> { return v == argument(a); }},
    {"ne", [](const Value& v, const Arguments& a) -> Result<bool> { return !(v == argument(a)); }},
    {"in", [](const Value& v, const Arguments& a) { return contains(argument(a), v); }},
    {"lt", ordered<is_below>},
    {"gt", ordered<is_above>},
    {"le", ordered<is_at_most>},
    {"ge", ordered<is_at_least>},
    {"odd",
     [](const Value& v, const Arguments&) -> Result<bool> {
       return v.is_integer() && v.integer() % 2 != 0;
     }},
    {"even",
     [](const Value& v, const Arguments&) -> Result<bool> {
       return v.is_integer() && v.integer() % 2 == 0;
     }},
    {"divisibleby", is_divisible},
    {"lower",
     [](const Value& v, const Arguments&) -> Result<bool> {
       return v.printed() == small_text(v.printed());
     }},
    {"upper",
     [](const Value& v, const Arguments&) -> Result<bool> {
       return v.printed() == capital_text(v.printed());
     }},
};

template <class Rows>
auto row_of(const Rows& rows, std::string_view name) -> decltype(&rows[0]) {
  const auto found =
      std::ranges::find_if(rows, [name](const auto& row) { return row.name == name; });
  return found == std::end(rows) ? nullptr : &*found;
}

Status not_known(std::string_view what, std::string_view name) {
  return {Code::unsupported, cat("the ", what, " '", shown(name), "' is not supported")};
}

}  // namespace

Status template_error(std::string_view what) {
  return {Code::invalid_argument, std::string(what)};
}

Status template_work_spent() {
  return {Code::unsupported, "the chat template takes too many steps"};
}

const TemplateValue* TemplateArguments::find(std::size_t index, std::string_view name) const {
  if (index < values.size()) return &values[index];
  for (const auto& [key, value] : named)
    if (key == name) return &value;
  return nullptr;
}

std::string_view TemplateArguments::text(std::size_t index, std::string_view name,
                                         std::string_view otherwise) const {
  const TemplateValue* found = find(index, name);
  return found && found->text() ? std::string_view(*found->text()) : otherwise;
}

std::int64_t TemplateArguments::integer(std::size_t index, std::string_view name,
                                        std::int64_t otherwise) const {
  const TemplateValue* found = find(index, name);
  return found && found->is_integer() ? found->integer() : otherwise;
}

Result<TemplateValue> apply_filter(std::string_view name, const TemplateValue& value,
                                   const TemplateArguments& arguments, Work& work) {
  const TemplateFunction* row = row_of(filters, name);
  if (!row) row = row_of(template_text_filters(), name);
  if (!row) return not_known("filter", name);
  if (!work.spend(1 + value.weight())) return template_work_spent();
  return row->call(value, arguments, work);
}

Result<bool> apply_test(std::string_view name, const TemplateValue& value,
                        const TemplateArguments& arguments, Work& work) {
  constexpr std::pair<std::string_view, std::string_view> signs[] = {
      {"==", "eq"}, {"!=", "ne"}, {"<", "lt"},        {">", "gt"},
      {"<=", "le"}, {">=", "ge"}, {"lessthan", "lt"}, {"greaterthan", "gt"}};
  for (const auto& [sign, word] : signs)
    if (name == sign) name = word;
  const TestRow* row = row_of(tests, name);
  if (!row) return not_known("test", name);
  if (!work.spend(1 + value.weight())) return template_work_spent();
  return row->holds(value, arguments);
}

Result<TemplateValue> call_method(const TemplateValue& object, std::string_view name,
                                  const TemplateArguments& arguments, Work& work) {
  const TemplateFunction* row = object.text()  ? row_of(template_text_methods(), name)
                                : object.map() ? row_of(map_methods, name)
                                               : nullptr;
  if (!row) return not_known(cat("method of a value of kind ", object.type_name()), name);
  if (!work.spend(1 + object.weight())) return template_work_spent();
  return row->call(object, arguments, work);
}

Result<TemplateValue::List> elements_of(const TemplateValue& value, Work& work) {
  if (!work.spend(value.weight())) return template_work_spent();
  List all;
  if (value.list()) return List(*value.list());
  if (value.map()) {
    for (const auto& member : *value.map()) all.emplace_back(member.first);
  } else if (value.text()) {
    for (const char32_t c : code_points(*value.text())) all.emplace_back(utf8({&c, 1}));
  } else if (!value.is_undefined()) {
    return unfit(value, "a list");
  }
  return all;
}

Result<int> compared(const TemplateValue& a, const TemplateValue& b) {
  const auto order = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (a.is_integer() && b.is_integer()) return order(a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return order(a.number(), b.number());
  if (a.text() && b.text()) return order(*a.text(), *b.text());
  if (a.list() && b.list()) {
    const std::size_t common = std::min(a.list()->size(), b.list()->size());
    for (std::size_t i = 0; i < common; ++i) {
      QUERN_ASSIGN(const int first, compared((*a.list())[i], (*b.list())[i]));
      if (first != 0) return first;
    }
    return order(a.list()->size(), b.list()->size());
  }
  return template_error(cat(a.type_name(), " and ", b.type_name(), " have no order"));
}

Result<bool> contains(const TemplateValue& haystack, const TemplateValue& needle) {
  if (haystack.text()) {
    if (!needle.text()) return unfit(needle, "a text");
    return haystack.text()->find(*needle.text()) != std::string::npos;
  }
  if (haystack.list()) return std::ranges::find(*haystack.list(), needle) != haystack.list()->end();
  if (haystack.map() || haystack.space())
    return needle.text() && haystack.find(*needle.text()) != nullptr;
  if (haystack.is_undefined()) return false;
  return unfit(haystack, "a text, a list or an object");
}

}  // namespace quern::language
