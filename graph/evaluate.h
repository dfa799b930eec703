// SPDX-License-Identifier: Apache-2.0
// Evaluates nodes over constants with their references: for constant folding, the shape arithmetic
// of a plan, and weights that are constant expressions.
#pragma once

#include <span>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/op_def.h"
#include "graph/post_ops.h"
#include "graph/reference.h"

namespace quern {

// True if the op can be evaluated ahead of a run: it has a reference, no body, and equal inputs
// give equal outputs whose shapes inference knows.
bool can_evaluate(const OpDef& def);

// An upper bound on the operations of an evaluation: the number of elements of inputs and outputs
// for ops that move or map elements, the product of the element counts of all operands for Einsum,
// and input elements times output elements for everything else.
double evaluation_work(const Op& op, const OpDef& def, std::span<const TensorType> inputs,
                       std::span<const TensorType> outputs);
// Takes the references less than a second. More work is left to the run, which has a deadline.
inline constexpr double quick_work = 1 << 28;

// Runs the reference of `op`, then those of its post-ops with their operands, over constants. Slow:
// only for small work. An invalid Tensor is an absent input; `types` are the inferred outputs.
// `stop` (it may be null) ends it with its error.
Result<std::vector<Tensor>> evaluate(const OpSet& ops, const Op& op, const PostOps& post_ops,
                                     std::span<const Tensor> inputs,
                                     std::span<const Tensor> operands,
                                     std::span<const TensorType> types, const Stop* stop = nullptr);

}  // namespace quern
