// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/reduce.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

constexpr EnumNames<10> reduce_names = {"sum", "mean", "max",     "min",         "prod",
                                        "l1",  "l2",   "log_sum", "log_sum_exp", "sum_square"};

Status infer_arg_reduce(InferContext& c) {
  const auto& op = c.op<ArgReduce>();
  if (!is_number(c.dtype(0))) return c.error(cat(c.describe(0), " must be of numbers"));
  if (!c.dims(0)) {
    c.set(0, DType::i64, std::nullopt);
    return {};
  }
  Dims y = *c.dims(0);
  QUERN_ASSIGN(const std::size_t axis, c.axis(op.axis, std::max<std::size_t>(y.size(), 1)));
  if (!y.empty()) {
    if (y[axis].is(0)) return c.error(cat(c.describe(0), " has no elements along axis ", op.axis));
    y[axis] = 1;
    if (!op.keepdims) y.erase(y.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  c.set(0, DType::i64, std::move(y));
  return {};
}

Status check_types(const InferContext& c) {
  const ReduceKind kind = c.op<Reduce>().kind;
  const DType t = c.dtype(0);
  const bool orders = kind == ReduceKind::max || kind == ReduceKind::min;
  if (!is_number(t) && !(orders && t == DType::boolean))
    return c.error(cat(enum_name(kind), " does not take ", name_of(t)));
  if (!c.has(1)) return {};
  const bool is_list = !c.dims(1) || c.dims(1)->size() <= 1;
  if (!is_list || (c.dtype(1) != DType::i64 && c.dtype(1) != DType::i32))
    return c.error(cat(c.describe(1), " must be a list of axes, i64 or i32"));
  return {};
}

// With unknown axes the rank may still be known.
std::optional<Dims> dims_for_unknown_axes(const InferContext& c, std::size_t rank) {
  if (c.op<Reduce>().keepdims) return Dims(rank);
  const Dims* axes = c.dims(1);
  if (!axes || axes->size() != 1 || !(*axes)[0].known() || (*axes)[0].is(0)) return std::nullopt;
  const auto count = static_cast<std::size_t>((*axes)[0].value());
  return count <= rank ? std::optional(Dims(rank - count)) : std::nullopt;
}

Status infer_reduce(InferContext& c) {
  const auto& op = c.op<Reduce>();
  QUERN_TRY(check_types(c));
  const Dims* x = c.dims(0);
  if (!x) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  QUERN_ASSIGN(const auto axes, axes_operand(c, 1, x->size()));
  if (c.has(1) && !axes) {
    c.set(0, c.dtype(0), dims_for_unknown_axes(c, x->size()));
    return {};
  }
  const bool none_given = !axes || axes->empty();
  std::vector<bool> reduced(x->size(), none_given && !op.noop_with_empty_axes);
  if (axes)
    for (std::size_t axis : *axes) reduced[axis] = true;
  Dims y;
  for (std::size_t d = 0; d < x->size(); ++d) {
    if (!reduced[d]) y.push_back((*x)[d]);
    if (reduced[d] && op.keepdims) y.emplace_back(1);
  }
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

}  // namespace

std::span<const std::string_view> enum_names(ReduceKind) {
  return reduce_names;
}

const OpDef& ArgReduce::def() {
  static constexpr OpDef def{.name = "ArgReduce",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .infer = infer_arg_reduce,
                             .attributes = &op_struct<ArgReduce>};
  return def;
}

const OpDef& Reduce::def() {
  static constexpr OpDef def{.name = "Reduce",
                             .inputs = {1, 2},
                             .outputs = {1, 1},
                             .plan_operands = 1u << 1,
                             .infer = infer_reduce,
                             .attributes = &op_struct<Reduce>};
  return def;
}

}  // namespace quern
