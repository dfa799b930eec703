// SPDX-License-Identifier: Apache-2.0
// GroupNorm: y = (x - mean) / sqrt(variance + epsilon) * scale + bias on x [N, C, ...], mean and
// variance over each group of neighbouring channels of each sample, scale and bias [C].
//
// ONNX: GroupNormalization, opsets 18 and 21 (18 has scale and bias for each group: imported
// repeated); InstanceNormalization, opsets 1 to 22, where every channel is a group (`groups` = 0).
// In double, rounded once.
#include <cmath>

#include "graph/numeric.h"
#include "graph/operands.h"
#include "graph/ops/layer_norm.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/cpu/group_norm_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

struct Group {
  std::int64_t first;  // channel
  std::int64_t channels;
  std::int64_t inner;  // elements of a channel
};

template <class T>
void normalise_group(const ReferenceCall& call, const T* x, T* y, const Group& group,
                     StopCheck& check) {
  const std::int64_t inner = group.inner;
  const std::int64_t n = group.channels * inner;
  double mean = 0;
  double variance = 0;
  for_each_until(n, 1, check, [&](std::int64_t i) { mean += static_cast<double>(x[i]); });
  mean /= static_cast<double>(n);
  for_each_until(n, 1, check, [&](std::int64_t i) {
    const double d = static_cast<double>(x[i]) - mean;
    variance += d * d;
  });
  variance /= static_cast<double>(n);
  const double factor = 1 / std::sqrt(variance + static_cast<double>(call.as<GroupNorm>().epsilon));
  for (std::int64_t c = 0; c < group.channels && !check.spend(8); ++c) {
    const double scale = float_element(call.inputs[1], group.first + c);
    const double bias = float_element(call.inputs[2], group.first + c);
    for_each_until(inner, 2, check, [&](std::int64_t i) {
      const std::int64_t at = c * inner + i;
      y[at] = T((static_cast<double>(x[at]) - mean) * factor * scale + bias);
    });
  }
}

Status group_norm_reference(const ReferenceCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  if (shape.elements() == 0) return {};
  const std::int64_t inner = shape.elements(2);
  const std::int64_t groups = call.as<GroupNorm>().groups ? call.as<GroupNorm>().groups : shape[1];
  const std::int64_t channels = shape[1] / groups;
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    StopCheck check(call.stop);
    for (std::int64_t g = 0; g < shape[0] * groups && !check.is_over(); ++g) {
      const std::int64_t at = g * channels * inner;
      normalise_group(call, call.inputs[0].as<T>() + at, call.outputs[0].as<T>() + at,
                      Group{g % groups * channels, channels, inner}, check);
    }
  });
  return {};
}

Cost group_norm_flops(const Op&, std::span<const TensorType> inputs,
                      std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 8 * static_cast<double>(inputs[0].shape.elements());
  return cost;
}

constexpr CpuImplementation group_norm_implementations[] = {{"rows", select_group_norm_rows}};

}  // namespace

const OpKernels& GroupNorm::kernels() {
  static constexpr OpKernels table{.reference = {group_norm_reference},
                                   .cpu = group_norm_implementations,
                                   .flops = group_norm_flops,
                                   .gpu = gpu::select_group_norm};
  return table;
}

}  // namespace quern
