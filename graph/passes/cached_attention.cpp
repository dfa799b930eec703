// SPDX-License-Identifier: Apache-2.0
// batch B, heads N over KV heads of keys, new rows S, rows M of the past, T of the result, width H
#include "graph/passes/cached_attention.h"

#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "graph/ops/attention.h"
#include "graph/ops/binary.h"
#include "graph/ops/concat.h"
#include "graph/ops/fill.h"
#include "graph/ops/gather.h"
#include "graph/ops/matmul.h"
#include "graph/ops/reshape.h"
#include "graph/ops/shape_of.h"
#include "graph/ops/slice.h"
#include "graph/ops/softmax.h"
#include "graph/ops/tile.h"
#include "graph/ops/transpose.h"
#include "graph/ops/unary.h"
#include "graph/ops/where.h"
#include "graph/passes/match.h"

namespace quern {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// Adds nodes under the name of one; the first error ends it. At most one argument of a call may add
// a node: their order is not specified.
class Writer {
 public:
  Writer(Graph& g, std::string name) : g_(g), name_(std::move(name)) {}

  ValueId add(Op op, std::vector<ValueId> inputs) {
    if (!status_.ok()) return no_value;
    auto made = g_.add(std::move(op), std::move(inputs), name_);
    if (made) return *made;
    status_ = std::move(made).status();
    return no_value;
  }
  ValueId ints(const Ints& values) { return passes::add_ints(g_, values); }
  ValueId integer(std::int64_t value) {
    return passes::add_number(g_, DType::i64, static_cast<double>(value));
  }
  ValueId number(ValueId like, double value) {
    return passes::add_number(g_, g_.type(like).dtype, value);
  }
  ValueId binary(BinaryKind kind, ValueId a, ValueId b) {
    return add(Binary{.kind = kind}, {a, b});
  }
  ValueId dims(ValueId x, std::int64_t from, std::int64_t end) {
    return add(ShapeOf{.start = from, .end = end}, {x});
  }
  // 0, 1, .. of as many as dimension `axis` of x has.
  ValueId counting(ValueId x, std::int64_t axis) {
    const ValueId limit = add(Reshape{}, {dims(x, axis, axis + 1), ints({})});
    return add(Range{}, {integer(0), limit, integer(1)});
  }
  ValueId unsqueeze(ValueId x, const Ints& axes) { return add(Unsqueeze{}, {x, ints(axes)}); }
  ValueId reshape(ValueId x, const Ints& shape) { return add(Reshape{}, {x, ints(shape)}); }

  DType dtype(ValueId x) const { return g_.type(x).dtype; }
  Status status() { return std::move(status_); }

 private:
  Graph& g_;
  std::string name_;
  Status status_;
};

// The past, the new rows and a row of zeros, of which each row of the result takes one.
ValueId expand_append(Writer& w, const Node& n) {
  const ValueId past = n.inputs[0], rows = n.inputs[1];
  const ValueId shape =
      w.add(Concat{.axis = 0}, {w.dims(rows, 0, 2), w.ints({1}), w.dims(rows, 3, 4)});
  const ValueId zeros = w.add(ConstantOfShape{.dtype = w.dtype(rows)}, {shape});
  const ValueId all =
      w.add(Transpose{.perm = {0, 2, 1, 3}}, {w.add(Concat{.axis = 2}, {past, rows, zeros})});
  const ValueId room = w.dims(past, 2, 3);
  const ValueId count = w.dims(rows, 2, 3);
  const ValueId before = w.unsqueeze(n.inputs[2], {1});
  const ValueId length = w.add(Reshape{}, {n.inputs[3], w.ints({})});
  const ValueId row = w.unsqueeze(w.add(Range{}, {w.integer(0), length, w.integer(1)}), {0});
  const ValueId beyond = w.binary(BinaryKind::sub, row, before);  // [B, T]
  const ValueId is_new = w.binary(BinaryKind::less, beyond, count);
  const ValueId late = w.add(Where{}, {is_new, w.binary(BinaryKind::add, beyond, room),
                                       w.binary(BinaryKind::add, room, count)});
  const ValueId is_past = w.binary(BinaryKind::less, row, before);
  const ValueId from = w.unsqueeze(w.add(Where{}, {is_past, row, late}), {2});
  const ValueId taken = w.add(Gather{.kind = GatherKind::nd, .batch_dims = 1}, {all, from});
  return w.add(Transpose{.perm = {0, 2, 1, 3}}, {taken});
}

// Hides later keys from each row, and those before the last `window`: [B, 1, S, T].
ValueId visible_bias(Writer& w, const Node& n) {
  const std::int64_t window = n.as<CachedAttention>()->window;
  const ValueId column = w.counting(n.inputs[1], 2);
  const ValueId row = w.counting(n.inputs[0], 2);
  const ValueId at =
      w.unsqueeze(w.binary(BinaryKind::add, w.unsqueeze(n.inputs[3], {1}), row), {2});
  ValueId sees = w.binary(BinaryKind::less_equal, column, at);
  if (window > 0) {
    const ValueId oldest = w.binary(BinaryKind::sub, at, w.integer(window - 1));
    sees = w.binary(BinaryKind::logical_and, sees,
                    w.binary(BinaryKind::greater_equal, column, oldest));
  }
  const ValueId bias =
      w.add(Where{}, {sees, w.number(n.inputs[0], 0), w.number(n.inputs[0], minus_infinity)});
  return w.unsqueeze(bias, {1});
}

// Each head of k or v once for each head of q that reads it.
ValueId repeat_heads(Writer& w, ValueId x, ValueId q) {
  const ValueId heads = w.dims(q, 1, 2);
  const ValueId times = w.binary(BinaryKind::div, heads, w.dims(x, 1, 2));
  const ValueId rest = w.dims(x, 2, 4);
  const ValueId wide = w.add(Concat{.axis = 0}, {w.dims(x, 0, 2), times, rest});
  const ValueId joined = w.add(Concat{.axis = 0}, {w.dims(x, 0, 1), heads, rest});
  return w.add(Reshape{}, {w.add(Expand{}, {w.unsqueeze(x, {2}), wide}), joined});
}

ValueId softmax_with_sink(Writer& w, ValueId scores, ValueId sink) {
  const ValueId shape = w.add(Concat{.axis = 0}, {w.dims(scores, 0, 3), w.ints({1})});
  const ValueId column = w.add(Expand{}, {w.reshape(sink, {-1, 1, 1}), shape});
  const ValueId p = w.add(Softmax{}, {w.add(Concat{.axis = -1}, {scores, column})});
  return w.add(Slice{}, {p, w.ints({0}), w.ints({-1}), w.ints({-1})});
}

ValueId expand_attention(Writer& w, const Node& n) {
  const CachedAttention op = *n.as<CachedAttention>();
  const auto input = [&](std::size_t i) { return i < n.inputs.size() ? n.inputs[i] : no_value; };
  const ValueId q = input(0), k = input(1), v = input(2), given = input(4), sink = input(5);
  ValueId bias = visible_bias(w, n);
  if (given != no_value) bias = w.binary(BinaryKind::add, bias, given);
  if (op.softcap == 0 && sink == no_value)
    return w.add(Attention{.scale = op.scale}, {q, k, v, bias});
  const MatMul product{.transpose_b = true, .alpha = op.scale};
  ValueId scores = w.add(product, {q, repeat_heads(w, k, q)});
  if (op.softcap != 0) {
    const auto softcap = static_cast<double>(op.softcap);
    const ValueId part = w.binary(BinaryKind::mul, scores, w.number(scores, 1 / softcap));
    const ValueId turned = w.add(Unary{.kind = UnaryKind::tanh}, {part});
    scores = w.binary(BinaryKind::mul, turned, w.number(scores, softcap));
  }
  scores = w.binary(BinaryKind::add, scores, bias);
  const ValueId p =
      sink == no_value ? w.add(Softmax{}, {scores}) : softmax_with_sink(w, scores, sink);
  return w.add(MatMul{}, {p, repeat_heads(w, v, q)});
}

Status expand(Graph& graph, NodeId id) {
  const Node n = {.op = graph.node(id).op,
                  .name = graph.node(id).name,
                  .inputs = graph.node(id).inputs,
                  .outputs = graph.node(id).outputs};
  Writer w(graph, n.name);
  const ValueId y = n.as<CacheAppend>() ? expand_append(w, n) : expand_attention(w, n);
  QUERN_TRY(w.status());
  if (n.outputs[0] == no_value) return {};
  graph.set_name(y, graph.value(n.outputs[0]).name);
  graph.replace_uses(n.outputs[0], y);
  graph.erase(id);
  return {};
}

}  // namespace

Status expand_cached_attention(Graph& graph) {
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (NodeId id : order) {
    for (std::size_t i = 0; i < graph.node(id).bodies.size(); ++i)
      QUERN_TRY(expand_cached_attention(graph.body(id, i)));
    const Op& op = graph.node(id).op;
    if (op.as<CacheAppend>() || op.as<CachedAttention>()) QUERN_TRY(expand(graph, id));
  }
  return {};
}

}  // namespace quern
