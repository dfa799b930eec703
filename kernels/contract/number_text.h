// SPDX-License-Identifier: Apache-2.0
// Numbers as the text in string tensors (ONNX Cast), independent of any locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include <quern/dtype.h>

namespace quern {

// Prints into its own buffer: the result of print() is valid until the next call.
class NumberText {
 public:
  // The shortest decimal that reads back as the same element of `dtype` (a float type), without
  // exponent from 1e-4 to below 1e16 (as NumPy has it); "NaN", "INF", "-INF".
  std::string_view print(double value, DType dtype);
  std::string_view print(std::int64_t value, DType dtype);
  std::string_view print(std::uint64_t value, DType dtype);

 private:
  char buffer_[64];
};

using Number = std::variant<double, std::int64_t, std::uint64_t>;
// Decimals with or without exponent, "inf", "infinity" and "nan" in any case, each with an optional
// sign and blanks around it; for bool also "true" and "false". For an integer `dtype` whole numbers
// that fit 64 bits are exact. nullopt if it is none of these. A float overflows to infinity.
std::optional<Number> parse_number(std::string_view text, DType dtype);

}  // namespace quern
