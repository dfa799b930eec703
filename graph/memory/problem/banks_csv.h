// SPDX-License-Identifier: Apache-2.0
// Banks in CSV: a table of them before that of the buffers, and cells that name them.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

// Removes the table of banks, and the empty line behind it, from `rest` if it begins with one;
// `line` goes up by the lines that were read. Errors name the line.
Result<std::vector<Bank>> take_bank_table(std::string_view& rest, std::size_t& line);

// The indexes of the banks that a cell names, with blanks between them, ascending. An error says
// what is wrong, and not where.
Result<std::vector<std::uint32_t>> banks_in_cell(std::string_view cell,
                                                 std::span<const Bank> banks);

// The table with its empty line; nothing without banks.
std::string bank_table(std::span<const Bank> banks);
// "sram psram"
std::string bank_names(std::span<const std::uint32_t> chosen, std::span<const Bank> banks);

}  // namespace quern
