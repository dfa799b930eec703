// SPDX-License-Identifier: Apache-2.0
// ReverseSequence: of each sequence of a batch the first lengths[b] elements in reverse order, the
// rest as they are.
//
// ONNX: ReverseSequence (opset 10): batch and time are the first two dimensions, in either order. A
// length outside of [0, time] is an error of the run.
#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"
#include "kernels/movement.h"

namespace quern {
namespace {

Status infer(InferContext& c) {
  const auto& op = c.op<ReverseSequence>();
  const bool batch_first = op.batch_axis == 0 && op.time_axis == 1;
  if (!batch_first && !(op.batch_axis == 1 && op.time_axis == 0))
    return c.error(cat("batch_axis ", op.batch_axis, " and time_axis ", op.time_axis,
                       ", wants 0 and 1 in either order"));
  QUERN_TRY(want_index_dtype(c, 1));
  QUERN_TRY(want_rank(c, 1, 1));
  if (c.dims(0) && c.dims(0)->size() < 2)
    return c.error(cat(c.describe(0), " must have rank 2 or more"));
  if (c.dims(0) && c.dims(1)) {
    const Dim batch = (*c.dims(0))[batch_first ? 0 : 1];
    if (!meet({batch}, *c.dims(1)))
      return c.error(
          cat(c.describe(1), " must hold a length for each of ", batch.value(), " sequences"));
  }
  return infer_like_input(c);
}

Status reference(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  const bool batch_first = call.as<ReverseSequence>().batch_axis == 0;
  const Shape& shape = x.type.shape;
  const std::int64_t batches = shape[batch_first ? 0 : 1];
  const std::int64_t times = shape[batch_first ? 1 : 0];
  const std::size_t run = static_cast<std::size_t>(shape.elements(2)) * size_of(x.type.dtype);
  const auto place = [&](std::int64_t b, std::int64_t t) {
    return static_cast<std::size_t>(batch_first ? b * times + t : t * batches + b) * run;
  };
  for (std::int64_t b = 0; b < batches; ++b) {
    const std::int64_t length = index_at(call.inputs[1], b);
    if (length < 0 || length > times)
      return {Code::invalid_argument,
              cat("sequence ", b, " has length ", length, ", the time axis has ", times)};
    for (std::int64_t t = 0; t < times; ++t)
      std::memcpy(call.outputs[0].data + place(b, t),
                  x.data + place(b, t < length ? length - 1 - t : t), run);
  }
  return {};
}

constexpr OpKernels kernels{.gpu = gpu::select_reverse_sequence};

}  // namespace

const OpDef& ReverseSequence::def() {
  static constexpr OpDef def{.name = "ReverseSequence",
                             .inputs = {2, 2},
                             .infer = infer,
                             .reference = reference,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
