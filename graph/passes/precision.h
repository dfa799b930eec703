// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quern/status.h>

#include "graph/graph.h"

namespace quern {

// Computes f16 and bf16 in f32, for a device that is slow at them: values are cast at inputs and
// outputs, and everything between is f32, which rounds less often and overflows later. Inputs and
// outputs keep their types; constants are cast by nodes, so that large ones are never held twice. A
// Cast of the model from another type to a 16-bit float still rounds.
Status widen_f16(Graph& graph);
// True if all matrix products in the graph and its bodies are in f16, so that rounding their
// operands to f16 loses nothing. False if there are none. To be called before widen_f16().
bool multiplies_f16(const Graph& graph);

}  // namespace quern
