// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/split.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

// Sizes of the parts when none are given.
Dims equal_parts(Dim d, std::size_t parts) {
  const auto n = static_cast<std::int64_t>(parts);
  if (n == 1) return {d};
  Dims sizes(parts);
  if (!d.known()) return sizes;
  const std::int64_t size = ceil_div(d, n).value();
  std::int64_t left = d.value();
  for (Dim& part : sizes) {
    part = std::min(size, left);
    left -= part.value();
  }
  return sizes;
}

Result<Dims> given_parts(const InferContext& c, const Ints& sizes, Dim d) {
  Dims parts;
  Dim total = 0;
  for (std::int64_t v : sizes) {
    if (v < 0) return c.error(cat("a part of ", v, " elements"));
    parts.push_back(v);
    total = total + Dim(v);
  }
  if (d.known() && d != total)
    return c.error(cat("the parts have ", total.value(), " elements, the axis has ", d.value()));
  return parts;
}

Status infer_split(InferContext& c) {
  const std::size_t parts = c.output_count();
  QUERN_ASSIGN(const ListOperand sizes, list_operand(c, 1));
  if (sizes.length && *sizes.length != static_cast<std::int64_t>(parts))
    return c.error(cat(*sizes.length, " sizes for ", parts, " outputs"));
  if (!c.dims(0)) {
    for (std::size_t i = 0; i < parts; ++i) c.set(i, c.dtype(0), std::nullopt);
    return {};
  }
  Dims dims = *c.dims(0);
  QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<Split>().axis, dims.size()));
  Dims lengths(parts);
  if (!c.has(1)) {
    lengths = equal_parts(dims[axis], parts);
  } else if (sizes.values) {
    QUERN_ASSIGN(lengths, given_parts(c, *sizes.values, dims[axis]));
  }
  for (std::size_t i = 0; i < parts; ++i) {
    dims[axis] = lengths[i];
    c.set(i, c.dtype(0), dims);
  }
  return {};
}

}  // namespace

const OpDef& Split::def() {
  static constexpr OpDef def{.name = "Split",
                             .inputs = {1, 2},
                             .outputs = {1, any_number},
                             .plan_operands = 1u << 1,
                             .infer = infer_split,
                             .attributes = &op_struct<Split>};
  return def;
}

}  // namespace quern
