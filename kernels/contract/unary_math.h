// SPDX-License-Identifier: Apache-2.0
// Unary functions of one element: the definition that the references use and that every fast path
// is tested against.
#pragma once

#include <cmath>
#include <type_traits>

#include "graph/numeric.h"
#include "graph/ops/unary.h"

namespace quern {

template <class T>
T gelu_erf(T x) {
  return T(0.5) * x * (1 + std::erf(x * T(0.70710678118654752440)));
}
template <class T>
T gelu_tanh(T x) {
  return T(0.5) * x * (1 + std::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
}
template <class T>
T logistic(T x) {
  return 1 / (1 + std::exp(-x));
}
template <class T>
T softplus(T x) {  // log(1 + e^x) without overflow
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

// T: float or double. Comparisons are written so that NaN comes out as NaN.
template <class T>
T apply_float(const Unary& u, T x) {
  const T a = static_cast<T>(u.alpha);
  const T b = static_cast<T>(u.beta);
  switch (u.kind) {
    case UnaryKind::abs: return std::fabs(x);
    case UnaryKind::neg: return -x;
    case UnaryKind::sign: return x > 0 ? T(1) : x < 0 ? T(-1) : x;
    case UnaryKind::ceil: return std::ceil(x);
    case UnaryKind::floor: return std::floor(x);
    case UnaryKind::round: return std::nearbyint(x);
    case UnaryKind::sqrt: return std::sqrt(x);
    case UnaryKind::reciprocal: return 1 / x;
    case UnaryKind::exp: return std::exp(x);
    case UnaryKind::log: return std::log(x);
    case UnaryKind::sin: return std::sin(x);
    case UnaryKind::cos: return std::cos(x);
    case UnaryKind::tan: return std::tan(x);
    case UnaryKind::asin: return std::asin(x);
    case UnaryKind::acos: return std::acos(x);
    case UnaryKind::atan: return std::atan(x);
    case UnaryKind::sinh: return std::sinh(x);
    case UnaryKind::cosh: return std::cosh(x);
    case UnaryKind::tanh: return std::tanh(x);
    case UnaryKind::asinh: return std::asinh(x);
    case UnaryKind::acosh: return std::acosh(x);
    case UnaryKind::atanh: return std::atanh(x);
    case UnaryKind::erf: return std::erf(x);
    case UnaryKind::sigmoid: return logistic(x);
    case UnaryKind::relu: return x < 0 ? T(0) : x;
    case UnaryKind::leaky_relu: return x < 0 ? a * x : x;
    case UnaryKind::elu: return x < 0 ? a * std::expm1(x) : x;
    case UnaryKind::selu: return x < 0 ? b * a * std::expm1(x) : b * x;
    case UnaryKind::celu: return x < 0 ? a * std::expm1(x / a) : x;
    case UnaryKind::hard_sigmoid: {
      const T y = a * x + b;
      return y < 0 ? T(0) : y > 1 ? T(1) : y;
    }
    case UnaryKind::hard_swish: {
      const T y = x / 6 + T(0.5);
      return x * (y < 0 ? T(0) : y > 1 ? T(1) : y);
    }
    case UnaryKind::softplus: return softplus(x);
    case UnaryKind::softsign: return x / (1 + std::fabs(x));
    case UnaryKind::mish: return x * std::tanh(softplus(x));
    case UnaryKind::gelu: return gelu_erf(x);
    case UnaryKind::gelu_tanh: return gelu_tanh(x);
    case UnaryKind::swish: return x * logistic(a * x);
    // These two are 0 for NaN, by their functions in the specification.
    case UnaryKind::thresholded_relu: return x > a ? x : T(0);
    case UnaryKind::shrink: return x < -a ? x + b : x > a ? x - b : T(0);
    case UnaryKind::clip: {  // max first, as the specification has it
      const T y = x < a ? a : x;
      return y > b ? b : y;
    }
    case UnaryKind::affine: return a * x + b;
    case UnaryKind::scaled_tanh: return a * std::tanh(b * x);
    default: return x;  // is_nan, is_inf, logical_not, bitwise_not: not float to float
  }
}

// The functions that are defined for integers; inference rejects the rest.
template <class T>
T apply_integer(const Unary& u, T x) {
  using Unsigned = std::make_unsigned_t<T>;
  switch (u.kind) {
    case UnaryKind::abs: return x < 0 ? static_cast<T>(Unsigned(0) - Unsigned(x)) : x;
    case UnaryKind::neg: return static_cast<T>(Unsigned(0) - Unsigned(x));
    case UnaryKind::sign: return x > 0 ? T(1) : x < 0 ? static_cast<T>(-1) : T(0);
    case UnaryKind::relu: return x < 0 ? T(0) : x;
    case UnaryKind::bitwise_not: return static_cast<T>(~x);
    case UnaryKind::clip: {
      const T low = convert<T>(u.alpha);
      const T high = convert<T>(u.beta);
      const T y = x < low ? low : x;
      return y > high ? high : y;
    }
    case UnaryKind::reciprocal: return x == 0 ? T(0) : static_cast<T>(1 / x);
    case UnaryKind::shrink: {  // computed in double, as NumPy's references do for integers
      const auto v = static_cast<double>(x);
      return convert<T>(v < -u.alpha ? v + u.beta : v > u.alpha ? v - u.beta : 0.0);
    }
    default: return x;
  }
}

}  // namespace quern
