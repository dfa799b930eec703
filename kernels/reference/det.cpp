// SPDX-License-Identifier: Apache-2.0
// Det: the determinant of each matrix in the last two dimensions, by elimination with row pivots.
//
// ONNX: Det, opsets 11 and 22. In double, rounded once. The determinant of a 0 x 0 matrix is 1.
#include <cmath>
#include <utility>

#include "graph/numeric.h"
#include "graph/ops/inverse.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

// Destroys the n x n matrix.
double determinant(double* m, std::int64_t n, StopCheck& check) {
  double result = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i)
      if (std::fabs(m[i * n + k]) > std::fabs(m[pivot * n + k])) pivot = i;
    if (m[pivot * n + k] == 0 || check.spend(2 * n)) return 0;
    if (pivot != k) {
      std::swap_ranges(m + k * n, m + (k + 1) * n, m + pivot * n);
      result = -result;
    }
    result *= m[k * n + k];
    for (std::int64_t i = k + 1; i < n; ++i) {
      if (check.spend(n - k)) return 0;
      const double factor = m[i * n + k] / m[k * n + k];
      for (std::int64_t j = k + 1; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return result;
}

Status det_reference(const ReferenceCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const std::int64_t n = shape.back();
  const std::int64_t count = call.outputs[0].type.shape.elements();
  if (count == 0) return {};
  StopCheck check(call.stop);
  auto* matrix = call.scratch.take<double>(static_cast<std::size_t>(n * n));
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    const T* x = call.inputs[0].as<T>();
    T* y = call.outputs[0].as<T>();
    for (std::int64_t i = 0; i < count; ++i) {
      for_each_until(n * n, 1, check,
                     [&](std::int64_t k) { matrix[k] = static_cast<double>(*x++); });
      y[i] = T(determinant(matrix, n, check));
      if (check.is_over()) return;
    }
  });
  return {};
}

std::size_t det_scratch(const Op&, std::span<const TensorType> inputs,
                        std::span<const TensorType> outputs) {
  if (outputs[0].shape.elements() == 0) return 0;
  const auto n = static_cast<std::size_t>(inputs[0].shape.back());
  return Scratch::bytes_for<double>(n * n);
}

Cost det_flops(const Op&, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = static_cast<double>(inputs[0].shape.elements()) *
               static_cast<double>(inputs[0].shape.back()) * 2 / 3;
  return cost;
}

}  // namespace

const OpKernels& Det::kernels() {
  static constexpr OpKernels table{
      .reference = {det_reference, det_scratch}, .flops = det_flops, .gpu = gpu::select_det};
  return table;
}

}  // namespace quern
