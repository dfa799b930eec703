// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quern/status.h>

#include "graph/graph.h"

namespace quern {

// Checks the invariants that hold between any two changes of a graph: uses and producers agree,
// nodes come after their operands, arities and post-op operands are right, the inputs of bodies
// match those of their nodes, and every type is the inferred one or more precise. An error names
// the first violation. Its code is `internal`, or that of inference if a node was accepted while
// less was known of its inputs.
Status verify(const Graph& graph);

}  // namespace quern
