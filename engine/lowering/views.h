// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "kernels/contract/layout.h"

namespace quern::lowering {

// Operators whose outputs are views of their first input: Reshape and similar operators, Transpose,
// Slice, Split, Expand. Returns each output as a layout over the input's bytes, or nullopt if the
// elements must be copied.
struct View {
  std::int64_t offset = 0;  // in elements
  Layout layout;
};
std::optional<std::vector<View>> views_of(const Graph& graph, NodeId node, const TensorDesc& input);

}  // namespace quern::lowering
