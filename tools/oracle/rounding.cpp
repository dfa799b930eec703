// SPDX-License-Identifier: Apache-2.0
#include "tools/oracle/rounding.h"

#include <array>

#include "graph/numeric.h"
#include "graph/ops/unary.h"

namespace quern::tools {
namespace {

constexpr double largest_f32 = 0x1.fffffep127;
constexpr double pi = 3.14159265358979323846;

double unit_of(DType type) {
  // A little more than 2^-24: it pays for what the oracle itself rounds in f64.
  return type == DType::f64 ? 0x1p-52 : 0x1.004p-24;
}

// ---- accuracy of functions ---------------------------------------------------------------------

// |run - exact| <= unit * (relative * |f(x)| + absolute).
struct Accuracy {
  double relative = 0;
  double absolute = 0;
};

// Twice the units in the last place that tests/kernels/simd_test.cpp holds kernels/simd to (an ulp
// is at most two units), widened to powers of two; libm is within 1 to 3 ulps. Absolute parts:
// where a function is made of another one near that one's zero; oneDNN's erf (1.5e-7, Abramowitz
// and Stegun 7.1.26) and its elu, which takes 1 from e^x.
Accuracy on_cpu(const Unary& op, double x) {
  const double ax = std::fabs(x);
  switch (op.kind) {
    case UnaryKind::abs:
    case UnaryKind::neg:
    case UnaryKind::sign:
    case UnaryKind::ceil:
    case UnaryKind::floor:
    case UnaryKind::round:
    case UnaryKind::relu:
    case UnaryKind::thresholded_relu:
    case UnaryKind::clip: return {};
    case UnaryKind::sqrt:
    case UnaryKind::reciprocal: return {1.5};
    case UnaryKind::leaky_relu:
    case UnaryKind::shrink: return {2};
    case UnaryKind::sin:
    case UnaryKind::cos:
    case UnaryKind::tan:
    case UnaryKind::asin:
    case UnaryKind::acos:
    case UnaryKind::atan: return {4};
    case UnaryKind::erf: return {16, 4};
    case UnaryKind::elu:
    case UnaryKind::celu: return {16, 8 * std::fabs(op.alpha)};
    case UnaryKind::selu: return {16, 8 * std::fabs(op.alpha * op.beta)};
    case UnaryKind::swish: return {16 + 2 * std::fabs(op.alpha) * ax};  // alpha x rounds before exp
    case UnaryKind::scaled_tanh: return {16};
    case UnaryKind::hard_sigmoid:
    case UnaryKind::affine: return {0, 4 * (std::fabs(op.alpha) * ax + std::fabs(op.beta))};
    case UnaryKind::hard_swish: return {0, 4 * ax * (ax / 6 + 0.5)};
    case UnaryKind::softplus: return {8, 8};
    case UnaryKind::mish:
    case UnaryKind::gelu:
    case UnaryKind::gelu_tanh: return {16, 16 * ax};
    default: return {8, 1};  // exp, log, hyperbolic functions, sigmoid, softsign
  }
}

// The table of "Precision and Operation of SPIR-V Instructions": exp within 3 + 2|x| ulps, log 3
// ulps or 2^-21, division 2.5, sqrt that of 1 / inversesqrt, sin and cos 2^-11.
Accuracy on_vulkan(const Unary& op, double x) {
  const Accuracy cpu = on_cpu(op, x);
  const double ax = std::min(std::fabs(x), 128.0);
  switch (op.kind) {
    case UnaryKind::sqrt:
    case UnaryKind::reciprocal: return {10};
    case UnaryKind::sin:
    case UnaryKind::cos:
    case UnaryKind::tan: return {8192, 8192 * std::max(1.0, std::fabs(x))};
    case UnaryKind::asin:
    case UnaryKind::acos:
    case UnaryKind::atan: return {32, 1};  // of our own, by a quotient or a square root
    default: break;
  }
  if (cpu.relative < 8 && cpu.absolute == 0) return cpu;
  if (op.kind == UnaryKind::affine) return cpu;
  return {cpu.relative + 16 + 8 * ax, cpu.absolute + 16 * std::max(1.0, ax)};
}

// ---- where a function turns or jumps -----------------------------------------------------------

// Between them it is monotone.
struct Turns {
  std::array<double, 4> at{};
  std::size_t count = 0;
};

Turns turns(const Unary& op) {
  const double a = op.alpha;
  switch (op.kind) {
    case UnaryKind::abs:
    case UnaryKind::leaky_relu:
    case UnaryKind::elu:
    case UnaryKind::selu:
    case UnaryKind::celu:
    case UnaryKind::cosh: return {{0}, 1};
    case UnaryKind::thresholded_relu: return {{a, std::nextafter(a, infinity)}, 2};
    case UnaryKind::shrink:
      return {{-a, a, std::nextafter(-a, -infinity), std::nextafter(a, infinity)}, 4};
    case UnaryKind::hard_swish: return {{-3, -1.5, 3}, 3};
    case UnaryKind::swish: return {{a == 0 ? 0 : -1.2784645427610738 / a}, 1};
    case UnaryKind::gelu: return {{-0.7517915246935645}, 1};
    case UnaryKind::gelu_tanh: return {{-0.7524614220710162}, 1};
    case UnaryKind::mish: return {{-1.1924312145154886}, 1};
    default: return {};
  }
}

double distance(double y, double other) {
  if (std::isnan(y) && std::isnan(other)) return 0;
  if (y == other) return 0;
  return or_infinite(std::fabs(y - other));
}

bool has_pole_within(const Unary& op, Ball x) {
  switch (op.kind) {
    // The sign of a zero is not guaranteed (graph/passes/algebra.cpp).
    case UnaryKind::reciprocal: return x.low() <= 0 && x.high() >= 0;
    case UnaryKind::tan: return std::floor(x.low() / pi + 0.5) != std::floor(x.high() / pi + 0.5);
    default: return false;
  }
}

// The largest distance of f from f(x.v) on the ball.
double spread(const Unary& op, Ball x, double y) {
  if (std::isinf(x.e) || has_pole_within(op, x)) return infinity;
  if (x.exact()) return 0;
  if (op.kind == UnaryKind::sin || op.kind == UnaryKind::cos) return std::min(x.e, 2.0);
  double worst = std::max(distance(y, apply(op, x.low())), distance(y, apply(op, x.high())));
  const Turns t = turns(op);
  for (std::size_t i = 0; i < t.count; ++i)
    if (t.at[i] > x.low() && t.at[i] < x.high())
      worst = std::max(worst, distance(y, apply(op, t.at[i])));
  return worst;
}

double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

double apply(const Unary& op, double x) {
  const double a = op.alpha;
  const double b = op.beta;
  switch (op.kind) {
    case UnaryKind::abs: return std::fabs(x);
    case UnaryKind::neg: return -x;
    case UnaryKind::sign: return x > 0 ? 1 : x < 0 ? -1 : x;
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
    case UnaryKind::sigmoid: return sigmoid(x);
    case UnaryKind::relu: return x < 0 ? 0 : x;
    case UnaryKind::leaky_relu: return x < 0 ? a * x : x;
    case UnaryKind::elu: return x < 0 ? a * std::expm1(x) : x;
    case UnaryKind::selu: return x < 0 ? b * a * std::expm1(x) : b * x;
    case UnaryKind::celu: return x < 0 ? a * std::expm1(x / a) : x;
    case UnaryKind::hard_sigmoid: return std::isnan(x) ? x : std::clamp(a * x + b, 0.0, 1.0);
    case UnaryKind::hard_swish: return std::isnan(x) ? x : x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case UnaryKind::softplus: return softplus(x);
    case UnaryKind::softsign: return x / (1 + std::fabs(x));
    case UnaryKind::mish: return x * std::tanh(softplus(x));
    case UnaryKind::gelu: return x / 2 * std::erfc(-x * 0.70710678118654752440);
    case UnaryKind::gelu_tanh:
      return x / 2 * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case UnaryKind::swish: return x * sigmoid(a * x);
    case UnaryKind::thresholded_relu: return x > a ? x : 0;
    case UnaryKind::shrink: return x < -a ? x + b : x > a ? x - b : 0;
    case UnaryKind::clip: return std::isnan(x) ? x : std::min(std::max(x, a), b);
    case UnaryKind::affine: return a * x + b;
    case UnaryKind::scaled_tanh: return a * std::tanh(b * x);
    default: return std::numeric_limits<double>::quiet_NaN();  // not from floats to floats
  }
}

Rounding::Rounding(DType type, Arithmetic arithmetic)
    : type_(type),
      arithmetic_(arithmetic),
      unit_(unit_of(type)),
      tiny_(type == DType::f64 ? 0x1p-1022 : 0x1p-126) {}

bool Rounding::represents(double v) const {
  const double size = std::fabs(v);
  if (v != 0 && size < (type_ == DType::f16 ? 0x1p-14 : tiny_)) return false;
  switch (type_) {
    case DType::f16: return static_cast<double>(half_to_float(double_to_half(v))) == v;
    case DType::bf16: return static_cast<double>(bfloat16_to_float(double_to_bfloat16(v))) == v;
    case DType::f32: return static_cast<double>(static_cast<float>(v)) == v;
    default: return false;  // f64 would need more digits than there are to tell
  }
}

double Rounding::stored(Ball b) const {
  const double size = b.size();
  if (!std::isfinite(b.v) && b.exact()) return 0;
  switch (type_) {
    case DType::f16: {
      const double denormal = arithmetic_ == Arithmetic::vulkan ? 0x1p-14 : 0x1p-25;
      return size < 65504 ? 0x1.004p-11 * size + denormal : infinity;
    }
    case DType::bf16: return size < 0x1.fep127 ? 0x1.004p-8 * size + tiny_ : infinity;
    case DType::f32: return size < largest_f32 ? 0 : infinity;
    default: return 0;
  }
}

Ball Rounding::div(Ball a, Ball b) const {
  const double y = a.v / b.v;
  const double least = std::fabs(b.v) - b.e;
  // A denormal may be flushed to zero, and the sign of a zero is not guaranteed.
  if (!(least > (arithmetic_ == Arithmetic::vulkan ? tiny_ : 0)))
    return {y, std::isnan(y) && a.exact() && b.exact() ? 0 : infinity};
  if (arithmetic_ == Arithmetic::cpu && is_exact(a, b, y) && y * b.v == a.v) return {y, 0};
  const double e = a.e == 0 && b.e == 0 ? 0 : (a.e + std::fabs(y) * b.e) / least;
  return rounded(y, e, arithmetic_ == Arithmetic::vulkan ? 5 : 1);
}

Ball Rounding::square_root(Ball a) const {
  return unary({.kind = UnaryKind::sqrt}, a);
}

Ball Rounding::power(Ball a, Ball b) const {
  const double y = std::pow(a.v, b.v);
  const bool whole = b.exact() && b.v == std::nearbyint(b.v);
  if (std::isinf(a.e) || std::isinf(b.e)) return {y, infinity};
  // Below 0 only whole exponents give numbers; pow(-inf, 0.5) is infinity, sqrt(-inf) NaN.
  const bool crosses = a.low() <= 0 && a.high() >= 0;
  if (!whole && a.low() < 0 && !(a.high() < 0 && std::isfinite(a.v))) return {y, infinity};
  if (!whole && a.high() < 0 && !b.exact()) return {y, infinity};
  if (crosses && (b.low() < 0 || (b.low() <= 0 && !b.exact()))) return {y, infinity};
  double worst = 0;
  for (double x : {a.low(), a.high(), crosses ? 0.0 : a.v})
    for (double p : {b.low(), b.high()}) worst = std::max(worst, distance(y, std::pow(x, p)));
  // Computed as e^(b log a): the exponent's rounding counts |b log a| times.
  const double exponent = std::fabs(b.v * std::log(std::max(std::fabs(a.v), 1e-300)));
  const double roundings =
      arithmetic_ == Arithmetic::vulkan ? 24 + 16 * std::min(exponent, 128.0) : 4;
  return std::isfinite(y) ? rounded(y, worst, roundings) : Ball{y, worst};
}

Ball Rounding::unary(const Unary& op, Ball x) const {
  const double y = apply(op, x.v);
  if (arithmetic_ == Arithmetic::vulkan && std::fabs(x.v) < tiny_ && x.v != 0) x.e += tiny_;
  const double reach = spread(op, x, y);
  if (!std::isfinite(y) || std::isinf(reach)) return {y, reach};
  const Accuracy c = arithmetic_ == Arithmetic::vulkan ? on_vulkan(op, x.v) : on_cpu(op, x.v);
  if (c.relative == 0 && c.absolute == 0) return {y, reach};
  double own = unit_ * (c.relative * (std::fabs(y) + reach) + c.absolute) + 64 * tiny_;
  // Swish multiplies x by a sigmoid, which is flushed to zero where it is denormal.
  if (op.kind == UnaryKind::swish && sigmoid(op.alpha * x.v) < 2 * tiny_) own += std::fabs(y);
  return {y, reach + own};
}

}  // namespace quern::tools
