// SPDX-License-Identifier: Apache-2.0
// Compress: the slices of x along an axis, or its elements in row-major order, whose condition is
// true.
//
// ONNX: Compress (opsets 9, 11). What lies beyond the end of the condition is left out, and so are
// conditions beyond the end of x.
#include <algorithm>

#include "graph/text_util.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"
#include "kernels/movement.h"

namespace quern {
namespace {

Dim smaller(Dim a, Dim b) {
  if (!a.known() || !b.known()) return a.known() ? a : b;
  return std::min(a.value(), b.value());
}

// At most as many as if every condition were true.
Status infer_with(InferContext& c, DataSize size) {
  QUERN_TRY(c.want_dtype(1, DType::boolean));
  QUERN_TRY(want_rank(c, 1, 1));
  const Dims* x = c.dims(0);
  const auto& op = c.op<Compress>();
  if (!x) {
    c.set(0, c.dtype(0), op.axis ? std::nullopt : std::optional(Dims(1)));
    return {};
  }
  Dims out = op.axis ? *x : Dims{product(*x)};
  std::size_t axis = 0;
  if (op.axis) {
    QUERN_ASSIGN(axis, c.axis(*op.axis, x->size()));
  }
  const Dim conditions = c.dims(1) ? c.dims(1)->front() : Dim();
  out[axis] = size == DataSize::at_most ? smaller(out[axis], conditions) : Dim();
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status infer(InferContext& c) {
  return infer_with(c, DataSize::unknown);
}
Status bound(InferContext& c) {
  return infer_with(c, DataSize::at_most);
}

Status reference(const ReferenceCall& call) {
  const auto& op = call.as<Compress>();
  const TensorView& x = call.inputs[0];
  const Shape& shape = x.type.shape;
  const std::size_t axis = op.axis ? positive_axis(*op.axis, shape.rank()) : 0;
  const AxisSplit s = op.axis ? split_at(shape, axis) : AxisSplit{1, shape.elements(), 1};
  const std::int64_t n = std::min(s.axis, call.inputs[1].type.shape.elements());
  const auto* condition = call.inputs[1].as<std::uint8_t>();
  const std::size_t run = static_cast<std::size_t>(s.inner) * size_of(x.type.dtype);
  std::byte* dst = call.outputs[0].data;
  for (std::int64_t o = 0; o < s.outer; ++o)
    for (std::int64_t i = 0; i < n; ++i) {
      if (!condition[i]) continue;
      std::memcpy(dst, x.data + static_cast<std::size_t>(o * s.axis + i) * run, run);
      dst += run;
    }
  call.outputs[0].type.shape[axis] =
      std::count_if(condition, condition + n, [](std::uint8_t v) { return v != 0; });
  return {};
}

}  // namespace

const OpDef& Compress::def() {
  static constexpr OpDef def{.name = "Compress",
                             .inputs = {2, 2},
                             .traits = OpTrait::data_dependent,
                             .infer = infer,
                             .bound = bound,
                             .reference = reference};
  return def;
}

}  // namespace quern
