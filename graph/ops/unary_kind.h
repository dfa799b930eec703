// SPDX-License-Identifier: Apache-2.0
// The functions of one number, apart from the operator whose attribute they are.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace quern {

enum class UnaryKind : std::uint8_t {
  // clang-format off
  abs, neg, sign, ceil, floor, round, sqrt, reciprocal, exp, log, sin, cos, tan, asin, acos, atan,
  sinh, cosh, tanh, asinh, acosh, atanh, erf, sigmoid, relu, leaky_relu, elu, selu, celu,
  hard_sigmoid, hard_swish, softplus, softsign, mish, gelu, gelu_tanh, swish, thresholded_relu,
  shrink, clip, affine, scaled_tanh, is_nan, is_inf, logical_not, bitwise_not,
  // clang-format on
};
std::span<const std::string_view> enum_names(UnaryKind);

}  // namespace quern
