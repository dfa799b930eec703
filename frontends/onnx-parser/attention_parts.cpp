// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/attention_parts.h"

#include <cmath>
#include <limits>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/scatter.h"
#include "graph/ops/slice.h"
#include "graph/ops/split.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {

ValueId split_heads(NodeImport& n, ValueId x, std::int64_t heads) {
  return transpose(n, reshape(n, x, Ints{0, 0, heads, -1}), {0, 2, 1, 3});
}

ValueId join_heads(NodeImport& n, ValueId x) {
  return reshape(n, transpose(n, x, {0, 2, 1, 3}), Ints{0, 0, -1});
}

ValueId with_padding(NodeImport& n, ValueId x, ValueId offsets) {
  const ValueId zero = n.ints_constant({0});
  const ValueId all = reshape(n, cast(n, offsets, DType::i64), Ints{-1});
  const ValueId places = n.add(Slice{}, {all, zero, dims_of(n, x, 0, 1)});
  const ValueId width = dims_of(n, x, 1, 2);
  const ValueId empty = filled(n, join_dims(n, {shape_of(n, all), width}), n.dtype(x), 0);
  const ValueId rows =
      n.add(Scatter{.kind = ScatterKind::nd}, {empty, unsqueeze(n, places, {1}), x});
  return reshape(n, rows, join_dims(n, {dims_of(n, offsets, 0, 2), width}));
}

ValueId without_padding(NodeImport& n, ValueId x, ValueId offsets, ValueId count) {
  const ValueId zero = n.ints_constant({0});
  const ValueId all = reshape(n, cast(n, offsets, DType::i64), Ints{-1});
  const ValueId places = n.add(Slice{}, {all, zero, count});
  const ValueId minus_one = n.ints_constant({-1});
  const ValueId rows = reshape(n, x, join_dims(n, {minus_one, dims_of(n, x, 2, 3)}));
  return gather(n, rows, places, 0);
}

std::int64_t head_count(NodeImport& n, std::string_view attribute) {
  const std::int64_t heads = n.integer(attribute);
  if (n.ok() && heads < 1) n.fail(cat("attribute '", attribute, "' must be positive"));
  if (n.ok() && heads > most_heads)
    n.fail(cat("attribute '", attribute, "' is ", heads, ", the most is ", most_heads));
  return n.ok() ? heads : 1;
}

ScoreScale score_scale(NodeImport& n, ValueId q, std::optional<float> given) {
  if (given) return {*given, q};
  const Dim width = n.dim(q, 3);
  if (width.known() && !width.is(0)) return {1 / std::sqrt(static_cast<float>(width.value())), q};
  const ValueId root = unary(n, UnaryKind::sqrt, cast(n, dims_of(n, q, 3, 4), DType::f32));
  return {1, div(n, q, cast(n, root, n.dtype(q)))};
}

ValueId repeat_heads(NodeImport& n, ValueId x, ValueId q) {
  if (n.dim(x, 1).same(n.dim(q, 1))) return x;
  const ValueId q_heads = dims_of(n, q, 1, 2);
  const ValueId times = div(n, q_heads, dims_of(n, x, 1, 2));
  const ValueId rest = dims_of(n, x, 2, 4);
  const ValueId wide_shape = join_dims(n, {dims_of(n, x, 0, 2), times, rest});
  const ValueId wide = expand_to(n, unsqueeze(n, x, {2}), wide_shape);
  return reshape(n, wide, join_dims(n, {dims_of(n, x, 0, 1), q_heads, rest}));
}

namespace {

constexpr std::int64_t row_end = std::numeric_limits<std::int64_t>::max();

ValueId every_second(NodeImport& n, ValueId x, std::int64_t start) {
  return n.add(Slice{}, {x, n.ints_constant({start}), n.ints_constant({row_end}),
                         n.ints_constant({-1}), n.ints_constant({2})});
}

struct Halves {
  ValueId first;
  ValueId second;
};

Halves split_pairs(NodeImport& n, ValueId x, Pairs pairs) {
  if (pairs == Pairs::neighbours) return {every_second(n, x, 0), every_second(n, x, 1)};
  const auto halves = n.add_many(Split{.axis = -1}, {x}, 2);
  return {halves[0], halves[1]};
}

ValueId join_pairs(NodeImport& n, const Halves& h, ValueId like, Pairs pairs) {
  if (pairs == Pairs::of_halves) return concat(n, {h.first, h.second}, -1);
  const ValueId all = concat(n, {unsqueeze(n, h.first, {-1}), unsqueeze(n, h.second, {-1})}, -1);
  return reshape(n, all, shape_of(n, like));
}

}  // namespace

// Rotates (first, second) by the angle whose cosine and sine are given.
ValueId rotated(NodeImport& n, ValueId x, const Rotation& r, Pairs pairs) {
  const auto cut = [&](ValueId begin, ValueId end) {
    return n.add(Slice{}, {x, begin, end, n.ints_constant({-1})});
  };
  ValueId part = x;
  if (r.width > 0) part = slice(n, x, 0, r.width, -1);
  if (r.width_at_run != no_value) part = cut(n.ints_constant({0}), r.width_at_run);
  const Halves h = split_pairs(n, part, pairs);
  const ValueId real = mul(n, r.cos, h.first);
  const ValueId first = sub(n, real, mul(n, r.sin, h.second));
  const ValueId imaginary = mul(n, r.sin, h.first);
  const ValueId second = add(n, imaginary, mul(n, r.cos, h.second));
  const ValueId y = join_pairs(n, {first, second}, part, pairs);
  if (r.width > 0) return concat(n, {y, slice(n, x, r.width, row_end, -1)}, -1);
  if (r.width_at_run == no_value) return y;
  return concat(n, {y, cut(r.width_at_run, n.ints_constant({row_end}))}, -1);
}

}  // namespace quern::onnx
