// SPDX-License-Identifier: Apache-2.0
// OneHot: a new dimension of `depth` elements for each index, `on` at the index and `off`
// elsewhere; an index outside of [-depth, depth) gives `off` everywhere.
//
// ONNX: OneHot (opsets 9, 11). Indices and depth may be floats: they truncate to i64.
#include "graph/numeric.h"
#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/kernel.h"
#include "kernels/movement.h"

namespace quern {
namespace {

// Element i as i64, whatever number it is.
std::int64_t number_at(DType dtype, const std::byte* data, std::int64_t i) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> std::int64_t {
    if constexpr (is_number_type<T>) {
      T v;
      std::memcpy(&v, data + static_cast<std::size_t>(i) * sizeof v, sizeof v);
      return convert<std::int64_t>(static_cast<ComputeType<T>>(v));
    }
    return 0;
  });
}

// The axis of the result at which the new dimension stands.
std::size_t new_axis(const OneHot& op, std::size_t rank) {
  return positive_axis(op.axis, rank + 1);
}

Status infer(InferContext& c) {
  const auto& op = c.op<OneHot>();
  for (std::size_t i : {std::size_t{0}, std::size_t{1}})
    if (!is_number(c.dtype(i))) return c.error(cat(c.describe(i), " must be a number"));
  QUERN_TRY(want_single(c, 1));
  QUERN_TRY(want_rank(c, 2, 1));
  if (c.dims(2) && c.dims(2)->front().known() && !c.dims(2)->front().is(2))
    return c.error(cat(c.describe(2), " must be the two values off and on"));
  Dim depth;
  if (const Tensor* t = c.value(1); t && t->shape().elements() == 1) {
    depth = number_at(t->dtype(), t->data(), 0);
    if (!depth.known()) return c.error("depth is negative");
  }
  std::optional<Dims> out;
  if (const Dims* indices = c.dims(0)) {
    QUERN_TRY(c.axis(op.axis, indices->size() + 1).status());
    out = *indices;
    out->insert(out->begin() + static_cast<std::ptrdiff_t>(new_axis(op, indices->size())), depth);
  }
  c.set(0, c.dtype(2), std::move(out));
  return {};
}

Status reference(const ReferenceCall& call) {
  const TensorView& indices = call.inputs[0];
  const MutableTensorView& y = call.outputs[0];
  const std::size_t size = size_of(y.type.dtype);
  const AxisSplit s =
      split_at(y.type.shape, new_axis(call.as<OneHot>(), indices.type.shape.rank()));
  fill(size, call.inputs[2].data, y.type.shape.elements(), y.data);
  for (std::int64_t o = 0; o < s.outer; ++o)
    for (std::int64_t i = 0; i < s.inner; ++i) {
      const std::int64_t at =
          wrapped_index(number_at(indices.type.dtype, indices.data, o * s.inner + i), s.axis);
      if (at < 0) continue;
      const std::int64_t place = (o * s.axis + at) * s.inner + i;
      std::memcpy(y.data + static_cast<std::size_t>(place) * size, call.inputs[2].data + size,
                  size);
    }
  return {};
}

constexpr OpKernels kernels{.gpu = gpu::select_one_hot};

}  // namespace

const OpDef& OneHot::def() {
  static constexpr OpDef def{.name = "OneHot",
                             .inputs = {3, 3},
                             .plan_operands = 1u << 1,
                             .infer = infer,
                             .reference = reference,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
