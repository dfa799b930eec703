// SPDX-License-Identifier: Apache-2.0
// Inverse: the inverse of each matrix in the last two dimensions, by elimination with row pivots
// and back substitution.
//
// com.microsoft: Inverse, version 1. In double, rounded once. A pivot of zero is divided by like
// any other number: a singular matrix gives infinities and NaN and no error, as in ONNX Runtime.
#include "graph/ops/inverse.h"

#include <algorithm>
#include <cmath>

#include "graph/numeric.h"
#include "kernels/contract/kernel.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

// Makes `m` upper triangular and does the same to the rows of `y`. Both are n x n.
void eliminate(double* m, double* y, std::int64_t n, StopCheck& check) {
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i)
      if (std::fabs(m[i * n + k]) > std::fabs(m[pivot * n + k])) pivot = i;
    if (m[pivot * n + k] == 0) continue;  // and so is all below it
    if (pivot != k) {
      std::swap_ranges(m + k * n, m + (k + 1) * n, m + pivot * n);
      std::swap_ranges(y + k * n, y + (k + 1) * n, y + pivot * n);
    }
    for (std::int64_t i = k + 1; i < n; ++i) {
      if (check.spend(2 * n - k)) return;
      const double factor = m[i * n + k] / m[k * n + k];
      for (std::int64_t j = k + 1; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
      for (std::int64_t j = 0; j < n; ++j) y[i * n + j] -= factor * y[k * n + j];
    }
  }
}

// Solves m x = y for the upper triangle of `m`; x takes the place of y.
void substitute(const double* m, double* y, std::int64_t n, StopCheck& check) {
  for (std::int64_t i = n; i-- > 0;) {
    for (std::int64_t k = i + 1; k < n; ++k) {
      if (check.spend(n)) return;
      for (std::int64_t j = 0; j < n; ++j) y[i * n + j] -= m[i * n + k] * y[k * n + j];
    }
    for (std::int64_t j = 0; j < n; ++j) y[i * n + j] /= m[i * n + i];
  }
}

Status inverse_reference(const ReferenceCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  if (shape.elements() == 0) return {};
  const std::int64_t n = shape.back();
  const std::int64_t area = n * n;
  StopCheck check(call.stop);
  auto* matrix = call.scratch.take<double>(static_cast<std::size_t>(area));
  auto* result = call.scratch.take<double>(static_cast<std::size_t>(area));
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    const T* x = call.inputs[0].as<T>();
    T* y = call.outputs[0].as<T>();
    for (std::int64_t i = 0; i < shape.elements(); i += area) {
      for (std::int64_t k = 0; k < area; ++k) {
        matrix[k] = static_cast<double>(x[i + k]);
        result[k] = k % (n + 1) == 0 ? 1 : 0;
      }
      eliminate(matrix, result, n, check);
      substitute(matrix, result, n, check);
      if (check.is_over()) return;
      for (std::int64_t k = 0; k < area; ++k) y[i + k] = T(result[k]);
    }
  });
  return {};
}

std::size_t inverse_scratch(const Op&, std::span<const TensorType> inputs,
                            std::span<const TensorType>) {
  if (inputs[0].shape.elements() == 0) return 0;
  const auto n = static_cast<std::size_t>(inputs[0].shape.back());
  return 2 * Scratch::bytes_for<double>(n * n);
}

Cost inverse_flops(const Op&, std::span<const TensorType> inputs,
                   std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  if (inputs[0].shape.elements() == 0) return cost;
  cost.flops = static_cast<double>(inputs[0].shape.elements()) *
               static_cast<double>(inputs[0].shape.back()) * 8 / 3;
  return cost;
}

}  // namespace

const OpKernels& Inverse::kernels() {
  static constexpr OpKernels table{.reference = {inverse_reference, inverse_scratch},
                                   .flops = inverse_flops,
                                   .gpu = gpu::select_inverse};
  return table;
}

}  // namespace quern
