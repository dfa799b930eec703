// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/text_util.h"

#include <array>
#include <charconv>
#include <cmath>

namespace quern {
namespace detail {

void append_signed(std::string& s, std::int64_t v) {
  s += std::to_string(v);
}
void append_unsigned(std::string& s, std::uint64_t v) {
  s += std::to_string(v);
}
void append_float(std::string& s, long double v) {
  s += std::to_string(v);
}

}  // namespace detail

namespace {

void append_hex(std::string& s, unsigned char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  s += "\\x";
  s += digits[byte >> 4];
  s += digits[byte & 15];
}

bool is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x7f;
}

template <class T>
std::string shortest_of(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer;
  const auto r = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), r.ptr};
}

}  // namespace

std::string printable(std::string_view text, std::size_t max) {
  std::string s;
  for (char c : text.substr(0, max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(byte)) {
      s += c;
    } else {
      append_hex(s, byte);
    }
  }
  if (text.size() > max) s += "...";
  return s;
}

std::string small_letters(std::string_view text) {
  std::string s(text);
  for (char& c : s) c = small_letter(c);
  return s;
}

std::string in_quotes(std::string_view text) {
  std::string s = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      s += '\\';
      s += c;
    } else if (is_plain(byte)) {
      s += c;
    } else {
      append_hex(s, byte);
    }
  }
  return s + '"';
}

std::string shortest(float value) {
  return shortest_of(value);
}
std::string shortest(double value) {
  return shortest_of(value);
}

}  // namespace quern
