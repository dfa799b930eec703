// SPDX-License-Identifier: Apache-2.0
// Products in bf16 with sums in f32, on CPUs that have units for matrices of them (AMX).
#pragma once

#include "graph/graph.h"
#include "graph/passes/narrow.h"

namespace quern {

// True if this machine multiplies bf16 faster than f32.
bool has_bf16_units() noexcept;

// What of `node`, a Conv or a MatMul, takes less time in bf16 where has_bf16_units(): nothing
// unless it has operands of f32, known shapes and constant weights.
Narrow faster_in_bf16(const Graph& graph, const Node& node);
// The same for three products of bf16 in the place of one: `parts` or nothing.
Narrow faster_in_bf16x3(const Graph& graph, const Node& node);

}  // namespace quern
