// SPDX-License-Identifier: Apache-2.0
// Values of the constant operands of a request, for the implementations of every device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <quern/shape.h>

#include "graph/ops/resize_axes.h"
#include "kernels/contract/kernel.h"

namespace quern {

// The elements of a constant, 16-bit floats as f32. In the source they may be unaligned, as in a
// mapped file.
Result<Tensor> widened_constant(const ConstantSource& source);

// Padding at the begin and end of every axis, negative where elements are cut off; nullopt if
// unknown.
struct Pads {
  Shape begin, end;
};
std::optional<Pads> constant_pads(const KernelRequest& request);

// One entry per axis of the input; nullopt if an operand is not constant.
std::optional<ResizeAxes> constant_resize_axes(const KernelRequest& request);

// Bit d is set if dimension d of the input is reduced; nullopt if the axes are unknown.
std::optional<std::uint32_t> folded_axes(const KernelRequest& request);

// Indices of the operands; `none` for those that the op does not have.
struct Int8Operands {
  static constexpr std::size_t none = 99;
  std::size_t x = 0;
  std::size_t w = none;
  std::size_t x_zero = none;
  std::size_t w_zero = none;  // one, or one per column
  std::size_t x_scale = none;
  std::size_t w_scale = none;  // one, or one per column
  std::size_t y_scale = none;  // none: the result is f32 with an x_scale, else the i32 sums
  std::size_t y_zero = none;
  std::size_t bias = none;      // i32
  std::size_t f32_bias = none;  // of a result in f32
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
constexpr Int8Operands conv_integer_to_float_operands{
    .w = 3, .x_zero = 2, .w_zero = 5, .x_scale = 1, .w_scale = 4, .f32_bias = 6};

}  // namespace quern
