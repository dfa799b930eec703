// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/post_ops_in_bf16.h"

#include <variant>

#include "graph/ops/binary_kind.h"
#include "graph/ops/unary.h"

namespace quern {

bool is_fused_in_bf16(const PostOp& post_op) {
  if (const auto* binary = std::get_if<BinaryPostOp>(&post_op))
    return binary->kind == BinaryKind::add || binary->kind == BinaryKind::mul;
  const Unary* unary = unary_of(post_op);
  if (!unary) return false;
  switch (unary->kind) {
    case UnaryKind::relu:
    case UnaryKind::leaky_relu:
    case UnaryKind::clip:
    case UnaryKind::sigmoid:
    case UnaryKind::tanh:
    case UnaryKind::swish:
    case UnaryKind::gelu:
    case UnaryKind::gelu_tanh:
    case UnaryKind::hard_swish: return true;
    default: return false;
  }
}

}  // namespace quern
