// SPDX-License-Identifier: Apache-2.0
// Conv: y[n, m, o] = bias[m] + sum over c, k of x[n, c, o * stride - pad + k * dilation] * w[m, c,
// k], over the channels c of m's group; elements outside of x are 0.
//
// ONNX Conv, opsets 1 to 22: one to six spatial dimensions, groups, dilations, asymmetric pads,
// auto_pad. Sums in double, rounded once.
#include "graph/ops/conv.h"

#include "graph/numeric.h"
#include "graph/ops/windows.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/window.h"
#include "kernels/cpu/conv_depthwise.h"
#include "kernels/cpu/conv_own.h"
#include "kernels/cpu/conv_rows.h"
#include "kernels/cpu/conv_winograd.h"
#include "kernels/cpu/widened.h"
#include "kernels/gpu/kernels.h"
#include "kernels/onednn/select.h"

namespace quern {
namespace {

// ---- reference

// x and w of T, bias and y of Y.
template <class T, class Y = T>
void convolve(const ReferenceCall& call) {
  const Shape& xs = call.inputs[0].type.shape;
  const Shape& ys = call.outputs[0].type.shape;
  const Shape in = spatial_of(xs);
  const Shape kernel = spatial_of(call.inputs[1].type.shape);
  const ResolvedWindow window = resolve_window(call.as<Conv>().window, in, kernel);
  const std::int64_t channels = call.inputs[1].type.shape[1];
  const std::int64_t group_size = ys[1] / call.as<Conv>().group;
  const Y* bias = call.has(2) ? call.inputs[2].as<Y>() : nullptr;
  Y* y = call.outputs[0].as<Y>();
  StopCheck check(call.stop);
  for (std::int64_t n = 0; n < ys[0]; ++n)
    for (std::int64_t m = 0; m < ys[1] && !check.spend(8); ++m) {
      const T* x = call.inputs[0].as<T>() + (n * xs[1] + m / group_size * channels) * in.elements();
      const T* w = call.inputs[1].as<T>() + m * channels * kernel.elements();
      for_each_index(spatial_of(ys), 8, check, [&](const Shape& at) {
        Sum<T> sum = bias ? static_cast<Sum<T>>(bias[m]) : 0;
        for (std::int64_t c = 0; c < channels && !check.spend(4); ++c)
          for_each_tap(window, in, at, check, [&](std::int64_t e, std::int64_t t) {
            sum += static_cast<Sum<T>>(x[c * in.elements() + e]) *
                   static_cast<Sum<T>>(w[c * kernel.elements() + t]);
          });
        *y++ = Y(sum);
      });
    }
}

Status conv_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  const bool f32_result = call.as<Conv>().f32_result;
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    f32_result ? convolve<T, float>(call) : convolve<T>(call);
  });
  return {};
}

Cost conv_flops(const Op&, std::span<const TensorType> inputs,
                std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 2.0 * static_cast<double>(outputs[0].shape.elements()) *
               static_cast<double>(inputs[1].shape.elements(1));
  return cost;
}

constexpr CpuImplementation conv_implementations[] = {
    {"winograd", select_conv_by_winograd},
#ifdef QUERN_ONEDNN
    {"depthwise", select_own_depthwise},
    {"rows", select_own_conv},
    {"onednn", select_conv_onednn},
#endif
    {"depthwise", select_conv_depthwise},
    {"rows", select_conv_rows},
    {"widened", select_widened},
    {"winograd", select_conv_winograd, true},
#ifdef QUERN_ONEDNN
    {"onednn-direct", select_conv_onednn_direct, true},
    {"onednn-winograd", select_conv_onednn_winograd, true},
    {"onednn-apart", select_conv_onednn_apart, true},
#endif
};

}  // namespace

const OpKernels& Conv::kernels() {
  static constexpr OpKernels table{.reference = {conv_reference},
                                   .cpu = conv_implementations,
                                   .flops = conv_flops,
                                   .gpu = gpu::select_conv};
  return table;
}

}  // namespace quern
