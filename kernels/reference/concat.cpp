// SPDX-License-Identifier: Apache-2.0
// Concat: joins the inputs along an axis.
//
// ONNX: Concat, opsets 1 to 13 (axis is 1 when left out below opset 4).
#include "graph/ops/concat.h"

#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/cpu/concat_copy.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

Status concat_reference(const ReferenceCall& call) {
  const MutableTensorView& y = call.outputs[0];
  const std::size_t axis = positive_axis(call.as<Concat>().axis, y.type.shape.rank());
  const AxisSplit s = split_at(y.type.shape, axis);
  std::byte* dst = y.data;
  if (y.type.shape.elements() == 0) return {};
  StopCheck check(call.stop);
  for (std::int64_t o = 0; o < s.outer && !check.spend(4); ++o) {
    for (const TensorView& x : call.inputs) {
      const auto run =
          static_cast<std::size_t>(x.type.shape[axis] * s.inner) * size_of(x.type.dtype);
      copy_bytes(x.data + static_cast<std::size_t>(o) * run, run, dst, check);
      dst += run;
    }
  }
  return {};
}

constexpr CpuImplementation concat_implementations[] = {{"copy", select_concat_copy}};

}  // namespace

const OpKernels& Concat::kernels() {
  static constexpr OpKernels table{
      .reference = {concat_reference}, .cpu = concat_implementations, .gpu = gpu::select_concat};
  return table;
}

}  // namespace quern
