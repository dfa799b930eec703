// SPDX-License-Identifier: Apache-2.0
// SquaredDistance: y[i, j] = sum over k of (a[i, k] - b[j, k])^2.
//
// ONNX: the RBF kernel of ai.onnx.ml SVMClassifier and SVMRegressor, com.microsoft CDist. The
// differences themselves are squared: |a|^2 + |b|^2 - 2 a b would lose the digits of near rows.
#include "graph/ops/features.h"
#include "kernels/contract/kernel.h"
#include "kernels/cpu/distance_rows.h"

namespace quern {
namespace {

template <class T>
void distances(const ReferenceCall& call) {
  const Shape& a = call.inputs[0].type.shape;
  const std::int64_t rows = call.inputs[1].type.shape[0];
  const T* x = call.inputs[0].as<T>();
  const T* w = call.inputs[1].as<T>();
  T* y = call.outputs[0].as<T>();
  StopCheck check(call.stop);
  for (std::int64_t i = 0; i < a[0]; ++i)
    for (std::int64_t j = 0; j < rows; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < a[1] && !check.spend(2); ++k) {
        const double d =
            static_cast<double>(x[i * a[1] + k]) - static_cast<double>(w[j * a[1] + k]);
        sum += d * d;
      }
      if (check.spend(4)) return;
      y[i * rows + j] = static_cast<T>(sum);
    }
}

Status distance_reference(const ReferenceCall& call) {
  if (call.inputs[0].type.dtype == DType::f64)
    distances<double>(call);
  else
    distances<float>(call);
  return {};
}

Cost distance_cost(const Op&, std::span<const TensorType> inputs,
                   std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 3.0 * static_cast<double>(outputs[0].shape.elements()) *
               static_cast<double>(inputs[0].shape[1]);
  return cost;
}

constexpr CpuImplementation distance_implementations[] = {{"rows", select_distance_rows}};

}  // namespace

const OpKernels& SquaredDistance::kernels() {
  static constexpr OpKernels table{
      .reference = {distance_reference}, .cpu = distance_implementations, .flops = distance_cost};
  return table;
}

}  // namespace quern
