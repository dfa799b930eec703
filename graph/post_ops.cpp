// SPDX-License-Identifier: Apache-2.0
#include "graph/post_ops.h"

#include <algorithm>

namespace quern {

std::size_t own_inputs(std::size_t inputs, const PostOps& post_ops) {
  for (const PostOp& p : post_ops)
    if (const auto* b = std::get_if<BinaryPostOp>(&p))
      inputs = std::min<std::size_t>(inputs, b->operand);
  return inputs;
}

bool is_read_later(const PostOps& post_ops, std::size_t done, std::size_t input) {
  for (std::size_t k = 0; k < post_ops.size(); ++k)
    if (const auto* b = std::get_if<BinaryPostOp>(&post_ops[k]); b && b->operand == input)
      return k >= done;
  return false;
}

}  // namespace quern
