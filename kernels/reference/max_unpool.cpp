// SPDX-License-Identifier: Apache-2.0
// MaxUnpool: puts the elements of (x, indices, output_shape?) back where a max pool took them from;
// everything else is 0.
//
// ONNX MaxUnpool, opsets 9 to 22. The indices count in the tensor that kernel, strides and pads say
// was pooled; a given output_shape is that tensor with rows and columns added or cut off at the
// end. Of elements with one index the last one wins.
#include <cstring>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/pool.h"
#include "graph/ops/windows.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

// The index in a tensor of shape `to` of the element `index` of a tensor of shape `from`; -1 if it
// has none.
std::int64_t offset_in(const Shape& to, const Shape& from, std::int64_t index) {
  std::int64_t offset = 0;
  std::int64_t stride = 1;
  for (std::size_t d = to.rank(); d-- > 0; index /= from[d]) {
    const std::int64_t at = index % from[d];
    if (at >= to[d]) return -1;
    offset += at * stride;
    stride *= to[d];
  }
  return offset;
}

Status max_unpool_reference(const ReferenceCall& call) {
  const MutableTensorView& y = call.outputs[0];
  const TensorView& x = call.inputs[0];
  StopCheck check(call.stop);
  zero_bytes(y.type.bytes(), y.data, check);
  const Shape pooled = unpooled_shape(call.as<MaxUnpool>(), x.type.shape);
  const std::int64_t elements = pooled.checked_elements().value_or(0);
  const std::int64_t* indices = call.inputs[1].as<std::int64_t>();
  const std::size_t size = size_of(x.type.dtype);
  const std::int64_t n = x.type.shape.elements();
  for (std::int64_t i = 0; i < n && !check.spend(16); ++i) {
    const bool inside = indices[i] >= 0 && indices[i] < elements;
    const std::int64_t at = inside ? offset_in(y.type.shape, pooled, indices[i]) : -1;
    if (at < 0)
      return {Code::invalid_argument,
              cat("index ", indices[i], " lies outside of the output ", y.type.shape.text())};
    std::memcpy(y.data + static_cast<std::size_t>(at) * size,
                x.data + static_cast<std::size_t>(i) * size, size);
  }
  return {};
}

}  // namespace

const OpKernels& MaxUnpool::kernels() {
  static constexpr OpKernels table{.reference = {max_unpool_reference},
                                   .gpu = gpu::select_max_unpool};
  return table;
}

}  // namespace quern
