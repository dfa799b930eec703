// SPDX-License-Identifier: Apache-2.0
#include "tools/parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "engine/vocabulary/text_util.h"

namespace quern::tools {
namespace {

template <class T>
std::optional<T> whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  const auto value = whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return whole<std::int64_t>(text);
}

std::optional<std::size_t> parse_bytes(std::string_view text) {
  constexpr std::pair<std::string_view, double> units[] = {{"KiB", 1024.0},
                                                           {"MiB", 1024.0 * 1024},
                                                           {"GiB", 1024.0 * 1024 * 1024},
                                                           {"kB", 1e3},
                                                           {"MB", 1e6},
                                                           {"GB", 1e9},
                                                           {"B", 1}};
  double unit = 1;
  for (const auto& [name, bytes] : units) {
    if (!text.ends_with(name)) continue;
    text.remove_suffix(name.size());
    while (text.ends_with(' ')) text.remove_suffix(1);
    unit = bytes;
    break;
  }
  const auto number = parse_number(text);
  if (!number || *number < 0 || *number * unit > 1e18) return std::nullopt;
  return static_cast<std::size_t>(*number * unit);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

std::optional<std::vector<double>> parse_numbers(std::string_view text) {
  std::vector<double> values;
  for (const std::string& part : split_list(text)) {
    const auto value = parse_number(part);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

Result<Shape> parse_shape(std::string_view text) {
  const auto error = [&](std::string_view why) {
    return Status(Code::invalid_argument,
                  cat("shape '", printable(text), "': ", why, "; write it as 1x3x224x224"));
  };
  Shape shape;
  if (text.empty() || text == "scalar") return shape;
  for (std::string_view rest = text;;) {
    const std::size_t end = std::min(rest.find_first_of("x,"), rest.size());
    const auto dim = parse_integer(rest.substr(0, end));
    if (!dim || *dim < 0) return error("a dimension is no number");
    if (shape.rank() == Shape::max_rank)
      return error(cat("more than ", Shape::max_rank, " dimensions"));
    shape.push_back(*dim);
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (!shape.checked_elements(16)) return error("too large");
  return shape;
}

Assignment parse_assignment(std::string_view text, const std::vector<std::string>& names) {
  for (std::size_t at = text.rfind('='); at != std::string_view::npos && at > 0;
       at = text.rfind('=', at - 1))
    if (std::ranges::count(names, text.substr(0, at)))
      return {std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
  return {"", std::string(text)};
}

bool matches_glob(std::string_view text, std::string_view pattern) {
  std::size_t t = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace quern::tools
