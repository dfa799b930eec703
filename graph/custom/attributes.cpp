// SPDX-License-Identifier: Apache-2.0
#include "graph/custom/attributes.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

std::string number_form(std::int64_t v) {
  return cat(v);
}
std::string number_form(float v) {
  return shortest(v);
}
template <class T>
std::string list_form(const std::vector<T>& values) {
  std::string s;
  for (const T& v : values) s += cat(s.empty() ? "" : ",", number_form(v));
  return s;
}

// All of `text` as a number.
template <class T>
bool read_number(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto r = std::from_chars(text.data(), end, value);
  return r.ec == std::errc() && r.ptr == end;
}

template <class T>
bool read_numbers(std::string_view text, std::vector<T>& values) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (!read_number(text.substr(0, comma), values.emplace_back())) return false;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return false;
  }
  return true;
}

bool read_value(std::string_view kind, std::string_view text, CustomAttribute& a) {
  if (kind == "i") return read_number(text, a.value.emplace<std::int64_t>());
  if (kind == "f") return read_number(text, a.value.emplace<float>());
  if (kind == "is") return read_numbers(text, a.value.emplace<std::vector<std::int64_t>>());
  if (kind == "fs") return read_numbers(text, a.value.emplace<std::vector<float>>());
  if (kind == "s") a.value.emplace<std::string>(text);
  return kind == "s";
}

struct ValueText {
  std::string operator()(std::int64_t v) const { return "i:" + number_form(v); }
  std::string operator()(float v) const { return "f:" + number_form(v); }
  std::string operator()(const std::string& v) const { return "s:" + v; }
  std::string operator()(const std::vector<std::int64_t>& v) const { return "is:" + list_form(v); }
  std::string operator()(const std::vector<float>& v) const { return "fs:" + list_form(v); }
};

}  // namespace

std::string_view CustomAttribute::kind_name() const {
  constexpr std::array<std::string_view, 5> names = {"an int", "a float", "a string", "ints",
                                                     "floats"};
  return names[value.index()];
}

bool is_custom_name(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= '0' && c <= '9') || (small_letter(c) >= 'a' && small_letter(c) <= 'z') ||
           c == '_' || c == '.' || c == '-';
  };
  return !name.empty() && name.size() <= 256 && std::ranges::all_of(name, is_allowed);
}

std::string to_text(const CustomAttribute& attribute) {
  return cat(attribute.name, "=", std::visit(ValueText(), attribute.value));
}

Result<CustomAttribute> parse_custom_attribute(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.find(':', equals == std::string_view::npos ? text.size() : equals);
  CustomAttribute a;
  if (colon != std::string_view::npos) {
    a.name = text.substr(0, equals);
    if (is_custom_name(a.name) &&
        read_value(text.substr(equals + 1, colon - equals - 1), text.substr(colon + 1), a))
      return a;
  }
  return Status(Code::invalid_argument, cat("'", printable(text, 60),
                                            "' is no attribute of a custom operator, as "
                                            "'turns=i:3', 'f:0.5', 's:text', 'is:1,2', 'fs:0.5'"));
}

}  // namespace quern
