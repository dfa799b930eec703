// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include <quern/status.h>

#include "graph/graph.h"

namespace quern {

// What of a Conv or a MatMul may be rounded. `parts`: each factor is the sum of two numbers of
// bf16, and three products stand in the place of one (Bf16Parts): 16 significant bits, not 8.
enum class Narrow : std::uint8_t { nothing, factors, result_too, parts };

// Products of matrices in bf16 with sums in f32, for devices that multiply those faster: the
// factors of each node of which `may` allows it are cast to bf16. Its result, with its bias and the
// operands of its post-ops, is bf16 too where only such nodes read it, and f32 elsewhere
// (`f32_result`). Everything between stays f32, and so do the inputs and outputs of the graph.
Status narrow_products(Graph& graph, const std::function<Narrow(const Graph&, const Node&)>& may);

}  // namespace quern
