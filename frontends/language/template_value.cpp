// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/template_value.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/vocabulary/text_util.h"
#include "frontends/language/unicode.h"

namespace quern::language {
namespace {

constexpr int max_value_depth = 100;
// A list may stand in another many times, and so on.
constexpr std::size_t max_weight = std::size_t{1} << 40;

Status too_deep() {
  return {Code::unsupported,
          cat("chat template: values nested more than ", max_value_depth, " deep")};
}

// As repr() of a float.
std::string python_number(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::string text = shortest(number);
  const std::size_t e = text.find('e');
  const double size = std::fabs(number);
  if (size != 0 && (size >= 1e16 || size < 1e-4)) return text;
  if (e != std::string::npos) {  // shortest() chooses the shorter form, Python the plain one
    char plain[64];
    for (int digits = 0; digits < 24; ++digits) {
      std::snprintf(plain, sizeof plain, "%.*f", digits, number);
      if (std::strtod(plain, nullptr) == number) break;
    }
    text = plain;
  }
  if (text.find('.') == std::string::npos && text.find('e') == std::string::npos) text += ".0";
  return text;
}

void append_escaped(std::string& out, unsigned char c, char quote) {
  char code[8];
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\r') {
    out += "\\r";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c == '\\' || c == static_cast<unsigned char>(quote)) {
    (out += '\\') += static_cast<char>(c);
  } else {
    std::snprintf(code, sizeof code, quote == '"' ? "\\u%04x" : "\\x%02x", c);
    out += code;
  }
}

std::string python_text(std::string_view text) {
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || c == '\\' || c == quote) {
      if (c == '"')
        out += "\\\"";
      else if (byte < 0x20 || byte == 0x7F)
        append_escaped(out, byte, '\'');
      else
        (out += '\\') += c;
    } else {
      out += c;
    }
  }
  return out += quote;
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\b')
      out += "\\b";
    else if (c == '\f')
      out += "\\f";
    else if (byte < 0x20 || c == '"' || c == '\\')
      append_escaped(out, byte, '"');
    else
      out += c;
  }
  return out += '"';
}

}  // namespace

Result<TemplateValue> TemplateValue::of_list(List list) {
  Shared<List> shared{nullptr, 1, 2 + list.size()};
  for (const TemplateValue& value : list) {
    shared.depth = std::max(shared.depth, value.depth() + 1);
    shared.weight = std::min(max_weight, shared.weight + value.weight());
  }
  if (shared.depth > max_value_depth) return too_deep();
  shared.of = std::make_shared<const List>(std::move(list));
  TemplateValue value;
  value.of_ = std::move(shared);
  return value;
}

Result<TemplateValue> TemplateValue::of_map(Map map) {
  Shared<Map> shared{nullptr, 1, 2 + map.size()};
  for (const auto& [key, value] : map) {
    shared.depth = std::max(shared.depth, value.depth() + 1);
    shared.weight = std::min(max_weight, shared.weight + key.size() + value.weight());
  }
  if (shared.depth > max_value_depth) return too_deep();
  shared.of = std::make_shared<const Map>(std::move(map));
  TemplateValue value;
  value.of_ = std::move(shared);
  return value;
}

Result<TemplateValue> TemplateValue::of_json(Json json) {
  switch (json.kind()) {
    case Json::Kind::boolean: return of_boolean(*json.boolean());
    case Json::Kind::integer: return TemplateValue(*json.integer());
    case Json::Kind::real: return TemplateValue(json.number());
    case Json::Kind::text: return TemplateValue(json.text());
    case Json::Kind::array: {
      List list;
      for (const Json element : json.elements()) {
        QUERN_ASSIGN(list.emplace_back(), of_json(element));
      }
      return of_list(std::move(list));
    }
    case Json::Kind::object: {
      Map map;
      Status status;
      json.each_member([&](std::string_view key, Json member) {
        auto value = of_json(member);
        if (value)
          map.emplace_back(key, std::move(value).value());
        else
          status = std::move(value).error();
      });
      QUERN_TRY(std::move(status));
      return of_map(std::move(map));
    }
    default: return TemplateValue(nullptr);
  }
}

const TemplateValue::List* TemplateValue::list() const {
  const auto* shared = as<Shared<List>>();
  return shared ? shared->of.get() : nullptr;
}

const TemplateValue::Map* TemplateValue::map() const {
  const auto* shared = as<Shared<Map>>();
  return shared ? shared->of.get() : nullptr;
}

double TemplateValue::number() const {
  if (const auto* real = as<double>()) return *real;
  return static_cast<double>(integer());
}

std::int64_t TemplateValue::integer() const {
  if (const auto* whole = as<std::int64_t>()) return *whole;
  const auto* truth = as<bool>();
  return truth && *truth ? 1 : 0;
}

bool TemplateValue::truth() const {
  if (is_number()) return number() != 0;
  if (const auto* of = text()) return !of->empty();
  if (const auto* of = list()) return !of->empty();
  if (const auto* of = map()) return !of->empty();
  return space() || macro();
}

const TemplateValue* TemplateValue::find(std::string_view key) const {
  const Map* members = space() ? &(*space())->members : map();
  if (!members) return nullptr;
  for (const auto& [name, value] : *members)
    if (name == key) return &value;
  return nullptr;
}

int TemplateValue::depth() const {
  if (const auto* of = as<Shared<List>>()) return of->depth;
  if (const auto* of = as<Shared<Map>>()) return of->depth;
  return 0;
}

std::size_t TemplateValue::weight() const {
  if (const auto* of = as<Shared<List>>()) return of->weight;
  if (const auto* of = as<Shared<Map>>()) return of->weight;
  if (const auto* of = text()) return of->size() + 4;
  return 8;
}

std::string TemplateValue::printed() const {
  if (is_undefined()) return "";
  return text() ? *text() : shown();
}

std::string TemplateValue::shown() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "None";
  if (const auto* of = as<bool>()) return *of ? "True" : "False";
  if (const auto* of = as<std::int64_t>()) return std::to_string(*of);
  if (const auto* of = as<double>()) return python_number(*of);
  if (const auto* of = text()) return python_text(*of);
  std::string out;
  if (const auto* of = list()) {
    for (const TemplateValue& value : *of) out += (out.empty() ? "" : ", ") + value.shown();
    return cat("[", out, "]");
  }
  if (const auto* of = map()) {
    for (const auto& [key, value] : *of)
      out += cat(out.empty() ? "" : ", ", python_text(key), ": ", value.shown());
    return cat("{", out, "}");
  }
  return cat("<", type_name(), ">");
}

std::string TemplateValue::json(int indent, int depth) const {
  if (is_none() || is_undefined()) return "null";
  if (const auto* of = as<bool>()) return *of ? "true" : "false";
  if (const auto* of = text()) return json_text(*of);
  if (const auto* of = as<double>(); of && !std::isfinite(*of))
    return std::isnan(*of) ? "NaN" : *of < 0 ? "-Infinity" : "Infinity";
  if (is_number()) return shown();
  const auto line = [&](int level) {
    return indent < 0 ? std::string()
                      : "\n" + std::string(static_cast<std::size_t>(indent * level), ' ');
  };
  std::string out;
  const std::string between = (indent < 0 ? ", " : ",") + line(depth + 1);
  if (const auto* of = list()) {
    if (of->empty()) return "[]";
    for (const TemplateValue& value : *of)
      out += (out.empty() ? line(depth + 1) : between) + value.json(indent, depth + 1);
    return cat("[", out, line(depth), "]");
  }
  if (const auto* of = map()) {
    if (of->empty()) return "{}";
    bool is_first = true;
    for (const auto& [key, value] : *of)
      out += cat(std::exchange(is_first, false) ? line(depth + 1) : between, json_text(key), ": ",
                 value.json(indent, depth + 1));
    return cat("{", out, line(depth), "}");
  }
  return "null";
}

std::string_view TemplateValue::type_name() const {
  if (is_undefined()) return "undefined";
  if (is_none()) return "none";
  if (as<bool>()) return "boolean";
  if (is_integer()) return "integer";
  if (as<double>()) return "number";
  if (text()) return "text";
  if (list()) return "list";
  if (map()) return "object";
  return space() ? "namespace" : "macro";
}

bool TemplateValue::operator==(const TemplateValue& other) const {
  if (is_number() && other.is_number())
    return is_integer() && other.is_integer() ? integer() == other.integer()
                                              : number() == other.number();
  if (of_.index() != other.of_.index()) return false;
  if (const auto* of = text()) return *of == *other.text();
  if (const auto* of = list()) return *of == *other.list();
  if (const auto* of = map()) {
    if (of->size() != other.map()->size()) return false;
    return std::ranges::all_of(*of, [&](const auto& member) {
      const TemplateValue* there = other.find(member.first);
      return there && *there == member.second;
    });
  }
  if (space()) return *space() == *other.space();
  return !macro() || *macro() == *other.macro();
}

}  // namespace quern::language
