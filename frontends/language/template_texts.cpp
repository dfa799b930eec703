// SPDX-License-Identifier: Apache-2.0
// What chat templates do with texts: methods of Python's str, and filters.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "frontends/language/template_functions.h"
#include "frontends/language/unicode.h"

namespace quern::language {
namespace {

using Value = TemplateValue;
using List = TemplateValue::List;
using Arguments = TemplateArguments;

enum class Side : std::uint8_t { both, left, right };

// Python's strip(): white space, or the characters of the argument.
std::string stripped(std::string_view text, const Value* characters, Side side) {
  const std::u32string all = code_points(text);
  const std::u32string set =
      characters && characters->text() ? code_points(*characters->text()) : std::u32string();
  const bool by_set = characters && characters->text();
  const auto goes = [&](char32_t c) {
    return by_set ? set.find(c) != set.npos : is_white_space(c) || (c >= 0x1C && c <= 0x1F);
  };
  std::size_t begin = 0;
  std::size_t end = all.size();
  while (side != Side::right && begin < end && goes(all[begin])) ++begin;
  while (side != Side::left && end > begin && goes(all[end - 1])) --end;
  return utf8(std::u32string_view(all).substr(begin, end - begin));
}

template <Side side>
Result<Value> strip(const Value& value, const Arguments& arguments, Work&) {
  return Value(stripped(value.printed(), arguments.find(0, "chars"), side));
}

}  // namespace

std::string small_text(std::string_view text) {
  std::u32string out;
  for (const char32_t c : code_points(text)) append_small(out, c);
  return utf8(out);
}

std::string capital_text(std::string_view text) {
  static const auto table = [] {
    std::vector<std::pair<char32_t, char32_t>> rows;
    for (char32_t c = 0x80; c < 0x1E944; ++c) {
      std::u32string one;
      append_small(one, c);
      if (one.size() == 1 && one[0] != c) rows.emplace_back(one[0], c);
    }
    std::ranges::stable_sort(rows, {}, &std::pair<char32_t, char32_t>::first);
    return rows;
  }();
  std::u32string out;
  for (const char32_t c : code_points(text)) {
    const auto row = std::ranges::lower_bound(table, c, {}, &std::pair<char32_t, char32_t>::first);
    if (c < 0x80)
      out += c >= U'a' && c <= U'z' ? c - 32 : c;
    else if (c == 0xDF)
      out += U"SS";
    else
      out += row != table.end() && row->first == c ? row->second : c;
  }
  return utf8(out);
}

namespace {

Result<Value> lower(const Value& value, const Arguments&, Work&) {
  return Value(small_text(value.printed()));
}
Result<Value> upper(const Value& value, const Arguments&, Work&) {
  return Value(capital_text(value.printed()));
}
Result<Value> capitalize(const Value& value, const Arguments&, Work&) {
  const std::string text = value.printed();
  const std::u32string all = code_points(text);
  const std::size_t first = std::min<std::size_t>(1, all.size());
  return Value(capital_text(utf8(all.substr(0, first))) + small_text(utf8(all.substr(first))));
}
Result<Value> title(const Value& value, const Arguments&, Work&) {
  std::string out;
  bool is_inside = false;
  for (const char32_t c : code_points(value.printed())) {
    const std::string one = utf8({&c, 1});
    out += is_inside ? small_text(one) : capital_text(one);
    is_inside = is_letter(c);
  }
  return Value(out);
}

Result<Value> replace(const Value& value, const Arguments& arguments, Work& work) {
  const std::string text = value.printed();
  const Value* from = arguments.find(0, "old");
  const Value* to = arguments.find(1, "new");
  if (!from || !to) return template_error("replace() without what is replaced and by what");
  const std::string old = from->printed();
  const std::string with = to->printed();
  std::int64_t left = arguments.integer(2, "count", -1);
  if (left < 0) left = std::numeric_limits<std::int64_t>::max();
  std::string out;
  std::size_t at = 0;
  while (left-- > 0 && at <= text.size()) {
    const std::size_t found = text.find(old, at);
    if (found == std::string::npos) break;
    if (!work.spend(1 + with.size())) return template_work_spent();
    out.append(text, at, found - at) += with;
    at = found + old.size();
    if (!old.empty()) continue;
    if (at == text.size()) return Value(out);
    out += text[at++];
  }
  return Value(out.append(text, std::min(at, text.size()), std::string::npos));
}

// Between runs of white space, or at each separator.
Result<Value> split(const Value& value, const Arguments& arguments, Work&) {
  const std::string text = value.printed();
  const Value* separator = arguments.find(0, "sep");
  std::int64_t left = arguments.integer(1, "maxsplit", -1);
  List parts;
  if (separator && separator->text()) {
    const std::string& by = *separator->text();
    if (by.empty()) return template_error("split() by an empty text");
    std::size_t at = 0;
    for (std::size_t end; left-- != 0 && (end = text.find(by, at)) != text.npos;) {
      parts.emplace_back(text.substr(at, end - at));
      at = end + by.size();
    }
    parts.emplace_back(text.substr(at));
    return Value::of_list(std::move(parts));
  }
  const std::string_view spaces = " \t\n\r\f\v";
  std::size_t at = text.find_first_not_of(spaces);
  for (; at != text.npos; at = text.find_first_not_of(spaces, at)) {
    const std::size_t end = left-- == 0 ? text.npos : text.find_first_of(spaces, at);
    parts.emplace_back(text.substr(at, end - at));
    if (end == text.npos) break;
    at = end;
  }
  return Value::of_list(std::move(parts));
}

Result<Value> split_lines(const Value& value, const Arguments&, Work&) {
  List lines;
  const std::string text = value.printed();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return Value::of_list(std::move(lines));
}

// For a text, or for any of a list of texts.
template <class F>
Result<Value> for_any(const Arguments& arguments, const F& holds) {
  const Value* what = arguments.find(0);
  if (what && what->text()) return Value::of_boolean(holds(*what->text()));
  if (!what || !what->list()) return template_error("a text is wanted");
  return Value::of_boolean(std::ranges::any_of(
      *what->list(), [&](const Value& one) { return one.text() && holds(*one.text()); }));
}
Result<Value> starts_with(const Value& value, const Arguments& arguments, Work&) {
  return for_any(arguments, [text = value.printed()](const std::string& start) {
    return text.starts_with(start);
  });
}
Result<Value> ends_with(const Value& value, const Arguments& arguments, Work&) {
  return for_any(arguments,
                 [text = value.printed()](const std::string& end) { return text.ends_with(end); });
}

Result<Value> find_text(const Value& value, const Arguments& arguments, Work&) {
  const std::string text = value.printed();
  const std::size_t at = text.find(arguments.text(0, "sub", ""));
  if (at == text.npos) return Value(std::int64_t{-1});
  return Value(static_cast<std::int64_t>(code_points(text.substr(0, at)).size()));
}

Result<Value> count_of(const Value& value, const Arguments& arguments, Work&) {
  std::int64_t count = 0;
  const std::string text = value.printed();
  const std::string_view what = arguments.text(0, "sub", "");
  if (what.empty()) return template_error("count() of an empty text");
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += what.size()) ++count;
  return Value(count);
}

Result<Value> remove_prefix(const Value& value, const Arguments& arguments, Work&) {
  const std::string text = value.printed();
  const std::string_view prefix = arguments.text(0, "prefix", "");
  return Value(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
}
Result<Value> remove_suffix(const Value& value, const Arguments& arguments, Work&) {
  const std::string text = value.printed();
  const std::string_view suffix = arguments.text(0, "suffix", "");
  return Value(text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text);
}

template <class F>
Result<Value> all_characters(const Value& value, const F& is) {
  const std::u32string text = code_points(value.printed());
  return Value::of_boolean(!text.empty() && std::ranges::all_of(text, is));
}
Result<Value> is_digits(const Value& value, const Arguments&, Work&) {
  return all_characters(value, [](char32_t c) { return is_in(c, set_of(Category::nd)); });
}
Result<Value> is_letters(const Value& value, const Arguments&, Work&) {
  return all_characters(value, is_letter);
}
Result<Value> is_spaces(const Value& value, const Arguments&, Work&) {
  return all_characters(value, is_white_space);
}

Result<Value> escaped(const Value& value, const Arguments&, Work&) {
  std::string out;
  for (const char c : value.printed()) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&#34;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return Value(out);
}

// indent(width=4, first=false, blank=false)
Result<Value> indent(const Value& value, const Arguments& arguments, Work& work) {
  const Value* width = arguments.find(0, "width");
  const std::int64_t spaces = std::clamp<std::int64_t>(arguments.integer(0, "width", 4), 0, 1000);
  const std::string margin =
      width && width->text() ? *width->text() : std::string(static_cast<std::size_t>(spaces), ' ');
  const Value* first = arguments.find(1, "first");
  const Value* blank = arguments.find(2, "blank");
  const std::string text = value.printed();
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (!work.spend(1 + margin.size())) return template_work_spent();
    const bool is_blank = end == at && !(blank && blank->truth());
    if ((at > 0 || (first && first->truth())) && !is_blank) out += margin;
    out.append(text, at, end - at + 1);
    at = end + 1;
  }
  return Value(out);
}

constexpr TemplateFunction text_methods[] = {
    {"strip", strip<Side::both>},
    {"lstrip", strip<Side::left>},
    {"rstrip", strip<Side::right>},
    {"startswith", starts_with},
    {"endswith", ends_with},
    {"split", split},
    {"splitlines", split_lines},
    {"replace", replace},
    {"upper", upper},
    {"lower", lower},
    {"title", title},
    {"capitalize", capitalize},
    {"find", find_text},
    {"count", count_of},
    {"removeprefix", remove_prefix},
    {"removesuffix", remove_suffix},
    {"isdigit", is_digits},
    {"isalpha", is_letters},
    {"isspace", is_spaces},
};

constexpr TemplateFunction text_filters[] = {
    {"trim", strip<Side::both>}, {"upper", upper},     {"lower", lower},    {"title", title},
    {"capitalize", capitalize},  {"replace", replace}, {"escape", escaped}, {"e", escaped},
    {"indent", indent},
};

}  // namespace

std::span<const TemplateFunction> template_text_methods() {
  return text_methods;
}
std::span<const TemplateFunction> template_text_filters() {
  return text_filters;
}

}  // namespace quern::language
