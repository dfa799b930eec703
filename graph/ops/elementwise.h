// SPDX-License-Identifier: Apache-2.0
// Operators that work element by element: unary and binary functions, Where, casts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <quern/dtype.h>

#include "graph/op.h"

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
// alpha and beta as ONNX names them: leaky_relu slope; elu, celu, thresholded_relu, swish alpha;
// selu alpha, gamma; hard_sigmoid slope, offset; shrink lambd, bias; clip low, high; affine alpha *
// x
// + beta and scaled_tanh alpha * tanh(beta * x), activations of the recurrent ops; is_inf: alpha
// != 0 detects -inf, beta != 0 detects +inf. round is half to even.
struct Unary {
  UnaryKind kind = UnaryKind::relu;
  double alpha = 0;
  double beta = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("alpha", s.alpha), f("beta", s.beta);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Unary&) const = default;
};

enum class BinaryKind : std::uint8_t {
  // clang-format off
  add, sub, mul, div, pow, mod, fmod, min, max, prelu, logical_and, logical_or, logical_xor,
  bitwise_and, bitwise_or, bitwise_xor, shift_left, shift_right, equal, less, less_equal, greater,
  greater_equal,
  // clang-format on
};
std::span<const std::string_view> enum_names(BinaryKind);
constexpr bool is_comparison(BinaryKind k) {
  return k >= BinaryKind::equal;
}
constexpr bool is_logical(BinaryKind k) {
  return k == BinaryKind::logical_and || k == BinaryKind::logical_or ||
         k == BinaryKind::logical_xor;
}
// numpy broadcasting. prelu(x, slope); comparisons give bool; mod takes the divisor's sign, fmod
// the dividend's. x / 0 and x mod 0 of integers are 0, INT_MIN / -1 wraps (facts: the peers
// disagree or crash). min and max propagate NaN.
struct Binary {
  BinaryKind kind = BinaryKind::add;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Binary&) const = default;
};

// where(condition, x, y), all three broadcast.
struct Where {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Where&) const = default;
};

// ONNX Cast, CastLike. Float to integer truncates and saturates, NaN gives 0.
struct Cast {
  DType to = DType::f32;
  bool saturate = true;  // for the 8-bit floats

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("to", s.to), f("saturate", s.saturate);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Cast&) const = default;
};

// Reinterprets the bits; both types have the same size.
struct BitCast {
  DType to = DType::f32;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("to", s.to);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const BitCast&) const = default;
};

using ElementwiseOps = OpList<Unary, Binary, Where, Cast, BitCast>;

}  // namespace quern
