// SPDX-License-Identifier: Apache-2.0
// The attributes of a node whose operator only its host knows, and their text: "name=i:3",
// "f:0.5", "s:any text", "is:1,2", "fs:0.5,2".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <quern/status.h>

namespace quern {

struct CustomAttribute {
  std::string name;
  std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>>
      value;

  // "an int", "floats"
  std::string_view kind_name() const;
  bool operator==(const CustomAttribute&) const = default;
};

// True for letters, digits, '_', '.' and '-', at least one and at most 256.
bool is_custom_name(std::string_view name);

std::string to_text(const CustomAttribute& attribute);
// Errors: invalid_argument, with the text.
Result<CustomAttribute> parse_custom_attribute(std::string_view text);

}  // namespace quern
