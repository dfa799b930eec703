// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/one_hot.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

Status infer_one_hot(InferContext& c) {
  const auto& op = c.op<OneHot>();
  for (std::size_t i : {std::size_t{0}, std::size_t{1}})
    if (!is_number(c.dtype(i))) return c.error(cat(c.describe(i), " must be a number"));
  QUERN_TRY(want_single(c, 1));
  QUERN_TRY(want_rank(c, 2, 1));
  if (c.dims(2) && c.dims(2)->front().known() && !c.dims(2)->front().is(2))
    return c.error(cat(c.describe(2), " must be the two values off and on"));
  Dim depth;
  if (const Tensor* t = c.value(1); t && t->shape().elements() == 1) {
    depth = number_at(t->dtype(), t->data(), 0);
    if (!depth.known()) return c.error("depth is negative");
  }
  std::optional<Dims> out;
  if (const Dims* indices = c.dims(0)) {
    QUERN_TRY(c.axis(op.axis, indices->size() + 1).status());
    out = *indices;
    out->insert(out->begin() + static_cast<std::ptrdiff_t>(new_axis(op, indices->size())), depth);
  }
  c.set(0, c.dtype(2), std::move(out));
  return {};
}

}  // namespace

std::size_t new_axis(const OneHot& op, std::size_t rank) {
  return positive_axis(op.axis, rank + 1);
}

const OpDef& OneHot::def() {
  static constexpr OpDef def{.name = "OneHot",
                             .inputs = {3, 3},
                             .plan_operands = 1u << 1,
                             .infer = infer_one_hot,
                             .attributes = &op_struct<OneHot>};
  return def;
}

}  // namespace quern
