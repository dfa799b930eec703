// SPDX-License-Identifier: Apache-2.0
// Operators by their names, for tests that need some operator and do not look at its attributes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "graph/op_fields.h"
#include "graph/post_ops.h"
#include "graph/text.h"

namespace quern::testing {

// named("Unary", "kind=neg"); ends the program if there is no such operator or attribute.
inline Op named(std::string_view name, std::string_view attributes) {
  auto op = make_op(name, attributes);
  if (!op) std::abort();
  return *std::move(op);
}

// unary_op("clip alpha=0 beta=6"), binary_op("add"): functions of one and of two numbers.
inline Op unary_op(std::string_view kind) {
  return named("Unary", "kind=" + std::string(kind));
}
inline Op binary_op(std::string_view kind) {
  return named("Binary", "kind=" + std::string(kind));
}

// The names of the values of an attribute, such as ("Unary", "kind"); ends the program if it has
// none.
inline std::span<const std::string_view> values_of(std::string_view name,
                                                   std::string_view attribute) {
  std::span<const std::string_view> names;
  for_each_field(named(name, ""), [&]<class T>(std::string_view field, const T& value) {
    if constexpr (std::is_same_v<T, EnumField>)
      if (field == attribute) names = value.names;
  });
  if (names.empty()) std::abort();
  return names;
}

// A post-op: binary_post_op("sub", 1, true) subtracts from operand 1.
inline BinaryPostOp binary_post_op(std::string_view kind, std::uint32_t operand,
                                   bool swapped = false) {
  const auto names = values_of("Binary", "kind");
  const auto at = std::ranges::find(names, kind);
  if (at == names.end()) std::abort();
  return {static_cast<BinaryKind>(at - names.begin()), operand, swapped};
}

}  // namespace quern::testing
