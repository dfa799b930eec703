// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quern/status.h>

#include "graph/graph.h"

namespace quern {

// Computes f16 and bf16 in f32, for a device that is slow at them: values are cast where they come
// in and where they go out, and everything between is f32, which rounds less often and overflows
// later. Inputs and outputs keep their types; constants are cast by nodes, so that large ones are
// never held twice. A Cast of the model from another type to a 16-bit float still rounds.
Status widen_f16(Graph& graph);
// Whether all that multiplies matrices in the graph, not yet widened, and in its bodies does so in
// f16, so that rounding operands to it takes nothing from them. False where nothing does.
bool multiplies_f16(const Graph& graph);

}  // namespace quern
