// SPDX-License-Identifier: Apache-2.0
// LayerNorm: y = (x - mean) / sqrt(variance + epsilon) * scale + bias, mean and variance over the
// dimensions from `axis` on; without `center` the mean counts as 0 (RMS normalisation). scale and
// bias broadcast to x. The second and third output are the mean and 1 / sqrt(variance + epsilon),
// in f32, with 1 for each dimension that they cover.
//
// ONNX: LayerNormalization, opset 17; RMSNormalization, opset 23; com.microsoft's skip-less forms.
// In double, rounded once.
#include "graph/ops/layer_norm.h"

#include <cmath>
#include <limits>

#include "graph/numeric.h"
#include "graph/operands.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/cpu/layer_norm_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

struct Moments {
  double mean = 0;
  double inverse_deviation = 0;
};

template <class T>
Moments moments(const LayerNorm& op, const T* x, std::int64_t n, StopCheck& check) {
  double mean = 0;
  double variance = 0;
  if (op.center) {
    for_each_until(n, 1, check, [&](std::int64_t i) { mean += static_cast<double>(x[i]); });
    mean /= static_cast<double>(n);
  }
  for_each_until(n, 1, check, [&](std::int64_t i) {
    const double d = static_cast<double>(x[i]) - mean;
    variance += d * d;
  });
  variance /= static_cast<double>(n);
  return {mean, 1 / std::sqrt(variance + static_cast<double>(op.epsilon))};
}

void set_moments(const ReferenceCall& call, std::int64_t row, const Moments& m) {
  if (call.wants(1)) call.outputs[1].as<float>()[row] = static_cast<float>(m.mean);
  if (call.wants(2)) call.outputs[2].as<float>()[row] = static_cast<float>(m.inverse_deviation);
}

Shape parameter_strides(const ReferenceCall& call, std::size_t i) {
  const Shape& x = call.inputs[0].type.shape;
  return call.has(i) ? broadcast_strides(call.inputs[i].type.shape, x) : Shape::filled(x.rank(), 0);
}

template <class T>
void normalise(const ReferenceCall& call, std::int64_t n, StopCheck& check) {
  const T* x = call.inputs[0].as<T>();
  T* y = call.outputs[0].as<T>();
  Moments m;
  std::int64_t i = 0;
  for_each_offset(call.inputs[0].type.shape,
                  std::array{parameter_strides(call, 1), parameter_strides(call, 2)}, 8, check,
                  [&](const auto& at) {
                    if (i % n == 0) {
                      m = moments(call.as<LayerNorm>(), x + i, n, check);
                      set_moments(call, i / n, m);
                    }
                    double v = (static_cast<double>(x[i]) - m.mean) * m.inverse_deviation;
                    if (call.has(1)) v *= float_element(call.inputs[1], at[0]);
                    if (call.has(2)) v += float_element(call.inputs[2], at[1]);
                    if (call.wants(0)) y[i] = T(v);
                    ++i;
                  });
}

Status layer_norm_reference(const ReferenceCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const std::size_t axis = positive_axis(call.as<LayerNorm>().axis, shape.rank());
  const std::int64_t n = shape.elements(axis);
  StopCheck check(call.stop);
  if (n == 0 && (call.wants(1) || call.wants(2))) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for_each_until(shape.elements(0, axis), 4, check, [&](std::int64_t row) {
      set_moments(call, row, {nan, nan});
    });
  }
  visit_float(call.inputs[0].type.dtype,
              [&]<class T>(TypeTag<T>) { normalise<T>(call, n, check); });
  return {};
}

Cost layer_norm_flops(const Op&, std::span<const TensorType> inputs,
                      std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 8 * static_cast<double>(inputs[0].shape.elements());
  return cost;
}

constexpr CpuImplementation layer_norm_implementations[] = {{"rows", select_layer_norm_rows}};

}  // namespace

const OpKernels& LayerNorm::kernels() {
  static constexpr OpKernels table{.reference = {layer_norm_reference},
                                   .cpu = layer_norm_implementations,
                                   .flops = layer_norm_flops,
                                   .gpu = gpu::select_layer_norm};
  return table;
}

}  // namespace quern
