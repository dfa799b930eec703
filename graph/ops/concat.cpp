// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/concat.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"

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

Status infer_concat(InferContext& c) {
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

}  // namespace

const OpDef& Concat::def() {
  static constexpr OpDef def{.name = "Concat",
                             .inputs = {1, any_number},
                             .infer = infer_concat,
                             .attributes = &op_struct<Concat>};
  return def;
}

}  // namespace quern
