// SPDX-License-Identifier: Apache-2.0
// The small languages of option values: numbers, lists, shapes, name=value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quern/shape.h>
#include <quern/status.h>

namespace quern::tools {

std::optional<double> parse_number(std::string_view text);                // "0.5", finite
std::optional<std::int64_t> parse_integer(std::string_view text);         // "-3"
std::optional<std::vector<double>> parse_numbers(std::string_view text);  // "0.5,1"
std::optional<std::size_t> parse_bytes(std::string_view text);            // "256MB", "1GiB", "42"
std::vector<std::string> split_list(std::string_view text);               // "a,b": no empty parts

// "1x3x224x224" or "1,3,224,224"; "" and "scalar": rank 0. Errors: invalid_argument.
Result<Shape> parse_shape(std::string_view text);

struct Assignment {
  std::string name;  // empty: none was given
  std::string value;
};
// Cuts "NAME=VALUE" at the last '=' whose left side is one of `names`, so that names and paths may
// hold
// '='; what has no such place is a value without a name.
Assignment parse_assignment(std::string_view text, const std::vector<std::string>& names);

// True if `text` matches a pattern of *, ? and plain characters.
bool matches_glob(std::string_view text, std::string_view pattern);

}  // namespace quern::tools
