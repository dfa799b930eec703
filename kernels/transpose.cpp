// SPDX-License-Identifier: Apache-2.0
// Transpose: dimension i of y is dimension perm[i] of x; without perm the order is reversed.
//
// ONNX: Transpose, opsets 1 to 25.
#include "graph/text_util.h"
#include "kernels/kernel.h"
#include "kernels/movement.h"

namespace quern {
namespace {

Status check_perm(const InferContext& c, const Ints& perm) {
  std::vector<bool> seen(perm.size(), false);
  for (std::int64_t p : perm) {
    const bool inside = p >= 0 && p < static_cast<std::int64_t>(perm.size());
    if (!inside || seen[static_cast<std::size_t>(p)])
      return c.error(cat("perm ", list_text(perm), " is no permutation"));
    seen[static_cast<std::size_t>(p)] = true;
  }
  return {};
}

std::size_t source_of(const Transpose& op, std::size_t i, std::size_t rank) {
  return op.perm.empty() ? rank - 1 - i : static_cast<std::size_t>(op.perm[i]);
}

Status infer(InferContext& c) {
  const auto& op = c.op<Transpose>();
  QUERN_TRY(check_result_rank(c, op.perm.size()));
  QUERN_TRY(check_perm(c, op.perm));
  const Dims* x = c.dims(0);
  if (!x) {
    std::optional<Dims> dims;
    if (!op.perm.empty()) dims = Dims(op.perm.size());
    c.set(0, c.dtype(0), std::move(dims));
    return {};
  }
  if (!op.perm.empty() && op.perm.size() != x->size())
    return c.error(cat("perm ", list_text(op.perm), " does not suit ", c.describe(0)));
  Dims out;
  for (std::size_t i = 0; i < x->size(); ++i) out.push_back((*x)[source_of(op, i, x->size())]);
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status reference(const ReferenceCall& call) {
  const auto& op = call.as<Transpose>();
  const TensorView& x = call.inputs[0];
  const Shape& shape = call.outputs[0].type.shape;
  const Shape from = row_major_strides(x.type.shape);
  Shape strides = shape;
  for (std::size_t i = 0; i < shape.rank(); ++i) strides[i] = from[source_of(op, i, shape.rank())];
  copy_strided(size_of(x.type.dtype), shape, strides, x.data, call.outputs[0].data);
  return {};
}

}  // namespace

const OpDef& Transpose::def() {
  static constexpr OpDef def{.name = "Transpose", .infer = infer, .reference = reference};
  return def;
}

}  // namespace quern
