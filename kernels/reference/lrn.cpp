// SPDX-License-Identifier: Apache-2.0
// Lrn: y = x / (bias + alpha / size * s)^beta, s the sum of squares over the `size` channels around
// each one, (size - 1) / 2 of them before it (rounded down) and the rest behind.
//
// ONNX: LRN, opsets 1 and 13. In double, rounded once.
#include <cmath>

#include "graph/numeric.h"
#include "graph/ops/lp_norm.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/cpu/lrn_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

template <class T>
void normalise(const Lrn& op, const T* x, T* y, std::int64_t channels, std::int64_t inner,
               StopCheck& check) {
  const std::int64_t before = (op.size - 1) / 2;
  const std::int64_t behind = op.size - 1 - before;
  const double alpha = static_cast<double>(op.alpha) / static_cast<double>(op.size);
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t first = c > before ? c - before : 0;
    const std::int64_t last = channels - 1 - c > behind ? c + behind : channels - 1;
    for (std::int64_t i = 0; i < inner && !check.spend(32); ++i) {
      double sum = 0;
      for_each_until(last - first + 1, 2, check, [&](std::int64_t k) {
        const auto v = static_cast<double>(x[(first + k) * inner + i]);
        sum += v * v;
      });
      const auto v = static_cast<double>(x[c * inner + i]);
      y[c * inner + i] = T(v / std::pow(op.bias + alpha * sum, static_cast<double>(op.beta)));
    }
  }
}

Status lrn_reference(const ReferenceCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  if (shape.elements() == 0) return {};
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    const std::int64_t step = shape.elements(1);
    StopCheck check(call.stop);
    for (std::int64_t n = 0; n < shape[0] && !check.is_over(); ++n)
      normalise(call.as<Lrn>(), call.inputs[0].as<T>() + n * step,
                call.outputs[0].as<T>() + n * step, shape[1], shape.elements(2), check);
  });
  return {};
}

Cost lrn_flops(const Op& op, std::span<const TensorType> inputs,
               std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  const auto window = std::min(op.as<Lrn>()->size, inputs[0].shape[1]);
  cost.flops =
      static_cast<double>(inputs[0].shape.elements()) * (2 * static_cast<double>(window) + 3);
  return cost;
}

constexpr CpuImplementation lrn_implementations[] = {{"rows", select_lrn_rows}};

}  // namespace

const OpKernels& Lrn::kernels() {
  static constexpr OpKernels table{.reference = {lrn_reference},
                                   .cpu = lrn_implementations,
                                   .flops = lrn_flops,
                                   .gpu = gpu::select_lrn};
  return table;
}

}  // namespace quern
