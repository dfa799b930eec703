// SPDX-License-Identifier: Apache-2.0
// OneHot: a new dimension of `depth` elements for each index, `on` at the index and `off`
// elsewhere; an index outside of [-depth, depth) gives `off` everywhere.
//
// ONNX: OneHot (opsets 9, 11). Indices and depth may be floats: they truncate to i64.
#include "graph/ops/one_hot.h"

#include "graph/ops/infer.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

Status one_hot_reference(const ReferenceCall& call) {
  const TensorView& indices = call.inputs[0];
  const MutableTensorView& y = call.outputs[0];
  const std::size_t size = size_of(y.type.dtype);
  const AxisSplit s =
      split_at(y.type.shape, new_axis(call.as<OneHot>(), indices.type.shape.rank()));
  StopCheck check(call.stop);
  fill(size, call.inputs[2].data, y.type.shape.elements(), y.data, check);
  for (std::int64_t o = 0; o < s.outer; ++o)
    for (std::int64_t i = 0; i < s.inner && !check.spend(8); ++i) {
      const std::int64_t at =
          wrapped_index(number_at(indices.type.dtype, indices.data, o * s.inner + i), s.axis);
      if (at < 0) continue;
      const std::int64_t place = (o * s.axis + at) * s.inner + i;
      std::memcpy(y.data + static_cast<std::size_t>(place) * size, call.inputs[2].data + size,
                  size);
    }
  return {};
}

}  // namespace

const OpKernels& OneHot::kernels() {
  static constexpr OpKernels table{.reference = {one_hot_reference}, .gpu = gpu::select_one_hot};
  return table;
}

}  // namespace quern
