// SPDX-License-Identifier: Apache-2.0
// Checks the inputs given to a graph against their declared types. Inference and passes rely on
// these types, so a plan is made only for inputs that match them.
#pragma once

#include <span>

#include <quern/status.h>

#include "engine/compile/value.h"
#include "graph/graph.h"

namespace quern {

// `inputs` has one value per input of `graph`, in order. An error names the input, its type and the
// declared type; if two dimensions of one name differ, it gives both values.
Status check_declared_types(const Graph& graph, std::span<const RuntimeValue> inputs);

}  // namespace quern
