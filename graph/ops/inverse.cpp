// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/inverse.h"

#include <cstddef>
#include <optional>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/einsum_equation.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

// Refuses an operand that is known to hold anything but square matrices of floats.
Status want_square_matrices(const InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  const Dims* x = c.dims(0);
  if (!x) return {};
  const std::size_t rank = x->size();
  const bool square = rank >= 2 && (!(*x)[rank - 1].known() || !(*x)[rank - 2].known() ||
                                    (*x)[rank - 1] == (*x)[rank - 2]);
  return square ? Status() : c.error(cat(c.describe(0), " must hold square matrices"));
}

Status infer_det(InferContext& c) {
  QUERN_TRY(want_square_matrices(c));
  const Dims* x = c.dims(0);
  c.set(0, c.dtype(0), x ? std::optional(Dims(x->begin(), x->end() - 2)) : std::nullopt);
  return {};
}

Status infer_inverse(InferContext& c) {
  QUERN_TRY(want_square_matrices(c));
  return infer_like_input(c);
}

}  // namespace

const OpDef& Det::def() {
  static constexpr OpDef def{.name = "Det",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .infer = infer_det,
                             .attributes = &op_struct<Det>,
                             .onnx = {"Det", 11}};
  return def;
}

const OpDef& Inverse::def() {
  static constexpr OpDef def{.name = "Inverse",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .infer = infer_inverse,
                             .attributes = &op_struct<Inverse>,
                             .onnx = {"Inverse", 1, "com.microsoft"}};
  return def;
}

}  // namespace quern
