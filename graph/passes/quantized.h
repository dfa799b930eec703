// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include <quern/shape.h>
#include <quern/status.h>

#include "graph/graph.h"

namespace quern {

// conv(dequantize(x), dequantize(w), b) in integers, with a result in f32 (ConvIntegerToFloat),
// where `faster` says so of the shape of w and the number of groups. Before constants are folded:
// of weights that are f32 already nothing is known.
Status convolve_dequantized(Graph& graph,
                            const std::function<bool(const Shape& w, std::int64_t groups)>& faster);

// cast(conv_integer(x, w)) * scale + b, whose cast, product and sum are steps of their own else,
// as ConvIntegerToFloat. After post-ops are fused.
Status scale_integer_convolutions(Graph& graph);

}  // namespace quern
