// SPDX-License-Identifier: Apache-2.0
// Shape inference that several families share.
#pragma once

#include "graph/op_def.h"

namespace quern {

// Output 0 is input 0's type.
Status infer_like_input(InferContext& c);
// Output 0: `dtype`, of the shape that all inputs broadcast to.
Status infer_broadcast(InferContext& c, DType dtype);
// The axes in input `i`, made non-negative and checked to be distinct; nothing while unknown, or the
// input is absent (`has(i)` tells which).
Result<std::optional<std::vector<std::size_t>>> axes_operand(const InferContext& c, std::size_t i,
                                                             std::size_t rank);

// Geometry of a sliding window with everything filled in: what Conv, pooling and their kin share.
struct ResolvedWindow {
  Ints kernel, strides, dilations, pads_begin, pads_end;
};
// For `spatial` dimensions of sizes `in` (unknown ones allowed unless auto_pad needs them), with the
// kernel given in the attribute or by the weights. `ceil_mode` as in pooling.
Result<ResolvedWindow> resolve_window(const InferContext& c, const Window& window,
                                      std::span<const Dim> in, std::span<const std::int64_t> kernel);
// The same for concrete shapes that inference has accepted: no errors are left.
ResolvedWindow resolve_window(const Window& window, std::span<const std::int64_t> in,
                              std::span<const std::int64_t> kernel);
// Positions of the window along one dimension.
std::int64_t window_count(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                          std::int64_t dilation, std::int64_t pad_begin, std::int64_t pad_end,
                          bool ceil_mode);

}  // namespace quern
