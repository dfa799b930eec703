// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <quern/status.h>

#include "graph/graph.h"

namespace quern {

// Products by block-quantised weights as products of floats by weights that are dequantised when
// they are packed, for devices without a kernel for them. x is not rounded then.
Status widen_block_quantized(Graph& graph);

// matmul(x, dequantize(w)) of at most `most_rows` rows of x, known shapes, and a large constant w
// of 8 or 4 bits without zero points, with scales for the whole, for columns or for blocks of a
// column: as a product by block-quantised weights of 8 bits, which reads a fourth of the bytes.
Status keep_quantized_weights(Graph& graph, std::int64_t most_rows);

}  // namespace quern
