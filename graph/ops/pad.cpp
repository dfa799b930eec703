// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/pad.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

constexpr EnumNames<4> pad_names = {"constant", "reflect", "edge", "wrap"};

struct Pads {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// A dimension that nobody knows keeps its size only if nothing is done to it: in the other cases
// even a crop that cancels a pad might take more than there is.
Result<Dim> padded(const InferContext& c, std::size_t axis, Pads p) {
  const Dim d = (*c.dims(0))[axis];
  if (p.begin == 0 && p.end == 0) return d;
  if (!d.known()) return Dim();
  std::int64_t left = d.value() + std::min<std::int64_t>(p.begin, 0);
  if (__builtin_add_overflow(left, std::min<std::int64_t>(p.end, 0), &left) || left < 0)
    return c.error(cat("pads ", p.begin, " and ", p.end, " crop more than dimension ", axis, " of ",
                       c.describe(0), " has"));
  const bool extends = p.begin > 0 || p.end > 0;
  if (left == 0 && extends && c.op<Pad>().mode != PadMode::constant)
    return c.error(cat("mode ", enum_name(c.op<Pad>().mode),
                       " has nothing to take from in dimension ", axis, " of ", c.describe(0)));
  return Dim(left) + Dim(std::max<std::int64_t>(p.begin, 0)) +
         Dim(std::max<std::int64_t>(p.end, 0));
}

// Pads of each dimension of x.
Result<std::optional<std::vector<Pads>>> pads_of(const InferContext& c, const ListOperand& list,
                                                 std::size_t rank) {
  using All = std::optional<std::vector<Pads>>;
  QUERN_ASSIGN(const auto axes, axes_operand(c, 3, rank));
  if (c.has(3) && !axes) return All();
  const std::size_t n = axes ? axes->size() : rank;
  if (list.length && *list.length != 2 * static_cast<std::int64_t>(n))
    return c.error(cat(*list.length, " pads, wants two for each of ", n, " axes"));
  if (!list.values) return All();
  std::vector<Pads> pads(rank);
  for (std::size_t i = 0; i < n; ++i)
    pads[axes ? (*axes)[i] : i] = {(*list.values)[i], (*list.values)[n + i]};
  return All(std::move(pads));
}

Status infer_pad(InferContext& c) {
  QUERN_ASSIGN(const ListOperand list, list_operand(c, 1));
  QUERN_TRY(list_operand(c, 3).status());
  QUERN_TRY(c.want_same_dtype(0, 2));
  QUERN_TRY(want_single(c, 2));
  if (!c.dims(0)) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  Dims dims(c.dims(0)->size());
  QUERN_ASSIGN(const auto pads, pads_of(c, list, dims.size()));
  for (std::size_t i = 0; pads && i < dims.size(); ++i) {
    QUERN_ASSIGN(dims[i], padded(c, i, (*pads)[i]));
  }
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

}  // namespace

std::span<const std::string_view> enum_names(PadMode) {
  return pad_names;
}

const OpDef& Pad::def() {
  static constexpr OpDef def{.name = "Pad",
                             .inputs = {2, 4},
                             .plan_operands = 0b1010,
                             .infer = infer_pad,
                             .attributes = &op_struct<Pad>};
  return def;
}

}  // namespace quern
