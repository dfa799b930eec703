// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quern/status.h>

#include "graph/graph.h"

namespace quern {

// Products by block-quantised weights as products of floats by weights that are dequantised when
// they are packed, for devices without a kernel for them. x is not rounded then.
Status widen_block_quantized(Graph& graph);

}  // namespace quern
