// SPDX-License-Identifier: Apache-2.0
// Rows of comma-separated values under a header, columns found by name. Errors name the line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <quern/status.h>

namespace quern {

// `text` without blanks at either end.
std::string_view trimmed(std::string_view text);
// Removes the text before `separator` from `rest` and returns it.
std::string_view take(std::string_view& rest, char separator);
// The cells of a line. At most max_csv_columns + 1 are kept; the last one shows that there were
// more.
inline constexpr std::size_t max_csv_columns = 64;
inline constexpr std::int64_t max_csv_number = std::int64_t{1} << 60;
std::vector<std::string_view> split_cells(std::string_view line);
// The whole text as an integer.
std::optional<std::int64_t> integer_of(std::string_view text);

class CsvRows {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  // `subject` begins every message.
  CsvRows(std::string_view text, std::string_view subject);

  // The cells of the header.
  std::span<const std::string_view> names() const { return names_; }
  // The column of that name in the header, or none.
  std::size_t column(std::string_view name) const;
  Result<std::size_t> required(std::string_view name) const;
  // Reads the next row; false at the end or at an empty line. A row has as many cells as the
  // header.
  Result<bool> next();
  std::string_view cell(std::size_t column) const { return cells_[column]; }
  // An integer of the current row. An empty cell, or a missing column, gives `otherwise` if that is
  // set.
  Result<std::int64_t> integer(std::size_t column, std::int64_t least, std::int64_t most,
                               std::optional<std::int64_t> otherwise = std::nullopt) const;
  std::size_t line() const { return line_; }
  Status wrong(std::string_view what) const;

 private:
  std::string_view next_line();

  std::string_view rest_;
  std::string_view subject_;
  std::size_t line_ = 0;
  std::vector<std::string_view> names_;
  std::vector<std::string_view> cells_;
};

}  // namespace quern
