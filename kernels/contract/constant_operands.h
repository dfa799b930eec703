// SPDX-License-Identifier: Apache-2.0
// What the constant operands of a request say, for the implementations of every device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <quern/shape.h>

#include "graph/ops/resize_axes.h"
#include "kernels/contract/kernel.h"

namespace quern {

// Begin and end of every axis, negative where elements are cut off; nothing when they are not
// known.
struct Pads {
  Shape begin, end;
};
std::optional<Pads> constant_pads(const KernelRequest& request);

// Every axis of the input; nothing when an operand is not constant.
std::optional<ResizeAxes> constant_resize_axes(const KernelRequest& request);

// Bit d: dimension d of the input is folded. Nothing when the axes are not known.
std::optional<std::uint32_t> folded_axes(const KernelRequest& request);

// Which operand is which; `none` for those that the op does not have.
struct Int8Operands {
  static constexpr std::size_t none = 99;
  std::size_t x = 0;
  std::size_t w = none;
  std::size_t x_zero = none;
  std::size_t w_zero = none;  // one, or one a column
  std::size_t x_scale = none;
  std::size_t w_scale = none;  // one, or one a column
  std::size_t y_scale = none;  // none: the sums themselves, in i32
  std::size_t y_zero = none;
  std::size_t bias = none;
};
constexpr Int8Operands conv_integer_operands{.w = 1, .x_zero = 2, .w_zero = 3};
constexpr Int8Operands qlinear_conv_operands{.w = 3,
                                             .x_zero = 2,
                                             .w_zero = 5,
                                             .x_scale = 1,
                                             .w_scale = 4,
                                             .y_scale = 6,
                                             .y_zero = 7,
                                             .bias = 8};

}  // namespace quern
