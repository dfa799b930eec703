// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quern/status.h>

#include "graph/graph.h"

namespace quern {

// What must hold of every graph between two changes: uses and producers agree, nodes stand after
// what they read, arities and post-op operands are right, bodies take what their nodes give, and
// every type is what inference says, or more precise. An error names the first breach. Its code is
// internal; or that of inference, where a node was let pass while less was known of its inputs.
Status verify(const Graph& graph);

}  // namespace quern
