// SPDX-License-Identifier: Apache-2.0
// Convolutions and products of integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/op.h"
#include "graph/ops/window.h"

namespace quern {

// (x, w, x_zero_point?, w_zero_point?) -> i32
struct ConvInteger {
  Window window;
  std::int64_t group = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f), f("group", s.group);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const ConvInteger&) const = default;
};

// (a, b, a_zero_point?, b_zero_point?) -> i32
struct MatMulInteger {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const MatMulInteger&) const = default;
};

// (x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias i32?)
struct QLinearConv {
  Window window;
  std::int64_t group = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f), f("group", s.group);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const QLinearConv&) const = default;
};

// (x, x_scale, x_zero_point, w, w_scale, w_zero_point, bias f32?) -> f32: the sum of the products
// of the integers times x_scale * w_scale, plus the bias. What passes make of a Conv of dequantised
// tensors, or of a ConvInteger whose result is cast and scaled; no ONNX operator.
struct ConvIntegerToFloat {
  Window window;
  std::int64_t group = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f), f("group", s.group);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const ConvIntegerToFloat&) const = default;
};

// (a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point)
struct QLinearMatMul {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const QLinearMatMul&) const = default;
};

// Indices of the operands of an integer convolution.
struct ConvRoles {
  std::size_t w, x_zero, w_zero;
};
inline constexpr ConvRoles conv_integer_roles = {1, 2, 3};
inline constexpr ConvRoles conv_qlinear_roles = {3, 2, 5};

using QuantisedProductsOps =
    OpList<ConvInteger, ConvIntegerToFloat, MatMulInteger, QLinearConv, QLinearMatMul>;

}  // namespace quern
