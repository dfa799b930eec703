// SPDX-License-Identifier: Apache-2.0
// The operations that a node applies to its first output after its operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "graph/op.h"

namespace quern {

enum class BinaryKind : std::uint8_t;  // graph/ops/binary.h
struct Unary;                          // graph/ops/unary.h

// A binary operation on the result and the operand of this number, which must broadcast to the
// result without changing its shape. Operands of post-ops are a list of their own, beside the
// node's inputs. `swapped`: the operand is the left-hand side.
struct BinaryPostOp {
  BinaryKind kind{};
  std::uint32_t operand = 0;
  bool swapped = false;

  bool operator==(const BinaryPostOp&) const = default;
};

// One such operation, or a Unary; a node applies its PostOps in order.
using PostOp = std::variant<Op, BinaryPostOp>;
using PostOps = std::vector<PostOp>;

// Null if it is a binary operation.
const Unary* unary_of(const PostOp& post_op);

// The same function as an operator of two inputs, the result first.
Op operator_of(const BinaryPostOp& post_op);

// True if a post-op after the first `done` reads this operand and none of the first `done` does.
bool is_read_later(const PostOps& post_ops, std::size_t done, std::size_t operand);

}  // namespace quern
