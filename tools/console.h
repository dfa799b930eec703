// SPDX-License-Identifier: Apache-2.0
// Output of the verbs for people: tables, colours, progress.
//
// Colours only on a terminal and never with NO_COLOR; progress only when stderr is a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "engine/vocabulary/readable.h"  // text and numbers, as they are printed

namespace quern::tools {

// Documented in every --help.
enum class ExitCode : int { ok = 0, failed = 1, usage = 2, model = 3, device = 4 };

enum class Colour : std::uint8_t { none, bold, dim, red, green, yellow };

struct Console {
  bool colour_out = false;
  bool colour_err = false;
  bool progress = false;

  static Console detect();
  // For stdout.
  std::string paint(Colour colour, std::string_view text) const;
  void note(std::string_view text) const;  // "note: ..." on stderr
  void warn(std::string_view text) const;  // "warning: ..." on stderr
  void error(std::string_view text) const;
};

void print(std::string_view text);  // to stdout

// A line on the terminal that is overwritten; prints nothing if stderr is no terminal.
class Progress {
 public:
  explicit Progress(const Console& console) : shown_(console.progress) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::string_view text);
  void clear();

 private:
  bool shown_;
  bool dirty_ = false;
};

// Cells in columns that line up; text with non-ASCII letters counts by code point.
class Table {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
    std::size_t max_width = 60;  // longer cells lose their end
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells, Colour colour = Colour::none);
  bool empty() const { return rows_.empty(); }
  std::string text(const Console& console) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Colour colour;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace quern::tools
