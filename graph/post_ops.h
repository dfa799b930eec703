// SPDX-License-Identifier: Apache-2.0
// The operations that a node applies to its first output after its operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "graph/ops/binary.h"
#include "graph/ops/unary.h"

namespace quern {

// A binary operation on the result and the operand of this number, which must broadcast to the
// result without changing its shape. Operands of post-ops are a list of their own, beside the
// node's inputs. `swapped`: the operand is the left-hand side.
struct BinaryPostOp {
  BinaryKind kind = BinaryKind::add;
  std::uint32_t operand = 0;
  bool swapped = false;

  bool operator==(const BinaryPostOp&) const = default;
};

// One such operation; a node applies its PostOps in order.
using PostOp = std::variant<Unary, BinaryPostOp>;
using PostOps = std::vector<PostOp>;

// True if a post-op after the first `done` reads this operand and none of the first `done` does.
bool is_read_later(const PostOps& post_ops, std::size_t done, std::size_t operand);

}  // namespace quern
