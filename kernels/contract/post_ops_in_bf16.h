// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/post_ops.h"

namespace quern {

// True if a kernel of bf16 computes the post-op itself. As a step of its own it would be slow in
// bf16.
bool is_fused_in_bf16(const PostOp& post_op);

}  // namespace quern
