// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/simd_lines.h"

#include "graph/ops/binary_kind.h"
#include "graph/ops/unary.h"

namespace quern::lines {

void add(SimdOperand a, SimdOperand b, float* y, std::int64_t n) {
  simd().binary(BinaryKind::add, a, b, y, n);
}
void subtract(SimdOperand a, SimdOperand b, float* y, std::int64_t n) {
  simd().binary(BinaryKind::sub, a, b, y, n);
}
void multiply(SimdOperand a, SimdOperand b, float* y, std::int64_t n) {
  simd().binary(BinaryKind::mul, a, b, y, n);
}
void divide(SimdOperand a, SimdOperand b, float* y, std::int64_t n) {
  simd().binary(BinaryKind::div, a, b, y, n);
}
void larger(SimdOperand a, SimdOperand b, float* y, std::int64_t n) {
  simd().binary(BinaryKind::max, a, b, y, n);
}
void smaller(SimdOperand a, SimdOperand b, float* y, std::int64_t n) {
  simd().binary(BinaryKind::min, a, b, y, n);
}
void absolute(const float* x, float* y, std::int64_t n) {
  simd().unary(Unary{UnaryKind::abs}, x, y, n);
}
void exponential(const float* x, float* y, std::int64_t n) {
  simd().unary(Unary{UnaryKind::exp}, x, y, n);
}
void logarithm(const float* x, float* y, std::int64_t n) {
  simd().unary(Unary{UnaryKind::log}, x, y, n);
}
void hyperbolic_tangent(const float* x, float* y, std::int64_t n) {
  simd().unary(Unary{UnaryKind::tanh}, x, y, n);
}
void logistic(const float* x, float* y, std::int64_t n) {
  simd().unary(Unary{UnaryKind::sigmoid}, x, y, n);
}
void affine(double factor, double offset, const float* x, float* y, std::int64_t n) {
  simd().unary(Unary{UnaryKind::affine, factor, offset}, x, y, n);
}

}  // namespace quern::lines
