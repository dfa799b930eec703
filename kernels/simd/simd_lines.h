// SPDX-License-Identifier: Apache-2.0
// Functions of one and of two numbers over n contiguous f32 elements, as parts of other kernels:
// those of Simd (simd.h) by their names. Any may work in place.
#pragma once

#include <cstdint>

#include "kernels/simd/simd.h"

namespace quern::lines {

void add(SimdOperand a, SimdOperand b, float* y, std::int64_t n);
void subtract(SimdOperand a, SimdOperand b, float* y, std::int64_t n);
void multiply(SimdOperand a, SimdOperand b, float* y, std::int64_t n);
void divide(SimdOperand a, SimdOperand b, float* y, std::int64_t n);
// NaN propagates.
void larger(SimdOperand a, SimdOperand b, float* y, std::int64_t n);
void smaller(SimdOperand a, SimdOperand b, float* y, std::int64_t n);
void absolute(const float* x, float* y, std::int64_t n);
void exponential(const float* x, float* y, std::int64_t n);
void logarithm(const float* x, float* y, std::int64_t n);
void hyperbolic_tangent(const float* x, float* y, std::int64_t n);
void logistic(const float* x, float* y, std::int64_t n);
// y = factor * x + offset
void affine(double factor, double offset, const float* x, float* y, std::int64_t n);

}  // namespace quern::lines
