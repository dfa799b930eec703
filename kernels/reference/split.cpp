// SPDX-License-Identifier: Apache-2.0
// Split: parts of x along an axis, of given sizes or of ceil(d / parts) elements each, where the
// last ones get what is left.
//
// ONNX: Split, opsets 1 to 18 (sizes that were an attribute import as an input; num_outputs is the
// number of outputs).
#include "graph/ops/split.h"

#include <algorithm>

#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"

namespace quern {
namespace {

Status split_reference(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  const std::size_t axis = positive_axis(call.as<Split>().axis, x.type.shape.rank());
  const AxisSplit s = split_at(x.type.shape, axis);
  const std::size_t row = static_cast<std::size_t>(s.inner) * size_of(x.type.dtype);
  const std::byte* src = x.data;
  if (x.type.shape.elements() == 0) return {};
  StopCheck check(call.stop);
  for (std::int64_t o = 0; o < s.outer && !check.spend(4); ++o) {
    for (const MutableTensorView& y : call.outputs) {
      const std::size_t run = static_cast<std::size_t>(y.type.shape[axis]) * row;
      if (y.present()) copy_bytes(src, run, y.data + static_cast<std::size_t>(o) * run, check);
      src += run;
    }
  }
  return {};
}

}  // namespace

const OpKernels& Split::kernels() {
  static constexpr OpKernels table{.reference = {split_reference}};
  return table;
}

}  // namespace quern
