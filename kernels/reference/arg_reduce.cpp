// SPDX-License-Identifier: Apache-2.0
// ArgReduce: where the largest (smallest) element along an axis lies.
//
// ONNX: ArgMax, ArgMin, opsets 1 to 13. Of equals the first or the last; NaN counts as beyond every
// number, so that it is found, as max and min let it through.
#include <cmath>

#include "graph/numeric.h"
#include "graph/ops/reduce.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/cpu/arg_reduce_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

template <class C>
bool beyond(const ArgReduce& op, C a, C b) {
  if constexpr (std::is_floating_point_v<C>)
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return op.is_max ? a > b : a < b;
}

template <class T>
std::int64_t position(const ArgReduce& op, const T* x, std::int64_t n, std::int64_t stride,
                      StopCheck& check) {
  using C = ComputeType<T>;
  std::int64_t best = 0;
  for_each_until(n, 2, check, [&](std::int64_t i) {
    const C v = x[i * stride];
    const C held = x[best * stride];
    const bool better = op.select_last_index ? !beyond(op, held, v) : beyond(op, v, held);
    if (better) best = i;
  });
  return best;
}

Status arg_reduce_reference(const ReferenceCall& call) {
  const auto& op = call.as<ArgReduce>();
  const Shape& shape = call.inputs[0].type.shape;
  if (shape.elements() == 0) return {};
  const AxisSplit s =
      shape.empty() ? AxisSplit{1, 1, 1} : split_at(shape, positive_axis(op.axis, shape.rank()));
  auto* y = call.outputs[0].as<std::int64_t>();
  visit_number(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    const T* x = call.inputs[0].as<T>();
    StopCheck check(call.stop);
    for (std::int64_t o = 0; o < s.outer; ++o)
      for (std::int64_t i = 0; i < s.inner && !check.is_over(); ++i)
        *y++ = position(op, x + o * s.axis * s.inner + i, s.axis, s.inner, check);
  });
  return {};
}

Cost arg_reduce_flops(const Op&, std::span<const TensorType> inputs,
                      std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = static_cast<double>(inputs[0].shape.elements());
  return cost;
}

constexpr CpuImplementation arg_reduce_implementations[] = {{"rows", select_arg_reduce_rows}};

}  // namespace

const OpKernels& ArgReduce::kernels() {
  static constexpr OpKernels table{.reference = {arg_reduce_reference},
                                   .cpu = arg_reduce_implementations,
                                   .flops = arg_reduce_flops,
                                   .gpu = gpu::select_arg_reduce};
  return table;
}

}  // namespace quern
