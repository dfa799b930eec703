// SPDX-License-Identifier: Apache-2.0
// The geometry of sliding windows: the elements that convolutions and pools read, and the number of
// results.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <quern/shape.h>
#include <quern/status.h>

#include "graph/op_def.h"

namespace quern {

struct Window;  // graph/ops/window.h
struct ConvTranspose;
struct MaxUnpool;

// The largest size, stride and so on that a model may have: no real model exceeds it, and below it
// no sum or product of two can overflow.
inline constexpr std::int64_t max_extent = std::int64_t{1} << 31;
// Tensors have at most Shape::max_rank dimensions, batch and channel among them.
inline constexpr std::size_t max_spatial_rank = Shape::max_rank - 2;

// Complete geometry of a sliding window, one entry per spatial dimension, for all kinds of
// convolution and pooling. A value without heap memory, so that references can create one.
struct ResolvedWindow {
  Shape kernel, strides, dilations, pads_begin, pads_end;

  std::size_t rank() const { return kernel.rank(); }
  // Number of input elements from the first to the last tap.
  std::int64_t extent(std::size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
};
// Rejects a list that is neither empty nor of `size` entries in [least, max_extent].
Status check_list(const InferContext& c, std::string_view name, std::span<const std::int64_t> list,
                  std::size_t size, std::int64_t least);
// Checks the lengths and ranges of the lists of `window` for `rank` spatial dimensions.
Status check_window(const InferContext& c, const Window& window, std::size_t rank);
// Resolves `window` for spatial dimensions of sizes `in` (unknown ones allowed unless auto_pad
// needs them), with the kernel given in the attribute or by the weights.
Result<ResolvedWindow> resolve_window(const InferContext& c, const Window& window,
                                      std::span<const Dim> in,
                                      std::span<const std::int64_t> kernel);
// The same for concrete shapes that inference has accepted: cannot fail.
ResolvedWindow resolve_window(const Window& window, std::span<const std::int64_t> in,
                              std::span<const std::int64_t> kernel);
// A window from plain lists, each empty or complete.
ResolvedWindow explicit_window(std::span<const std::int64_t> kernel,
                               std::span<const std::int64_t> strides,
                               std::span<const std::int64_t> dilations,
                               std::span<const std::int64_t> pads);
// Treatment of a last window that the input does not fill; it is kept in the ceil_mode of pooling.
enum class PartialWindow : std::uint8_t { dropped, kept };
// Number of positions of the window along one dimension.
std::int64_t window_count(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                          std::int64_t dilation, std::int64_t pad_begin, std::int64_t pad_end,
                          PartialWindow partial);
// Number of positions along every dimension, with all checks; unknown where they cannot be computed
// yet. Dimensions of the kernel may be unknown too: those of weights of unknown shape.
Result<Dims> infer_window(const InferContext& c, const Window& window, std::span<const Dim> in,
                          std::span<const Dim> kernel,
                          PartialWindow partial = PartialWindow::dropped);

// The window of a transposed convolution as it slides over the *output*: at position i, an element
// of the input, its taps lie on the output elements that the input element contributes to. Only for
// concrete shapes that inference has accepted.
ResolvedWindow resolve_transposed_window(const ConvTranspose& op, std::span<const std::int64_t> in,
                                         std::span<const std::int64_t> kernel);
// One dimension of a transposed convolution's output; `d` counts spatial dimensions.
Dim transposed_size(const ConvTranspose& op, const ResolvedWindow& w, std::size_t d, Dim in);

ResolvedWindow window_of(const MaxUnpool& op);
// A dimension of the pooling's input, from that of its output.
Dim unpooled_size(const ResolvedWindow& w, std::size_t d, Dim in);
// The shape of the pooling's input, from that of its output: the indices refer to it.
Shape unpooled_shape(const MaxUnpool& op, const Shape& x);

}  // namespace quern
