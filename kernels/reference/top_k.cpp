// SPDX-License-Identifier: Apache-2.0
// TopK: the k largest (smallest) elements along an axis, best first, and their indices.
//
// ONNX: TopK (opsets 1 to 24; k that was an attribute imports as an input). Of equal elements the
// one with the lower index comes first; NaN counts as the greatest. The result is sorted even where
// `sorted` does not ask for it.
#include <numeric>

#include "graph/ops/data_dependent.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/contract/sorting.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

template <class T>
void top_k_row(const TopK& op, const T* x, const AxisSplit& s, std::int64_t* order, std::int64_t k,
               StopCheck& check) {
  for_each_until(s.axis, 1, check, [&](std::int64_t i) { order[i] = i; });
  const auto less = [&](std::int64_t a, std::int64_t b) {
    const T& va = x[a * s.inner];
    const T& vb = x[b * s.inner];
    if (ordered_less(va, vb)) return !op.largest;
    if (ordered_less(vb, va)) return op.largest;
    return a < b;
  };
  partial_sort_until(order, k, s.axis, less, check);
}

Status top_k_reference(const ReferenceCall& call) {
  const auto& op = call.as<TopK>();
  const Shape& shape = call.inputs[0].type.shape;
  const std::size_t axis = positive_axis(op.axis, shape.rank());
  const AxisSplit s = split_at(shape, axis);
  const std::int64_t k = call.outputs[0].type.shape[axis];
  auto* order = call.scratch.take<std::int64_t>(static_cast<std::size_t>(s.axis));
  if (call.inputs[0].type.shape.elements() == 0) return {};
  StopCheck check(call.stop);
  visit_dtype(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (is_number_type<T>) {
      for (std::int64_t o = 0; o < s.outer; ++o)
        for (std::int64_t i = 0; i < s.inner; ++i) {
          const T* x = call.inputs[0].as<T>() + o * s.axis * s.inner + i;
          top_k_row(op, x, s, order, k, check);
          if (check.is_over()) return;
          for_each_until(k, 4, check, [&](std::int64_t r) {
            const std::int64_t at = (o * k + r) * s.inner + i;
            if (call.wants(0)) call.outputs[0].as<T>()[at] = x[order[r] * s.inner];
            if (call.wants(1)) call.outputs[1].as<std::int64_t>()[at] = order[r];
          });
        }
    }
  });
  return {};
}

std::size_t top_k_scratch(const Op& op, std::span<const TensorType> inputs,
                          std::span<const TensorType>) {
  const Shape& shape = inputs[0].shape;
  const std::size_t axis = positive_axis(op.as<TopK>()->axis, shape.rank());
  return Scratch::bytes_for<std::int64_t>(static_cast<std::size_t>(shape[axis]));
}

}  // namespace

const OpKernels& TopK::kernels() {
  static constexpr OpKernels table{.reference = {top_k_reference, top_k_scratch},
                                   .gpu = gpu::select_top_k};
  return table;
}

}  // namespace quern
