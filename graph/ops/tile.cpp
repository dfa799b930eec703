// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/tile.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

// The entries of a list as dimensions; while they are unknown, as many unknown ones.
Result<std::optional<Dims>> counts_operand(const InferContext& c) {
  QUERN_ASSIGN(const ListOperand list, shape_operand(c, 1));
  if (!list.length) return std::optional<Dims>();
  if (!list.values) return std::optional<Dims>(Dims(static_cast<std::size_t>(*list.length)));
  Dims out;
  for (std::int64_t v : *list.values) {
    if (v < 0) return c.error(cat(list_text(*list.values), " has a negative entry"));
    out.push_back(v);
  }
  return std::optional<Dims>(std::move(out));
}

Status infer_expand(InferContext& c) {
  QUERN_ASSIGN(const std::optional<Dims> shape, counts_operand(c));
  std::optional<Dims> out;
  if (shape && c.dims(0)) {
    out = broadcast(*c.dims(0), *shape);
    if (!out) return c.error(cat(c.describe(0), " does not broadcast to ", list_text(*c.ints(1))));
  }
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status infer_tile(InferContext& c) {
  QUERN_ASSIGN(const std::optional<Dims> repeats, counts_operand(c));
  if (!c.dims(0)) {
    c.set(0, c.dtype(0), repeats ? std::optional(Dims(repeats->size())) : std::nullopt);
    return {};
  }
  Dims dims = *c.dims(0);
  if (repeats && repeats->size() != dims.size())
    return c.error(cat(repeats->size(), " repeats for ", c.describe(0)));
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = repeats ? dims[i] * (*repeats)[i] : Dim();
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

}  // namespace

const OpDef& Expand::def() {
  static constexpr OpDef def{.name = "Expand",
                             .inputs = {2, 2},
                             .plan_operands = 1u << 1,
                             .infer = infer_expand,
                             .attributes = &op_struct<Expand>,
                             .onnx = {"Expand", 8}};
  return def;
}

const OpDef& Tile::def() {
  static constexpr OpDef def{.name = "Tile",
                             .inputs = {2, 2},
                             .plan_operands = 1u << 1,
                             .infer = infer_tile,
                             .attributes = &op_struct<Tile>};
  return def;
}

}  // namespace quern
