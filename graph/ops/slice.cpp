// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/slice.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

// Beyond every dimension that a tensor can have.
constexpr std::int64_t to_the_end = std::int64_t{1} << 62;

std::int64_t count_of(const SliceRange& cut) {
  const std::int64_t way = cut.step > 0 ? cut.end - cut.start : cut.start - cut.end;
  if (way <= 0) return 0;
  if (cut.step == std::numeric_limits<std::int64_t>::min()) return 1;
  const std::int64_t stride = cut.step > 0 ? cut.step : -cut.step;
  return (way - 1) / stride + 1;
}

Dim sliced(Dim d, const SliceRange& cut) {
  if (d.known()) return count_of(clamped(cut, d.value()));
  const bool all = cut.step == 1 && cut.start == 0 && cut.end >= to_the_end;
  const bool reversed = cut.step == -1 && cut.start == -1 && cut.end <= -to_the_end;
  return all || reversed ? d : Dim();
}

struct Operands {
  ListOperand starts, ends, axes, steps;
};

Result<Operands> operands_of(const InferContext& c) {
  Operands o;
  QUERN_ASSIGN(o.starts, list_operand(c, 1));
  QUERN_ASSIGN(o.ends, list_operand(c, 2));
  QUERN_ASSIGN(o.axes, list_operand(c, 3));
  QUERN_ASSIGN(o.steps, list_operand(c, 4));
  const ListOperand* all[] = {&o.starts, &o.ends, &o.axes, &o.steps};
  std::optional<std::int64_t> length;
  for (const ListOperand* list : all) {
    if (!list->length) continue;
    if (length && *length != *list->length)
      return c.error(cat("starts, ends, axes and steps have different lengths: ", *length, " and ",
                         *list->length));
    length = list->length;
  }
  if (o.steps.values &&
      std::find(o.steps.values->begin(), o.steps.values->end(), 0) != o.steps.values->end())
    return c.error("a step is 0");
  return o;
}

// The axes that the operands speak of; nothing while unknown.
Result<std::optional<std::vector<std::size_t>>> axes_of(const InferContext& c, const Operands& o,
                                                        std::size_t rank) {
  using Axes = std::optional<std::vector<std::size_t>>;
  if (c.has(3)) return axes_operand(c, 3, rank);
  const auto length = o.starts.length ? o.starts.length : o.ends.length;
  if (!length) return Axes();
  if (*length > static_cast<std::int64_t>(rank))
    return c.error(cat(*length, " starts for ", c.describe(0)));
  std::vector<std::size_t> axes(static_cast<std::size_t>(*length));
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return Axes(std::move(axes));
}

Status infer_slice(InferContext& c) {
  QUERN_ASSIGN(const Operands o, operands_of(c));
  if (!c.dims(0)) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  Dims dims = *c.dims(0);
  QUERN_ASSIGN(const auto axes, axes_of(c, o, dims.size()));
  if (!axes) {
    c.set(0, c.dtype(0), Dims(dims.size()));
    return {};
  }
  const bool known = o.starts.values && o.ends.values && (o.steps.values || !c.has(4));
  for (std::size_t i = 0; i < axes->size(); ++i) {
    Dim& d = dims[(*axes)[i]];
    d = !known ? Dim()
               : sliced(d, {(*o.starts.values)[i], (*o.ends.values)[i],
                            o.steps.values ? (*o.steps.values)[i] : 1});
  }
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

}  // namespace

const OpDef& Slice::def() {
  static constexpr OpDef def{.name = "Slice",
                             .inputs = {3, 5},
                             .plan_operands = 0b11110,
                             .infer = infer_slice,
                             .attributes = &op_struct<Slice>};
  return def;
}

}  // namespace quern
