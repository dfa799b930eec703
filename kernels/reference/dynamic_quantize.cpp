// SPDX-License-Identifier: Apache-2.0
// DynamicQuantize: y = saturate(round(x / scale) + zero) in u8, with the scale that spreads the
// range of x, 0 included, over 0 to 255, and the zero point that 0 falls on.
//
// ONNX: DynamicQuantizeLinear, opset 11. In float, step by step as the specification has it:
// another order of roundings would move the scale. A tensor of zeros, or of nothing, has scale 1
// and zero point 0, as in ONNX Runtime (the specification divides 0 by 0).
#include <algorithm>

#include "graph/ops/quantize.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/quantized.h"
#include "kernels/contract/scalar_math.h"
#include "kernels/cpu/quantize_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

Status dynamic_quantize_reference(const ReferenceCall& call) {
  const std::span<const float> x = call.inputs[0].span<float>();
  float low = 0;
  float high = 0;
  StopCheck check(call.stop);
  const auto n = static_cast<std::int64_t>(x.size());
  for_each_until(n, 2, check, [&](std::int64_t i) {
    low = nan_min(low, x.data()[i]);
    high = nan_max(high, x.data()[i]);
  });
  const DynamicSteps steps = dynamic_steps(low, high);
  const float scale = steps.scale;
  const std::uint8_t zero = steps.zero;
  if (call.wants(0)) {
    auto* y = call.outputs[0].as<std::uint8_t>();
    for_each_until(n, 4, check, [&](std::int64_t i) {
      y[i] =
          saturated<std::uint8_t>(static_cast<double>(std::nearbyint(x.data()[i] / scale)) + zero);
    });
  }
  if (call.wants(1)) *call.outputs[1].as<float>() = scale;
  if (call.wants(2)) *call.outputs[2].as<std::uint8_t>() = zero;
  return {};
}

constexpr CpuImplementation dynamic_quantize_implementations[] = {
    {"rows", select_dynamic_quantize_rows}};

}  // namespace

const OpKernels& DynamicQuantize::kernels() {
  static constexpr OpKernels table{.reference = {dynamic_quantize_reference},
                                   .cpu = dynamic_quantize_implementations,
                                   .gpu = gpu::select_dynamic_quantize};
  return table;
}

}  // namespace quern
