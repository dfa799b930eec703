// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "graph/post_ops.h"
#include "kernels/contract/kernel.h"
#include "kernels/simd/simd.h"

namespace quern {

// Unary and Binary in f32 with any chain of post-ops, in one pass over memory.
Selection select_elementwise(const KernelRequest& request);

// How many of the first post-ops are functions of one number that simd() has.
std::size_t leading_functions(const PostOps& post_ops);
// Such post-ops, one after the other, to `n` numbers.
void apply_functions(const PostOps& functions, float* y, std::int64_t n);
// The limits that the first sets to a result, if that is what it does.
std::optional<FloatRange> leading_range(const PostOps& post_ops);
// Whether the first is such a function, made of exponentials: its time counts beside that of a
// convolution, and oneDNN's takes more.
bool begins_with_exponential(const PostOps& post_ops);
// What the first post-op adds to each element in f32, among the reads of the node; nullopt if it
// does another thing.
std::optional<std::uint32_t> added_operand(const KernelRequest& request);

}  // namespace quern
