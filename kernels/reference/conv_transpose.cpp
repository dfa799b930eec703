// SPDX-License-Identifier: Apache-2.0
// ConvTranspose: the adjoint of Conv. Each x[n, c, i] adds x * w[c, m, k] to
// y[n, m, i * stride - pad + k * dilation], for the output channels m of c's group; y begins with
// bias.
//
// ONNX ConvTranspose, opsets 1 to 22. A given output_shape, or SAME (output = input * stride),
// decides the pads: their sum is what the full output has too much, and with SAME_UPPER the odd one
// lies at the end, else at the beginning. What it has too little is bias alone, at the end.
// Sums in double, rounded once.
#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/ops/conv.h"
#include "graph/ops/windows.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/window.h"
#include "kernels/cpu/conv_transpose_direct.h"
#include "kernels/cpu/conv_transpose_rows.h"
#include "kernels/gpu/kernels.h"
#include "kernels/onednn/select.h"
namespace quern {
namespace {

// ---- reference

// One channel of the output, gathered in `sums`.
template <class T>
void transposed_channel(const ReferenceCall& call, const ResolvedWindow& window, std::int64_t n,
                        std::int64_t m, double* sums, StopCheck& check) {
  const Shape& xs = call.inputs[0].type.shape;
  const Shape& ws = call.inputs[1].type.shape;
  const Shape in = spatial_of(xs);
  const Shape out = spatial_of(call.outputs[0].type.shape);
  const std::int64_t channels = xs[1] / call.as<ConvTranspose>().group;
  const std::int64_t first = m / ws[1] * channels;
  for (std::int64_t c = first; c < first + channels && !check.is_over(); ++c) {
    const T* x = call.inputs[0].as<T>() + (n * xs[1] + c) * in.elements();
    const T* w = call.inputs[1].as<T>() + (c * ws[1] + m % ws[1]) * ws.elements(2);
    for_each_index(in, 8, check, [&](const Shape& at) {
      const auto v = static_cast<double>(*x++);
      for_each_tap(window, out, at, check, [&](std::int64_t e, std::int64_t t) {
        sums[e] += v * static_cast<double>(w[t]);
      });
    });
  }
}

template <class T>
void convolve_transposed(const ReferenceCall& call) {
  const Shape& ys = call.outputs[0].type.shape;
  const ResolvedWindow window =
      resolve_transposed_window(call.as<ConvTranspose>(), spatial_of(call.inputs[0].type.shape),
                                spatial_of(call.inputs[1].type.shape));
  const std::int64_t size = ys.elements(2);
  auto* sums = call.scratch.take<double>(static_cast<std::size_t>(size));
  const T* bias = call.has(2) ? call.inputs[2].as<T>() : nullptr;
  T* y = call.outputs[0].as<T>();
  StopCheck check(call.stop);
  for (std::int64_t n = 0; n < ys[0] && !check.is_over(); ++n)
    for (std::int64_t m = 0; m < ys[1] && !check.is_over(); ++m) {
      const double start = bias ? static_cast<double>(bias[m]) : 0;
      for_each_until(size, 1, check, [&](std::int64_t i) { sums[i] = start; });
      transposed_channel<T>(call, window, n, m, sums, check);
      for_each_until(size, 2, check, [&](std::int64_t i) { *y++ = T(sums[i]); });
    }
}

std::size_t conv_transpose_scratch(const Op&, std::span<const TensorType>,
                                   std::span<const TensorType> outputs) {
  return Scratch::bytes_for<double>(static_cast<std::size_t>(outputs[0].shape.elements(2)));
}

Status conv_transpose_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  visit_float(call.inputs[0].type.dtype,
              [&]<class T>(TypeTag<T>) { convolve_transposed<T>(call); });
  return {};
}

Cost conv_transpose_flops(const Op&, std::span<const TensorType> inputs,
                          std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 2.0 * static_cast<double>(inputs[0].shape.elements()) *
               static_cast<double>(inputs[1].shape.elements(1));
  return cost;
}

constexpr CpuImplementation conv_transpose_implementations[] = {
    {"rows", select_conv_transpose_rows},
    {"direct", select_conv_transpose_direct},
#ifdef QUERN_ONEDNN
    {"onednn", select_conv_transpose_onednn},
#endif
};

}  // namespace

const OpKernels& ConvTranspose::kernels() {
  static constexpr OpKernels table{.reference = {conv_transpose_reference, conv_transpose_scratch},
                                   .cpu = conv_transpose_implementations,
                                   .flops = conv_transpose_flops,
                                   .gpu = gpu::select_conv_transpose};
  return table;
}

}  // namespace quern
