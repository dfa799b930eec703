// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "kernels/contract/layout.h"

namespace quern::lowering {

// Operators that only look at their first input anew: Reshape and its kin, Transpose, Slice, Split,
// Expand. Each output as a layout over the input's bytes, or nothing where the elements must move.
struct View {
  std::int64_t offset = 0;  // in elements
  Layout layout;
};
std::optional<std::vector<View>> views_of(const Graph& graph, NodeId node, const TensorDesc& input);

}  // namespace quern::lowering
