// SPDX-License-Identifier: Apache-2.0
// Nodes over constants, computed by their references: constant folding, shape arithmetic of a plan,
// weights that are an expression.
#pragma once

#include <span>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/op_def.h"
#include "graph/post_ops.h"
#include "graph/reference.h"

namespace quern {

// Whether the op can be evaluated ahead of a run: it has a reference, no body, and equal inputs
// give equal outputs whose shapes inference knows.
bool can_evaluate(const OpDef& def);

// A bound on the operations that evaluating takes: elements for what moves or maps them, elements
// of all operands multiplied for Einsum, of operands and results multiplied for everything else.
double evaluation_work(const Op& op, const OpDef& def, std::span<const TensorType> inputs,
                       std::span<const TensorType> outputs);
// Less than a second by the references. More is left to the run, which has a deadline.
inline constexpr double quick_work = 1 << 28;

// Runs the reference of `op`, then those of its post-ops, over constants. Slow and plain: for small
// work. An invalid Tensor is an absent input; `types` are the inferred outputs.
Result<std::vector<Tensor>> evaluate(OpSet ops, const Op& op, const PostOps& post_ops,
                                     std::span<const Tensor> inputs,
                                     std::span<const TensorType> types);

}  // namespace quern
