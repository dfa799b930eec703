// SPDX-License-Identifier: Apache-2.0
// When the values of a graph are live, in the order of a RowGraph.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/stripes/row_graph.h"

namespace quern::stripes {

// Bytes of a value that lies in the arena, and the positions between which it is live.
struct Life {
  std::size_t made = 0;
  std::size_t last = 0;
  std::uint64_t bytes = 0;
};

// One for each value but views, constants, and inputs and outputs of the graph, which are the
// caller's.
std::vector<Life> lives_of(const RowGraph& rows);

}  // namespace quern::stripes
