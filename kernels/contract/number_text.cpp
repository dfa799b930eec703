// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"

namespace quern {
namespace {

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view blanks = " \t\r\n\f\v";
  const std::size_t begin = s.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(blanks) - begin + 1);
}

bool same_letters(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (small_letter(text[i]) != lower[i]) return false;
  return true;
}

template <class T>
std::optional<T> whole(std::string_view s) {
  T v{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return v;
}

// For a decimal outside the range of T: true if it is too large, false if it is too small. Its
// absolute value is at least 1 if, with the exponent applied, a nonzero digit stands before the
// point.
bool is_large(std::string_view s) {
  std::int64_t exponent = 0;
  const std::size_t e = s.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view digits = s.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    // An exponent that is out of range itself decides alone.
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc())
      return !digits.starts_with('-');
    constexpr std::int64_t absurd = std::int64_t{1} << 60;
    exponent = std::clamp(exponent, -absurd, absurd);
    s = s.substr(0, e);
  }
  const std::size_t first = s.find_first_of("123456789");
  const std::size_t point = std::min(s.find('.'), s.size());
  if (first == std::string_view::npos) return false;
  const auto distance = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  return (distance > 0 ? distance - 1 : distance) + exponent >= 0;
}

template <class T>
std::optional<double> decimal(std::string_view s) {
  T v{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (end != s.data() + s.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    v = is_large(s) ? std::numeric_limits<T>::infinity() : T(0);
    if (s.starts_with('-')) v = -v;
  }
  return static_cast<double>(v);
}

// The same number with the fewest digits that the type needs: for types without a std::to_chars.
template <class T>
std::to_chars_result fewest_digits(char* begin, char* end, double value, std::chars_format format) {
  for (int digits = 1;; ++digits) {
    const auto r = std::to_chars(begin, end, value, std::chars_format::scientific, digits - 1);
    double back = 0;
    std::from_chars(begin, r.ptr, back);
    if (static_cast<double>(T(back)) == value || digits == 9)
      return format == std::chars_format::scientific ? r : std::to_chars(begin, end, back, format);
  }
}

}  // namespace

std::string_view NumberText::print(double value, DType dtype) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  const double size = std::fabs(value);
  const auto format = size == 0 || (size >= 1e-4 && size < 1e16) ? std::chars_format::fixed
                                                                 : std::chars_format::scientific;
  char* end = buffer_ + sizeof buffer_;
  const auto result = visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, float>) {
      return std::to_chars(buffer_, end, static_cast<float>(value), format);
    } else if constexpr (requires(T t) { t.bits; }) {
      return fewest_digits<T>(buffer_, end, value, format);
    } else {
      return std::to_chars(buffer_, end, value, format);
    }
  });
  return {buffer_, result.ptr};
}

std::string_view NumberText::print(std::int64_t value, DType) {
  return {buffer_, std::to_chars(buffer_, buffer_ + sizeof buffer_, value).ptr};
}

std::string_view NumberText::print(std::uint64_t value, DType) {
  return {buffer_, std::to_chars(buffer_, buffer_ + sizeof buffer_, value).ptr};
}

std::optional<Number> parse_number(std::string_view text, DType dtype) {
  std::string_view s = trimmed(text);
  if (s.starts_with('+')) {
    s.remove_prefix(1);
    if (s.starts_with('-')) return std::nullopt;
  }
  if (dtype == DType::boolean) {
    if (same_letters(s, "true")) return std::int64_t{1};
    if (same_letters(s, "false")) return std::int64_t{0};
  }
  if (!is_float(dtype)) {
    if (const auto v = whole<std::int64_t>(s)) return *v;
    if (const auto v = whole<std::uint64_t>(s)) return *v;
  }
  // Parsed as a float directly: via a double it would be rounded twice.
  const auto v = dtype == DType::f32 ? decimal<float>(s) : decimal<double>(s);
  if (!v) return std::nullopt;
  return *v;
}

}  // namespace quern
