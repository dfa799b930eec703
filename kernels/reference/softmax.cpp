// SPDX-License-Identifier: Apache-2.0
// Softmax: y = exp(x - max x) / sum exp(x - max x) along an axis; log_softmax its logarithm;
// hardmax one for the first largest element, zero for the rest.
//
// ONNX: Softmax, LogSoftmax, Hardmax. From opset 13 on along one axis, before over all dimensions
// from the axis on (`flatten`). Sums in float (double for f64). A row that holds NaN, or nothing
// but -inf, is NaN.
#include "graph/ops/softmax.h"

#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/contract/scalar_math.h"
#include "kernels/cpu/softmax_lanes.h"
#include "kernels/cpu/softmax_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// Rows as x[outer][axis][inner].
AxisSplit rows_of(const Softmax& op, const Shape& shape) {
  if (shape.empty()) return {1, 1, 1};
  const std::size_t axis = positive_axis(op.axis, shape.rank());
  if (!op.flatten) return split_at(shape, axis);
  return {shape.elements(0, axis), shape.elements(axis), 1};
}

// ---- reference

template <class T>
void softmax_row(SoftmaxKind kind, const T* x, T* y, std::int64_t n, std::int64_t stride,
                 StopCheck& check) {
  using C = ComputeType<T>;
  C largest = -std::numeric_limits<C>::infinity();
  std::int64_t at = 0;
  for_each_until(n, 2, check, [&](std::int64_t i) {
    const C v = x[i * stride];
    if (ordered_less(largest, v)) at = i;  // NaN is the greatest, as for ArgMax
    largest = nan_max(largest, v);
  });
  if (kind == SoftmaxKind::hardmax) {
    for_each_until(n, 1, check, [&](std::int64_t i) { y[i * stride] = T(C(i == at ? 1 : 0)); });
    return;
  }
  C sum = 0;
  for_each_until(n, 8, check, [&](std::int64_t i) { sum += std::exp(C(x[i * stride]) - largest); });
  const C log_sum = std::log(sum);
  for_each_until(n, 8, check, [&](std::int64_t i) {
    const C shifted = C(x[i * stride]) - largest;
    y[i * stride] = T(kind == SoftmaxKind::softmax ? std::exp(shifted) / sum : shifted - log_sum);
  });
}

Status softmax_reference(const ReferenceCall& call) {
  const auto& op = call.as<Softmax>();
  if (call.outputs[0].type.shape.elements() == 0) return {};
  const AxisSplit s = rows_of(op, call.inputs[0].type.shape);
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    const T* x = call.inputs[0].as<T>();
    T* y = call.outputs[0].as<T>();
    StopCheck check(call.stop);
    for (std::int64_t o = 0; o < s.outer; ++o)
      for (std::int64_t i = 0; i < s.inner && !check.is_over(); ++i) {
        const std::int64_t at = o * s.axis * s.inner + i;
        softmax_row(op.kind, x + at, y + at, s.axis, s.inner, check);
      }
  });
  return {};
}

constexpr CpuImplementation softmax_implementations[] = {{"lanes", select_softmax_lanes},
                                                         {"rows", select_softmax_rows}};

}  // namespace

const OpKernels& Softmax::kernels() {
  static constexpr OpKernels table{
      .reference = {softmax_reference}, .cpu = softmax_implementations, .gpu = gpu::select_softmax};
  return table;
}

}  // namespace quern
