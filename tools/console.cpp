// SPDX-License-Identifier: Apache-2.0
#include "tools/console.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "engine/vocabulary/platform/process.h"

namespace quern::tools {
namespace {

bool may_colour(platform::Stream stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_colour && *no_colour) return false;
  if (!term || std::string_view(term) == "dumb") return false;
  return platform::is_terminal(stream);
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

std::string padded(std::string_view text, std::size_t width, Table::Align align) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return align == Table::Align::left ? std::string(text) + space : space + std::string(text);
}

}  // namespace

Console Console::detect() {
  using platform::Stream;
  return {may_colour(Stream::output), may_colour(Stream::errors),
          platform::is_terminal(Stream::errors)};
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
  const std::string line = "\r\x1b[K" + shortened(text, 78);
  std::fwrite(line.data(), 1, line.size(), stderr);
  dirty_ = true;
}

void Progress::clear() {
  if (dirty_) std::fputs("\r\x1b[K", stderr);
  dirty_ = false;
}

void Table::add(std::vector<std::string> cells, Colour colour) {
  cells.resize(columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i)
    cells[i] = shortened(cells[i], columns_[i].max_width);
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

}  // namespace quern::tools
