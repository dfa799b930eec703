// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/csv_rows.h"

#include <algorithm>
#include <charconv>

#include "engine/vocabulary/text_util.h"

namespace quern {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::string_view take(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view head = rest.substr(0, at);
  rest = at == rest.npos ? std::string_view() : rest.substr(at + 1);
  return head;
}

std::vector<std::string_view> split_cells(std::string_view line) {
  std::vector<std::string_view> cells;
  const auto count = static_cast<std::size_t>(std::ranges::count(line, ',')) + 1;
  cells.reserve(std::min(count, max_csv_columns + 1));
  for (std::size_t i = 0; i < count && i <= max_csv_columns; ++i)
    cells.push_back(trimmed(take(line, ',')));
  return cells;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

CsvRows::CsvRows(std::string_view text, std::string_view subject) : rest_(text), subject_(subject) {
  if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);  // byte order mark
  names_ = split_cells(next_line());
}

std::string_view CsvRows::next_line() {
  ++line_;
  return take(rest_, '\n');
}

std::size_t CsvRows::column(std::string_view name) const {
  const auto at = std::ranges::find(names_, name);
  return at == names_.end() ? none : static_cast<std::size_t>(at - names_.begin());
}

Result<std::size_t> CsvRows::required(std::string_view name) const {
  if (const std::size_t c = column(name); c != none) return c;
  return wrong(cat("no column ", in_quotes(name)));
}

Result<bool> CsvRows::next() {
  if (rest_.empty()) return false;
  const std::string_view line = next_line();
  if (trimmed(line).empty()) return false;
  cells_ = split_cells(line);
  if (cells_.size() != names_.size())
    return wrong(cat(cells_.size(), " cells, the header has ", names_.size()));
  return true;
}

Result<std::int64_t> CsvRows::integer(std::size_t column, std::int64_t least, std::int64_t most,
                                      std::optional<std::int64_t> otherwise) const {
  if (otherwise && (column == none || cells_[column].empty())) return *otherwise;
  const auto value = integer_of(cells_[column]);
  if (!value || *value < least || *value > most)
    return wrong(cat(names_[column], " is ", in_quotes(printable(cells_[column], 40)),
                     ", wanted an integer from ", least, " to ", most));
  return *value;
}

Status CsvRows::wrong(std::string_view what) const {
  return {Code::invalid_argument, cat(subject_, " line ", line_, ": ", what)};
}

}  // namespace quern
