// SPDX-License-Identifier: Apache-2.0
// Quantisation, and products and convolutions of integers.
#pragma once

#include <cstdint>
#include <string_view>

#include <quern/dtype.h>

#include "graph/op.h"
#include "graph/ops/window.h"

namespace quern {

// (x, scale, zero_point?). scale: scalar, per axis, or blocked along it.
struct Quantize {
  std::int64_t axis = 1;
  std::int64_t block_size = 0;
  DType to = DType::u8;
  bool saturate = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("block_size", s.block_size), f("to", s.to), f("saturate", s.saturate);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Quantize&) const = default;
};

// (x, scale, zero_point?) -> the type of scale
struct Dequantize {
  std::int64_t axis = 1;
  std::int64_t block_size = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("block_size", s.block_size);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Dequantize&) const = default;
};

// x -> (u8 y, scale, zero_point)
struct DynamicQuantize {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const DynamicQuantize&) const = default;
};

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

// (a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point)
struct QLinearMatMul {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const QLinearMatMul&) const = default;
};

// How a scale applies to x[outer][axis][inner].
struct Granularity {
  std::int64_t axis = 1;
  std::int64_t block_size = 0;
};

// Indices of the operands of an integer convolution.
struct ConvRoles {
  std::size_t w, x_zero, w_zero;
};
inline constexpr ConvRoles conv_integer_roles = {1, 2, 3};
inline constexpr ConvRoles conv_qlinear_roles = {3, 2, 5};

using QuantisedOps = OpList<Quantize, Dequantize, DynamicQuantize, ConvInteger, MatMulInteger,
                            QLinearConv, QLinearMatMul>;

}  // namespace quern
