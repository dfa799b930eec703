// SPDX-License-Identifier: Apache-2.0
// LpNorm: x divided by the sum of sizes (p = 1) or the root of the sum of squares (p = 2) along an
// axis, or by epsilon where that is more; 0 where the norm is 0.
//
// ONNX: LpNormalization, opsets 1 and 22. In double, rounded once.
#include "graph/ops/lp_norm.h"

#include <cmath>

#include "graph/numeric.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

template <class T>
void normalise(const LpNorm& op, const T* x, T* y, std::int64_t n, std::int64_t stride,
               StopCheck& check) {
  double norm = 0;
  for_each_until(n, 2, check, [&](std::int64_t i) {
    const auto v = static_cast<double>(x[i * stride]);
    norm += op.p == 1 ? std::fabs(v) : v * v;
  });
  if (op.p == 2) norm = std::sqrt(norm);
  const double least = static_cast<double>(op.epsilon);
  const double divisor = norm < least ? least : norm;  // NaN stays
  for_each_until(n, 2, check, [&](std::int64_t i) {
    y[i * stride] = T(norm == 0 ? 0.0 : static_cast<double>(x[i * stride]) / divisor);
  });
}

Status lp_norm_reference(const ReferenceCall& call) {
  const auto& op = call.as<LpNorm>();
  const Shape& shape = call.inputs[0].type.shape;
  if (shape.elements() == 0) return {};
  const AxisSplit s = split_at(shape, positive_axis(op.axis, shape.rank()));
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    StopCheck check(call.stop);
    for (std::int64_t o = 0; o < s.outer; ++o)
      for (std::int64_t i = 0; i < s.inner && !check.is_over(); ++i) {
        const std::int64_t at = o * s.axis * s.inner + i;
        normalise(op, call.inputs[0].as<T>() + at, call.outputs[0].as<T>() + at, s.axis, s.inner,
                  check);
      }
  });
  return {};
}

Cost lp_norm_flops(const Op&, std::span<const TensorType> inputs,
                   std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 3 * static_cast<double>(inputs[0].shape.elements());
  return cost;
}

}  // namespace

const OpKernels& LpNorm::kernels() {
  static constexpr OpKernels table{
      .reference = {lp_norm_reference}, .flops = lp_norm_flops, .gpu = gpu::select_lp_norm};
  return table;
}

}  // namespace quern
