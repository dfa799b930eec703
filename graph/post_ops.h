// SPDX-License-Identifier: Apache-2.0
// What a node does to its first output after its operator.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "graph/ops/elementwise.h"

namespace quern {

// A binary step after the op itself: with the node's input `operand`, which must broadcast to the
// result without changing its shape. `swapped`: the operand stands on the left.
struct BinaryPostOp {
  BinaryKind kind = BinaryKind::add;
  std::uint32_t operand = 0;
  bool swapped = false;

  bool operator==(const BinaryPostOp&) const = default;
};

// What a node does to its first output after the op itself, in order.
using PostOp = std::variant<Unary, BinaryPostOp>;
using PostOps = std::vector<PostOp>;

}  // namespace quern
