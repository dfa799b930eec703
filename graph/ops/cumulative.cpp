// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/cumulative.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

constexpr EnumNames<2> cumulative_names = {"sum", "prod"};

Status infer_cumulative(InferContext& c) {
  if (!is_number(c.dtype(0))) return c.error(cat(c.describe(0), " must be of numbers"));
  QUERN_ASSIGN(const auto axis, int_operand(c, 1));
  if (axis && c.dims(0))
    QUERN_TRY(c.axis(*axis, std::max<std::size_t>(c.dims(0)->size(), 1)).status());
  return infer_like_input(c);
}

}  // namespace

std::span<const std::string_view> enum_names(CumulativeKind) {
  return cumulative_names;
}

const OpDef& Cumulative::def() {
  static constexpr OpDef def{.name = "Cumulative",
                             .inputs = {2, 2},
                             .outputs = {1, 1},
                             .plan_operands = 1u << 1,
                             .infer = infer_cumulative,
                             .attributes = &op_struct<Cumulative>};
  return def;
}

}  // namespace quern
