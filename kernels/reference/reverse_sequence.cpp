// SPDX-License-Identifier: Apache-2.0
// ReverseSequence: of each sequence of a batch the first lengths[b] elements in reverse order, the
// rest as they are.
//
// ONNX: ReverseSequence (opset 10): batch and time are the first two dimensions, in either order. A
// length outside of [0, time] is an error of the run.
#include "engine/vocabulary/text_util.h"
#include "graph/ops/rearrange.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

Status reverse_sequence_reference(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  const bool batch_first = call.as<ReverseSequence>().batch_axis == 0;
  const Shape& shape = x.type.shape;
  const std::int64_t batches = shape[batch_first ? 0 : 1];
  const std::int64_t times = shape[batch_first ? 1 : 0];
  const std::size_t run = static_cast<std::size_t>(shape.elements(2)) * size_of(x.type.dtype);
  const auto place = [&](std::int64_t b, std::int64_t t) {
    return static_cast<std::size_t>(batch_first ? b * times + t : t * batches + b) * run;
  };
  StopCheck check(call.stop);
  for (std::int64_t b = 0; b < batches && !check.spend(4); ++b) {
    const std::int64_t length = index_at(call.inputs[1], b);
    if (length < 0 || length > times)
      return {Code::invalid_argument,
              cat("sequence ", b, " has length ", length, ", the time axis has ", times)};
    for (std::int64_t t = 0; run > 0 && t < times && !check.is_over(); ++t)
      copy_bytes(x.data + place(b, t < length ? length - 1 - t : t), run,
                 call.outputs[0].data + place(b, t), check);
  }
  return {};
}

}  // namespace

const OpKernels& ReverseSequence::kernels() {
  static constexpr OpKernels table{.reference = {reverse_sequence_reference},
                                   .gpu = gpu::select_reverse_sequence};
  return table;
}

}  // namespace quern
