// SPDX-License-Identifier: Apache-2.0
// What a node does to its first output after its operator.
#pragma once

#include <cstddef>
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

// Operands of post-ops stand behind the operator's own inputs: how many of a node's `inputs` are
// its own. The one place that knows.
std::size_t own_inputs(std::size_t inputs, const PostOps& post_ops);
// Whether this input is the operand of a post-op behind the first `done`, and of none of those.
bool is_read_later(const PostOps& post_ops, std::size_t done, std::size_t input);

}  // namespace quern
