// SPDX-License-Identifier: Apache-2.0
#include "tools/console.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <unistd.h>

namespace quern::tools {
namespace {

bool may_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_colour && *no_colour) return false;
  if (!term || std::string_view(term) == "dumb") return false;
  return isatty(descriptor) == 1;
}

std::string_view escape(Colour colour) {
  switch (colour) {
    case Colour::bold: return "\x1b[1m";
    case Colour::dim: return "\x1b[2m";
    case Colour::red: return "\x1b[31m";
    case Colour::green: return "\x1b[32m";
    case Colour::yellow: return "\x1b[33m";
    case Colour::none: break;
  }
  return "";
}

std::string painted(Colour colour, std::string_view text) {
  if (colour == Colour::none || text.empty()) return std::string(text);
  return std::string(escape(colour)) + std::string(text) + "\x1b[0m";
}

void say(Colour colour, std::string_view label, std::string_view text) {
  const std::string line = painted(colour, label) + std::string(text) + "\n";
  std::fflush(stdout);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

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

// The first `max` code points, the last of them "…" when there are more.
std::string cut(std::string_view text, std::size_t max) {
  if (width_of(text) <= max) return std::string(text);
  std::string s;
  for (std::size_t n = 0; n + 1 < max && !text.empty(); ++n) {
    const std::size_t length = std::max<std::size_t>(sequence_length(text), 1);
    s += text.substr(0, length);
    text.remove_prefix(length);
  }
  return s + "…";
}

std::string padded(std::string_view text, std::size_t width, Table::Align align) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return align == Table::Align::left ? std::string(text) + space : space + std::string(text);
}

std::string scaled(double value, double step, const std::array<const char*, 5>& units) {
  std::size_t i = 0;
  while (std::abs(value) >= step && i + 1 < units.size()) value /= step, ++i;
  const int digits = std::abs(value) >= 100 || (i == 0 && value == std::floor(value)) ? 0
                     : std::abs(value) >= 10                                          ? 1
                                                                                      : 2;
  return fixed(value, digits) + units[i];
}

}  // namespace

Console Console::detect() {
  return {may_colour(STDOUT_FILENO), may_colour(STDERR_FILENO), isatty(STDERR_FILENO) == 1};
}

std::string Console::paint(Colour colour, std::string_view text) const {
  return painted(colour_out ? colour : Colour::none, text);
}
void Console::note(std::string_view text) const {
  say(colour_err ? Colour::dim : Colour::none, "note: ", text);
}
void Console::warn(std::string_view text) const {
  say(colour_err ? Colour::yellow : Colour::none, "warning: ", text);
}
void Console::error(std::string_view text) const {
  say(colour_err ? Colour::red : Colour::none, "", text);
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void Progress::update(std::string_view text) {
  if (!shown_) return;
  const std::string line = "\r\x1b[K" + cut(text, 78);
  std::fwrite(line.data(), 1, line.size(), stderr);
  dirty_ = true;
}

void Progress::clear() {
  if (dirty_) std::fputs("\r\x1b[K", stderr);
  dirty_ = false;
}

void Table::add(std::vector<std::string> cells, Colour colour) {
  cells.resize(columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = cut(cells[i], columns_[i].max_width);
  rows_.push_back({std::move(cells), colour});
}

std::string Table::text(const Console& console) const {
  std::vector<std::size_t> widths;
  for (const Column& c : columns_) widths.push_back(width_of(c.title));
  for (const Row& row : rows_)
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row.cells[i]));
  const auto line = [&](auto&& cell) {
    std::string s;
    for (std::size_t i = 0; i < widths.size(); ++i)
      s += (i ? "  " : "") + padded(cell(i), widths[i], columns_[i].align);
    s.erase(s.find_last_not_of(' ') + 1);
    return s;
  };
  std::string out;
  const bool titled =
      std::ranges::any_of(columns_, [](const Column& c) { return !c.title.empty(); });
  if (titled)
    out +=
        console.paint(Colour::bold, line([&](std::size_t i) { return columns_[i].title; })) + "\n";
  for (const Row& row : rows_)
    out += console.paint(row.colour, line([&](std::size_t i) { return row.cells[i]; })) + "\n";
  return out;
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
  return cut(s, max);
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

std::string fixed(double value, int digits) {
  char buffer[64];
  const int n = std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return n < static_cast<int>(sizeof buffer) ? std::string(buffer) : number_text(value);
}

std::string bytes_text(double bytes) {
  return scaled(bytes, 1000, {" B", " kB", " MB", " GB", " TB"});
}

std::string time_text(double milliseconds) {
  if (milliseconds >= 1000) return fixed(milliseconds / 1000, 2) + " s";
  if (milliseconds >= 1 || milliseconds == 0) return fixed(milliseconds, 2) + " ms";
  return fixed(milliseconds * 1000, 1) + " us";
}

std::string count_text(double count) {
  return scaled(count, 1000, {"", " k", " M", " G", " T"});
}

std::string percent_text(double share, int digits) {
  return fixed(100 * share, digits) + " %";
}

std::string number_text(double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.5g", value);
  return buffer;
}

}  // namespace quern::tools
