// SPDX-License-Identifier: Apache-2.0
// TopK: the k largest (smallest) elements along an axis, best first, and their indices.
//
// ONNX: TopK (opsets 1 to 24; k that was an attribute imports as an input). Of equal elements the
// one with the lower index comes first; NaN counts as the greatest. The result is sorted even where
// `sorted` does not ask for it.
#include <algorithm>
#include <numeric>

#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/kernel.h"
#include "kernels/movement.h"

namespace quern {
namespace {

Status infer(InferContext& c) {
  const bool ok = visit_dtype(c.dtype(0), []<class T>(TypeTag<T>) { return is_number_type<T>; });
  if (!ok) return c.error(cat(c.describe(0), " must be of numbers"));
  QUERN_TRY(want_single(c, 1));
  QUERN_ASSIGN(const ListOperand list, list_operand(c, 1));
  std::optional<Dims> dims;
  if (c.dims(0)) {
    dims = *c.dims(0);
    QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<TopK>().axis, dims->size()));
    Dim& d = (*dims)[axis];
    Dim k;
    if (list.values && list.values->size() == 1) {
      const std::int64_t v = list.values->front();
      if (v < 0 || (d.known() && v > d.value()))
        return c.error(
            cat("k is ", v, ", axis ", axis, " of ", c.describe(0), " does not have it"));
      k = v;
    }
    d = k;
  }
  if (c.output_count() > 1) c.set(1, DType::i64, dims);
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

template <class T>
void top_k_row(const TopK& op, const T* x, const AxisSplit& s, std::int64_t* order,
               std::int64_t k) {
  std::iota(order, order + s.axis, std::int64_t{0});
  std::partial_sort(order, order + k, order + s.axis, [&](std::int64_t a, std::int64_t b) {
    const T& va = x[a * s.inner];
    const T& vb = x[b * s.inner];
    if (ordered_less(va, vb)) return !op.largest;
    if (ordered_less(vb, va)) return op.largest;
    return a < b;
  });
}

Status reference(const ReferenceCall& call) {
  const auto& op = call.as<TopK>();
  const Shape& shape = call.inputs[0].type.shape;
  const std::size_t axis = positive_axis(op.axis, shape.rank());
  const AxisSplit s = split_at(shape, axis);
  const std::int64_t k = call.outputs[0].type.shape[axis];
  auto* order = call.scratch.take<std::int64_t>(static_cast<std::size_t>(s.axis));
  visit_dtype(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (is_number_type<T>) {
      for (std::int64_t o = 0; o < s.outer; ++o)
        for (std::int64_t i = 0; i < s.inner; ++i) {
          const T* x = call.inputs[0].as<T>() + o * s.axis * s.inner + i;
          top_k_row(op, x, s, order, k);
          for (std::int64_t r = 0; r < k; ++r) {
            const std::int64_t at = (o * k + r) * s.inner + i;
            if (call.wants(0)) call.outputs[0].as<T>()[at] = x[order[r] * s.inner];
            if (call.wants(1)) call.outputs[1].as<std::int64_t>()[at] = order[r];
          }
        }
    }
  });
  return {};
}

std::size_t scratch(const Op& op, std::span<const TensorType> inputs, std::span<const TensorType>) {
  const Shape& shape = inputs[0].shape;
  const std::size_t axis = positive_axis(std::get_if<TopK>(&op)->axis, shape.rank());
  return Scratch::bytes_for<std::int64_t>(static_cast<std::size_t>(shape[axis]));
}

constexpr OpKernels kernels{.gpu = gpu::select_top_k};

}  // namespace

const OpDef& TopK::def() {
  static constexpr OpDef def{.name = "TopK",
                             .inputs = {2, 2},
                             .outputs = {1, 2},
                             .plan_operands = 1u << 1,
                             .infer = infer,
                             .reference = reference,
                             .scratch = scratch,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
