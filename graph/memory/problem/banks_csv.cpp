// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/banks_csv.h"

#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "graph/memory/problem/bank_rules.h"
#include "graph/memory/problem/csv_rows.h"

namespace quern {
namespace {

// Of any number of rows not many more than a problem may have are read.
Result<std::vector<Bank>> read_banks(CsvRows& rows) {
  for (const std::string_view name : rows.names()) {
    constexpr std::string_view known[] = {"bank", "capacity", "alignment", "cost", "reuse"};
    if (std::ranges::find(known, name) == std::end(known))
      return rows.wrong(cat("unknown column ", in_quotes(printable(name)), " of banks"));
    if (std::ranges::count(rows.names(), name) > 1)
      return rows.wrong(cat("two columns for ", name));
  }
  QUERN_ASSIGN(const std::size_t name, rows.required("bank"));
  QUERN_ASSIGN(const std::size_t capacity, rows.required("capacity"));
  MemoryProblem problem;
  for (;;) {
    QUERN_ASSIGN(const bool is_row, rows.next());
    if (!is_row) break;
    Bank bank{.name = std::string(rows.cell(name))};
    QUERN_ASSIGN(const std::int64_t bytes, rows.integer(capacity, 0, max_csv_number, -1));
    QUERN_ASSIGN(const std::int64_t alignment,
                 rows.integer(rows.column("alignment"), 1, max_csv_number, 1));
    QUERN_ASSIGN(const std::int64_t cost, rows.integer(rows.column("cost"), 0, max_csv_number, 0));
    QUERN_ASSIGN(const std::int64_t reuse,
                 rows.integer(rows.column("reuse"), 0, max_csv_number, 0));
    if (bytes >= 0) bank.capacity = static_cast<std::uint64_t>(bytes);
    bank.alignment = static_cast<std::uint64_t>(alignment);
    bank.cost = static_cast<std::uint64_t>(cost);
    bank.reuse = static_cast<std::uint64_t>(reuse);
    problem.banks.push_back(std::move(bank));
    if (Status s = check_banks(problem); !s.ok()) return rows.wrong(s.message());
  }
  if (problem.banks.empty()) return rows.wrong("a table of banks without a bank, wanted one");
  return std::move(problem.banks);
}

// Up to the first line that has nothing but blanks, which goes with it.
std::string_view take_table(std::string_view& rest, std::size_t& lines) {
  const std::string_view all = rest;
  while (!rest.empty()) {
    ++lines;
    if (trimmed(take(rest, '\n')).empty()) break;
  }
  return all.substr(0, all.size() - rest.size());
}

}  // namespace

Result<std::vector<Bank>> take_bank_table(std::string_view& rest, std::size_t& line) {
  std::string_view text = rest;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark
  const std::vector<std::string_view> names = split_cells(text.substr(0, text.find('\n')));
  if (std::ranges::find(names, "capacity") == names.end()) return std::vector<Bank>{};
  if (names.size() > max_csv_columns)
    return Status(Code::invalid_argument, "csv line 1: more than 64 columns");
  CsvRows rows(take_table(rest, line), "csv");
  return read_banks(rows);
}

Result<std::vector<std::uint32_t>> banks_in_cell(std::string_view cell,
                                                 std::span<const Bank> banks) {
  std::vector<std::uint32_t> chosen;
  while (!cell.empty()) {
    const std::string_view word = take(cell, ' ');
    if (word.empty()) continue;
    const auto at = std::ranges::find(banks, word, &Bank::name);
    if (at == banks.end())
      return Status(Code::invalid_argument,
                    cat("no bank ", in_quotes(printable(word, 40)),
                        banks.empty() ? ", there is no table of banks before the buffers"
                                      : ", wanted one of the table of banks"));
    const auto bank = static_cast<std::uint32_t>(at - banks.begin());
    if (std::ranges::find(chosen, bank) != chosen.end())
      return Status(Code::invalid_argument,
                    cat("bank ", in_quotes(printable(word, 40)), " is named twice, wanted once"));
    chosen.push_back(bank);
  }
  std::ranges::sort(chosen);
  return chosen;
}

std::string bank_table(std::span<const Bank> banks) {
  if (banks.empty()) return "";
  std::string text = "bank,capacity,alignment,cost,reuse\n";
  for (const Bank& b : banks)
    text += cat(b.name, ",", b.capacity == any_capacity ? "" : std::to_string(b.capacity), ",",
                b.alignment, ",", b.cost, ",", b.reuse, "\n");
  return text + "\n";
}

std::string bank_names(std::span<const std::uint32_t> chosen, std::span<const Bank> banks) {
  std::string text;
  for (std::uint32_t b : chosen) text += cat(text.empty() ? "" : " ", banks[b].name);
  return text;
}

}  // namespace quern
