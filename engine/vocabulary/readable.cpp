// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/readable.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace quern {
namespace {

// Bytes of the UTF-8 sequence that starts at `text`; 0: it is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 && first < 0xf5 ? 4
                             : first >= 0xe0               ? 3
                             : first >= 0xc2               ? 2
                                                           : 0;
  if (first >= 0xf5 || length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool control = first == 0xc2 && byte(1) < 0xa0;
  return control ? 0 : length;
}

std::string scaled(double value, double step, const std::array<const char*, 5>& units) {
  std::size_t i = 0;
  while (std::abs(value) >= step && i + 1 < units.size()) value /= step, ++i;
  const int digits = std::abs(value) >= 100 || (i == 0 && value == std::floor(value)) ? 0
                     : std::abs(value) >= 10                                          ? 1
                                                                                      : 2;
  return fixed_text(value, digits) + units[i];
}

}  // namespace

std::string shortened(std::string_view text, std::size_t max) {
  if (width_of(text) <= max) return std::string(text);
  std::string s;
  for (std::size_t n = 0; n + 1 < max && !text.empty(); ++n) {
    const std::size_t length = std::max<std::size_t>(sequence_length(text), 1);
    s += text.substr(0, length);
    text.remove_prefix(length);
  }
  return s + "…";
}

std::string valid_utf8(std::string_view text) {
  std::string s;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    s += length ? text.substr(0, length) : std::string_view("?");
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return s;
}

std::string shown(std::string_view text, std::size_t max) {
  std::string s = valid_utf8(text);
  for (char& c : s)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return shortened(s, max);
}

std::string html_text(std::string_view text, std::size_t max) {
  std::string s;
  for (char c : shown(text, max)) {
    switch (c) {
      case '<': s += "&lt;"; break;
      case '>': s += "&gt;"; break;
      case '&': s += "&amp;"; break;
      case '"': s += "&quot;"; break;
      default: s += c;
    }
  }
  return s;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string fixed_text(double value, int digits) {
  char buffer[64];
  const int n = std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return n < static_cast<int>(sizeof buffer) ? std::string(buffer) : number_text(value);
}

std::string bytes_text(double bytes) {
  return scaled(bytes, 1000, {" B", " kB", " MB", " GB", " TB"});
}

std::string time_text(double milliseconds) {
  if (milliseconds >= 1000) return fixed_text(milliseconds / 1000, 2) + " s";
  if (milliseconds >= 1 || milliseconds == 0) return fixed_text(milliseconds, 2) + " ms";
  return fixed_text(milliseconds * 1000, 1) + " us";
}

std::string count_text(double count) {
  return scaled(count, 1000, {"", " k", " M", " G", " T"});
}

std::string percent_text(double share, int digits) {
  return fixed_text(100 * share, digits) + " %";
}

std::string number_text(double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.5g", value);
  return buffer;
}

}  // namespace quern
