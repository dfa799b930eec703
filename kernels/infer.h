// SPDX-License-Identifier: Apache-2.0
// Shape inference that several families share.
#pragma once

#include <cstdint>

#include "graph/op_def.h"

namespace quern {

// Output 0 is input 0's type.
Status infer_like_input(InferContext& c);
// Output 0: `dtype`, of the shape that all inputs broadcast to.
Status infer_broadcast(InferContext& c, DType dtype);
// The axes in input `i`, made non-negative and checked to be distinct; nothing while unknown, or
// the input is absent (`has(i)` tells which).
Result<std::optional<std::vector<std::size_t>>> axes_operand(const InferContext& c, std::size_t i,
                                                             std::size_t rank);

// What is said of a size that depends on data: nothing, or the most that it can be (OpDef::bound).
enum class DataSize : std::uint8_t { unknown, at_most };

// Refuses an input that is known not to be of f32, f64, f16 or bf16.
Status want_floats(const InferContext& c, std::size_t i);
// The one integer in input `i` (i32 or i64, one element); nothing while unknown or absent.
Result<std::optional<std::int64_t>> int_operand(const InferContext& c, std::size_t i);

// Sizes, strides and the like that come from a model: nothing above this is meant seriously, and
// below it no sum or product of two can overflow.
inline constexpr std::int64_t max_extent = std::int64_t{1} << 31;
// Tensors have at most Shape::max_rank dimensions, batch and channel among them.
inline constexpr std::size_t max_spatial_rank = Shape::max_rank - 2;

constexpr bool is_same(AutoPad mode) {
  return mode == AutoPad::same_upper || mode == AutoPad::same_lower;
}

// Geometry of a sliding window with everything filled in, one entry a spatial dimension: what Conv,
// pooling and their kin share. A value without heap memory, so that references may make one.
struct ResolvedWindow {
  Shape kernel, strides, dilations, pads_begin, pads_end;

  std::size_t rank() const { return kernel.rank(); }
  // Input elements from the first to the last tap.
  std::int64_t extent(std::size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
};
// Refuses a list that is neither empty nor of `size` entries in [least, max_extent].
Status check_list(const InferContext& c, std::string_view name, std::span<const std::int64_t> list,
                  std::size_t size, std::int64_t least);
// Lengths and ranges of the lists of `window` for `rank` spatial dimensions.
Status check_window(const InferContext& c, const Window& window, std::size_t rank);
// For `spatial` dimensions of sizes `in` (unknown ones allowed unless auto_pad needs them), with
// the kernel given in the attribute or by the weights.
Result<ResolvedWindow> resolve_window(const InferContext& c, const Window& window,
                                      std::span<const Dim> in,
                                      std::span<const std::int64_t> kernel);
// The same for concrete shapes that inference has accepted: no errors are left.
ResolvedWindow resolve_window(const Window& window, std::span<const std::int64_t> in,
                              std::span<const std::int64_t> kernel);
// From the bare lists, each empty or complete.
ResolvedWindow explicit_window(std::span<const std::int64_t> kernel,
                               std::span<const std::int64_t> strides,
                               std::span<const std::int64_t> dilations,
                               std::span<const std::int64_t> pads);
// What becomes of a last window that the input does not fill; kept in the ceil_mode of pooling.
enum class PartialWindow : std::uint8_t { dropped, kept };
// Positions of the window along one dimension.
std::int64_t window_count(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                          std::int64_t dilation, std::int64_t pad_begin, std::int64_t pad_end,
                          PartialWindow partial);
// Positions along every dimension, with all checks; unknown where they cannot be told yet. Of the
// kernel too, dimensions may be unknown: those of weights whose shape nobody knows.
Result<Dims> infer_window(const InferContext& c, const Window& window, std::span<const Dim> in,
                          std::span<const Dim> kernel,
                          PartialWindow partial = PartialWindow::dropped);

}  // namespace quern
