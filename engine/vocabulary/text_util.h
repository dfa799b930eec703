// SPDX-License-Identifier: Apache-2.0
// Small helpers for messages and the text form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace quern {
namespace detail {

inline void append(std::string& s, std::string_view v) {
  s += v;
}
inline void append(std::string& s, const char* v) {
  s += v;
}
inline void append(std::string& s, char v) {
  s += v;
}
// As std::to_string, outside of every caller's code.
void append_signed(std::string& s, std::int64_t v);
void append_unsigned(std::string& s, std::uint64_t v);
void append_float(std::string& s, long double v);
template <class T>
requires std::is_arithmetic_v<T>
void append(std::string& s, T v) {
  if constexpr (std::is_floating_point_v<T>)
    append_float(s, v);
  else if constexpr (std::is_signed_v<T>)
    append_signed(s, v);
  else
    append_unsigned(s, v);
}

}  // namespace detail

// The arguments (text, characters, numbers) one after the other.
template <class... T>
std::string cat(const T&... parts) {
  std::string s;
  (detail::append(s, parts), ...);
  return s;
}

// `text` with every byte that is not printable ASCII written as \xNN, and cut at `max` bytes:
// names from a model may hold anything.
std::string printable(std::string_view text, std::size_t max = 200);

// With a to z for A to Z, whatever the locale; other bytes stay.
constexpr char small_letter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string small_letters(std::string_view text);

// In double quotes, with ", \ and control bytes escaped; what the text form reads back.
std::string in_quotes(std::string_view text);

// The shortest decimal that reads back as the same number; "nan", "inf", "-inf".
std::string shortest(float value);
std::string shortest(double value);

}  // namespace quern
