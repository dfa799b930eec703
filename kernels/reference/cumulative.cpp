// SPDX-License-Identifier: Apache-2.0
// Cumulative: sums or products of the elements so far along an axis, each with or without its own
// element (`exclusive`), from the end with `reverse`.
//
// ONNX: CumSum, opsets 11 and 14; CumProd, opset 26. Floats add up in double, each result rounded
// once; integers wrap.
#include "graph/ops/cumulative.h"

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/operands.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

template <class T>
void accumulate(const Cumulative& op, const T* x, T* y, std::int64_t n, std::int64_t stride,
                StopCheck& check) {
  const bool is_sum = op.kind == CumulativeKind::sum;
  Sum<T> total = is_sum ? 0 : 1;
  for_each_until(n, 4, check, [&](std::int64_t i) {
    const std::int64_t at = (op.reverse ? n - 1 - i : i) * stride;
    const auto v = static_cast<Sum<T>>(x[at]);
    if (op.exclusive) y[at] = static_cast<T>(total);
    total = is_sum ? total + v : total * v;
    if (!op.exclusive) y[at] = static_cast<T>(total);
  });
}

Status cumulative_reference(const ReferenceCall& call) {
  const auto& op = call.as<Cumulative>();
  const Shape& shape = call.inputs[0].type.shape;
  if (shape.elements() == 0) return {};
  const std::int64_t given = int_element(call.inputs[1], 0);
  const std::size_t rank = std::max<std::size_t>(shape.rank(), 1);
  const std::size_t axis = positive_axis(given, rank);
  if (axis >= rank)
    return {Code::invalid_argument, cat("axis ", given, " is outside of rank ", shape.rank())};
  const AxisSplit s = shape.empty() ? AxisSplit{1, 1, 1} : split_at(shape, axis);
  visit_number(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    StopCheck check(call.stop);
    for (std::int64_t o = 0; o < s.outer; ++o)
      for (std::int64_t i = 0; i < s.inner && !check.is_over(); ++i) {
        const std::int64_t at = o * s.axis * s.inner + i;
        accumulate(op, call.inputs[0].as<T>() + at, call.outputs[0].as<T>() + at, s.axis, s.inner,
                   check);
      }
  });
  return {};
}

}  // namespace

const OpKernels& Cumulative::kernels() {
  static constexpr OpKernels table{.reference = {cumulative_reference},
                                   .gpu = gpu::select_cumulative};
  return table;
}

}  // namespace quern
