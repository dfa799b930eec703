// SPDX-License-Identifier: Apache-2.0
// The words of a problem line, and numbers in them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

namespace quern::tools::lab {

// Cuts at spaces outside of quotes, brackets and braces. Errors: invalid_argument, for one that is
// not closed.
Result<std::vector<std::string>> words_of(std::string_view line);

// "n1c64kh3" as letters and numbers. Errors: invalid_argument, for a letter that is not among
// `known`, that stands twice, or without a number of at most 2^31.
using Sizes = std::map<std::string, std::int64_t>;
Result<Sizes> parse_sizes(std::string_view text, std::string_view known);

Status bad_word(std::string_view word, std::string_view why);

}  // namespace quern::tools::lab
