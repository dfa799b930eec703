// SPDX-License-Identifier: Apache-2.0
#include "graph/post_ops.h"

#include "graph/ops/binary.h"
#include "graph/ops/unary.h"

namespace quern {

const Unary* unary_of(const PostOp& post_op) {
  const Op* op = std::get_if<Op>(&post_op);
  return op ? op->as<Unary>() : nullptr;
}

Op operator_of(const BinaryPostOp& post_op) {
  return Binary{post_op.kind};
}

bool is_read_later(const PostOps& post_ops, std::size_t done, std::size_t operand) {
  for (std::size_t k = 0; k < post_ops.size(); ++k)
    if (const auto* b = std::get_if<BinaryPostOp>(&post_ops[k]); b && b->operand == operand)
      return k >= done;
  return false;
}

}  // namespace quern
