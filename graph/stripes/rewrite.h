// SPDX-License-Identifier: Apache-2.0
// A graph whose chains are computed in stripes, as a graph.
#pragma once

#include <span>

#include <quern/status.h>

#include "graph/graph.h"
#include "graph/stripes/chain.h"
#include "graph/stripes/row_graph.h"

namespace quern::stripes {

// The same graph, in which each node of a chain is one node for each range of rows: they stand in
// the order in which a chain computes them, read parts of what the others gave, and are joined
// where all rows are needed. The chains stand in order and do not overlap.
Result<Graph> in_stripes(const RowGraph& graph, std::span<const Chain> chains);

}  // namespace quern::stripes
