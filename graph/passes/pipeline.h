// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quern/status.h>

#include "graph/graph.h"

namespace quern {

// Runs all rewrites to a fixpoint, in the bodies of control flow too. An error leaves a valid graph.
Status run_passes(Graph& graph);

}  // namespace quern
