// SPDX-License-Identifier: Apache-2.0
// The operations that a node applies to its first output after its operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "graph/ops/elementwise.h"

namespace quern {

// A binary operation on the result and the node's input `operand`, which must broadcast to the
// result without changing its shape. `swapped`: the operand is the left-hand side.
struct BinaryPostOp {
  BinaryKind kind = BinaryKind::add;
  std::uint32_t operand = 0;
  bool swapped = false;

  bool operator==(const BinaryPostOp&) const = default;
};

// One such operation; a node applies its PostOps in order.
using PostOp = std::variant<Unary, BinaryPostOp>;
using PostOps = std::vector<PostOp>;

// The number of a node's `inputs` that belong to the operator itself; the operands of post-ops come
// after them. Only this function knows that order.
std::size_t own_inputs(std::size_t inputs, const PostOps& post_ops);
// True if a post-op after the first `done` reads this input and none of the first `done` does.
bool is_read_later(const PostOps& post_ops, std::size_t done, std::size_t input);

}  // namespace quern
