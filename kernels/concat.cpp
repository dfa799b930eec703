// SPDX-License-Identifier: Apache-2.0
// Concat: the inputs one behind the other along an axis.
//
// ONNX: Concat, opsets 1 to 13 (axis is 1 when left out below opset 4).
#include "graph/text_util.h"
#include "kernels/concat_copy.h"
#include "kernels/gpu/kernels.h"
#include "kernels/kernel.h"
#include "kernels/movement.h"

namespace quern {
namespace {

// The first input whose rank is known; all others must have it.
Result<const Dims*> first_known(const InferContext& c) {
  const Dims* known = nullptr;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has(i)) return c.error(cat("input ", i, " is left out"));
    QUERN_TRY(c.want_same_dtype(0, i));
    if (!c.dims(i)) continue;
    if (!known) known = c.dims(i);
    if (c.dims(i)->size() != known->size())
      return c.error(cat(c.describe(i), " has not the rank of the others, ", known->size()));
  }
  return known;
}

Status infer(InferContext& c) {
  QUERN_ASSIGN(const Dims* known, first_known(c));
  if (!known) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<Concat>().axis, known->size()));
  Dims out = *known;
  Dim total = 0;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (!c.dims(i)) {
      total = Dim();
      continue;
    }
    Dims dims = *c.dims(i);
    total = total + dims[axis];
    dims[axis] = out[axis];
    const auto both = meet(out, dims);
    if (!both)
      return c.error(cat(c.describe(i), " differs from the other inputs in more than axis ", axis));
    out = *both;
  }
  out[axis] = total;
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status reference(const ReferenceCall& call) {
  const MutableTensorView& y = call.outputs[0];
  const std::size_t axis = positive_axis(call.as<Concat>().axis, y.type.shape.rank());
  const AxisSplit s = split_at(y.type.shape, axis);
  std::byte* dst = y.data;
  for (std::int64_t o = 0; o < s.outer; ++o) {
    for (const TensorView& x : call.inputs) {
      const auto run =
          static_cast<std::size_t>(x.type.shape[axis] * s.inner) * size_of(x.type.dtype);
      std::memcpy(dst, x.data + static_cast<std::size_t>(o) * run, run);
      dst += run;
    }
  }
  return {};
}

constexpr CpuImplementation implementations[] = {{"copy", select_concat_copy}};
constexpr OpKernels kernels{.cpu = implementations, .gpu = gpu::select_concat};

}  // namespace

const OpDef& Concat::def() {
  static constexpr OpDef def{.name = "Concat",
                             .inputs = {1, any_number},
                             .infer = infer,
                             .reference = reference,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
