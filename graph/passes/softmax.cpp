// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm, spelled out.
//
// Subtracting the greatest element first does not change the result, except that where exp would
// have overflowed it is a number instead of NaN. A row of only -inf is NaN before and after.
#include "graph/ops/softmax.h"

#include "graph/ops/binary_kind.h"
#include "graph/ops/reduce.h"
#include "graph/ops/unary_kind.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

// v = reduce(x) along one axis that is kept: x and the axis.
struct Reduced {
  ValueId x = no_value;
  std::int64_t axis = 0;
};
std::optional<Reduced> reduced(const Graph& g, ValueId v, ReduceKind kind) {
  const Node* n = bare<Reduce>(g, v);
  if (!n || n->as<Reduce>()->kind != kind || !n->as<Reduce>()->keepdims || !has_input(*n, 1))
    return std::nullopt;
  const auto axes = ints(g, n->inputs[1]);
  if (!axes || axes->size() != 1) return std::nullopt;
  return Reduced{n->inputs[0], (*axes)[0]};
}

// Two names of one axis of v.
bool same_axis(const Graph& g, ValueId v, std::int64_t a, std::int64_t b) {
  if (a == b) return true;
  const auto first = positive_axis(g, v, a);
  return first && first == positive_axis(g, v, b);
}

// The exponentials and the value that holds their sums, when the node divides the one by the other.
struct Quotient {
  ValueId exponentials, sums;
};
std::optional<Quotient> quotient(const Graph& g, const Node& n) {
  if (is_binary(n, BinaryKind::div)) return Quotient{n.inputs[0], n.inputs[1]};
  if (!is_binary(n, BinaryKind::mul)) return std::nullopt;
  for (std::size_t i : {1, 0})
    if (const Node* r = unary(g, n.inputs[i], UnaryKind::reciprocal))
      return Quotient{n.inputs[1 - i], r->inputs[0]};
  return std::nullopt;
}

}  // namespace

// exp(x) / sum(exp(x))  =>  softmax(x)
Result<bool> recognise_softmax(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto q = quotient(g, n);
  const Node* e = q ? unary(g, q->exponentials, UnaryKind::exp) : nullptr;
  if (!e || !is_number_float(g, n.outputs[0])) return false;
  const auto sum = reduced(g, q->sums, ReduceKind::sum);
  if (!sum || sum->x != q->exponentials) return false;
  return replace_op(g, id, Softmax{.axis = sum->axis}, {e->inputs[0]});
}

// softmax(x - max(x))  =>  softmax(x)
Result<bool> drop_softmax_shift(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Softmax op = *n.as<Softmax>();
  const Node* shifted = binary(g, n.inputs[0], BinaryKind::sub);
  if (!shifted || op.flatten || op.kind == SoftmaxKind::hardmax) return false;
  const auto greatest = reduced(g, shifted->inputs[1], ReduceKind::max);
  if (!greatest || greatest->x != shifted->inputs[0]) return false;
  if (!same_axis(g, greatest->x, greatest->axis, op.axis)) return false;
  return replace_op(g, id, op, {greatest->x});
}

// log(softmax(x))  =>  log_softmax(x);  x - log_sum_exp(x)  =>  log_softmax(x)
Result<bool> recognise_log_softmax(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (is_unary(n, UnaryKind::log)) {
    const Node* inner = bare<Softmax>(g, n.inputs[0]);
    if (!inner || inner->as<Softmax>()->kind != SoftmaxKind::softmax) return false;
    Softmax op = *inner->as<Softmax>();
    op.kind = SoftmaxKind::log_softmax;
    return replace_op(g, id, op, {inner->inputs[0]});
  }
  if (!is_binary(n, BinaryKind::sub)) return false;
  const auto sum = reduced(g, n.inputs[1], ReduceKind::log_sum_exp);
  if (!sum || sum->x != n.inputs[0]) return false;
  return replace_op(g, id, Softmax{.kind = SoftmaxKind::log_softmax, .axis = sum->axis}, {sum->x});
}

}  // namespace quern::passes
