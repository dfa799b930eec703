// SPDX-License-Identifier: Apache-2.0
// Activations that exporters spell out, each as the one function that it is.
//
// The whole function rounds less often than its parts: results differ in the last digits. Numbers
// such as 1/sqrt(2) must be those of the formula to the precision of their type. NaN goes through
// as before; where a part overflows (exp in softplus), the whole does not.
#include <cmath>
#include <numbers>

#include "graph/ops/binary_kind.h"
#include "graph/ops/unary.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"
#include "graph/passes/terms.h"

namespace quern::passes {
namespace {

DType dtype_of(const Graph& g, ValueId v) {
  return g.type(v).dtype;
}

// v = f(a) where f is unary of this kind: a.
std::optional<ValueId> argument(const Graph& g, ValueId v, UnaryKind kind) {
  const Node* n = unary(g, v, kind);
  return n ? std::optional(n->inputs[0]) : std::nullopt;
}

// ---- what x is multiplied with -----------------------------------------------------------------
// Each for c * gate, since the number may stand anywhere.

// c v = (1 + f(a)) / 2: a.
std::optional<ValueId> argument_of_half(const Graph& g, ValueId v, double c, UnaryKind f) {
  const Line line = line_of(g, v);
  if (line.slope != line.offset || line.slope * c != 0.5) return std::nullopt;
  return argument(g, line.x, f);
}

// c v = (1 + erf(x / sqrt(2))) / 2
bool is_erf_gate(const Graph& g, ValueId v, double c, ValueId x) {
  const auto inner = argument_of_half(g, v, c, UnaryKind::erf);
  if (!inner) return false;
  const Line line = line_of(g, *inner, x);
  return line.x == x && line.offset == 0 &&
         is_about(line.slope, std::numbers::sqrt2 / 2, dtype_of(g, x));
}

constexpr double cubic = 0.044715;

// v = x + 0.044715 x^3
bool is_cubic_sum(const Graph& g, ValueId v, ValueId x) {
  const auto sum = sum_of(g, v, x);
  const auto cube = sum && sum->constant == 0 ? sum->other(x) : std::nullopt;
  const auto p = cube ? product_of(g, *cube, x) : std::nullopt;
  return p && p->are_all(x, 3) && is_about(p->constant, cubic, dtype_of(g, x));
}

// v = 1 + 0.044715 x^2
bool is_quadratic_sum(const Graph& g, ValueId v, ValueId x) {
  const Line line = line_of(g, v, x);
  const auto p = product_of(g, line.x, x);
  return p && line.offset == 1 && p->are_all(x, 2) &&
         is_about(p->constant * line.slope, cubic, dtype_of(g, x));
}

// c v = (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, or with x in front of the inner bracket
bool is_tanh_gate(const Graph& g, ValueId v, double c, ValueId x) {
  const auto inner = argument_of_half(g, v, c, UnaryKind::tanh);
  const auto p = inner ? product_of(g, *inner, x) : std::nullopt;
  if (!p || !is_about(p->constant, std::sqrt(2 / std::numbers::pi), dtype_of(g, x))) return false;
  if (p->size() == 1) return is_cubic_sum(g, p->values()[0], x);
  const auto bracket = p->other(x);
  return bracket && is_quadratic_sum(g, *bracket, x);
}

// v = sigmoid(a x): a.
std::optional<double> sigmoid_slope(const Graph& g, ValueId v, ValueId x) {
  const auto inner = argument(g, v, UnaryKind::sigmoid);
  if (!inner) return std::nullopt;
  const Line line = line_of(g, *inner, x);
  return line.x == x && line.offset == 0 ? std::optional(line.slope) : std::nullopt;
}

bool is_softplus_gate(const Graph& g, ValueId v, ValueId x) {
  const auto inner = argument(g, v, UnaryKind::tanh);
  return inner && argument(g, *inner, UnaryKind::softplus) == x;
}

// c v = clip(x / 6 + 1 / 2, 0, 1), as hard_sigmoid or as clip(x + 3, 0, 6) / 6
bool is_hard_gate(const Graph& g, ValueId v, double c, ValueId x) {
  const DType t = dtype_of(g, x);
  const Node* n = bare<Unary>(g, v);
  if (!n) return false;
  const Unary& u = *n->as<Unary>();
  if (u.kind == UnaryKind::hard_sigmoid)
    return c == 1 && n->inputs[0] == x && is_about(u.alpha, 1.0 / 6, t) && is_about(u.beta, 0.5, t);
  if (u.kind != UnaryKind::clip || u.alpha != 0 || !(u.beta > 0)) return false;
  if (!is_about(u.beta * c, 1, t)) return false;
  const Line line = line_of(g, n->inputs[0], x);
  return line.x == x && is_about(line.slope * c, 1.0 / 6, t) && is_about(line.offset * c, 0.5, t);
}

// The function that c * x * gate is of x.
std::optional<Unary> gated(const Graph& g, double c, ValueId x, ValueId gate) {
  if (is_erf_gate(g, gate, c, x)) return Unary{UnaryKind::gelu};
  if (is_tanh_gate(g, gate, c, x)) return Unary{UnaryKind::gelu_tanh};
  if (is_hard_gate(g, gate, c, x)) return Unary{UnaryKind::hard_swish};
  if (c != 1) return std::nullopt;
  if (const auto slope = sigmoid_slope(g, gate, x)) return Unary{UnaryKind::swish, *slope};
  if (is_softplus_gate(g, gate, x)) return Unary{UnaryKind::mish};
  return std::nullopt;
}

bool may_be_gate(const Graph& g, ValueId v) {
  if (binary(g, v, BinaryKind::add)) return true;
  const Node* n = bare<Unary>(g, v);
  if (!n) return false;
  const UnaryKind k = n->as<Unary>()->kind;
  return k == UnaryKind::sigmoid || k == UnaryKind::tanh || k == UnaryKind::clip ||
         k == UnaryKind::hard_sigmoid;
}

}  // namespace

// 0.5 x (1 + erf(x / sqrt 2))                            =>  gelu(x)
// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))      =>  gelu_tanh(x)
// x sigmoid(a x)                                         =>  swish(x, a)
// x clip(x + 3, 0, 6) / 6, x hard_sigmoid(x, 1/6, 1/2)   =>  hard_swish(x)
// x tanh(softplus(x))                                    =>  mish(x)
Result<bool> recognise_gated(Graph& g, NodeId id) {
  const ValueId y = g.node(id).outputs[0];
  if (!is_number_float(g, y)) return false;
  const FactorTree tree(g, y);
  for (ValueId gate : tree.values()) {
    if (!may_be_gate(g, gate)) continue;
    for (ValueId x : tree.values()) {
      if (x == gate) continue;
      const auto product = product_of(g, y, x);
      if (!product || product->other(x) != gate) continue;
      if (const auto f = gated(g, product->constant, x, gate)) return replace_op(g, id, *f, {x});
    }
  }
  return false;
}

// clip(a x + b, 0, 1)  =>  hard_sigmoid(x, a, b);  clip(a x + b, 0, h) / h  =>  the same over h
Result<bool> recognise_hard_sigmoid(Graph& g, NodeId id) {
  const ValueId y = g.node(id).outputs[0];
  if (!is_number_float(g, y)) return false;
  const Line scaled = line_of(g, y);
  const Node* clip = unary(g, scaled.x, UnaryKind::clip);
  if (!clip || scaled.offset != 0) return false;
  const Unary& range = *clip->as<Unary>();
  const double c = scaled.slope;
  if (range.alpha != 0 || !(range.beta > 0) || !is_about(range.beta * c, 1, dtype_of(g, y)))
    return false;
  const Line line = line_of(g, clip->inputs[0]);
  if (line.offset == 0) return false;
  return replace_op(g, id, Unary{UnaryKind::hard_sigmoid, line.slope * c, line.offset * c},
                    {line.x});
}

// log(1 + exp(x))  =>  softplus(x)
Result<bool> recognise_softplus(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_unary(n, UnaryKind::log)) return false;
  const Line line = line_of(g, n.inputs[0]);
  const auto x = argument(g, line.x, UnaryKind::exp);
  if (!x || line.slope != 1 || line.offset != 1) return false;
  return replace_op(g, id, Unary{UnaryKind::softplus}, {*x});
}

// 1 / (1 + exp(-x))  =>  sigmoid(x)
Result<bool> recognise_sigmoid(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_unary(n, UnaryKind::reciprocal) || !is_number_float(g, n.outputs[0])) return false;
  const Line line = line_of(g, n.inputs[0]);
  const auto inner = argument(g, line.x, UnaryKind::exp);
  const auto x = inner ? argument(g, *inner, UnaryKind::neg) : std::nullopt;
  if (!x || line.slope != 1 || line.offset != 1) return false;
  return replace_op(g, id, Unary{UnaryKind::sigmoid}, {*x});
}

// x / (1 + |x|)  =>  softsign(x)
Result<bool> recognise_softsign(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_binary(n, BinaryKind::div) || !is_number_float(g, n.outputs[0])) return false;
  const Line line = line_of(g, n.inputs[1]);
  const auto x = argument(g, line.x, UnaryKind::abs);
  if (!x || *x != n.inputs[0] || line.slope != 1 || line.offset != 1) return false;
  return replace_op(g, id, Unary{UnaryKind::softsign}, {*x});
}

// max(x, a x), 0 < a < 1  =>  leaky_relu(x, a), where `a` is a number of f32: x / 3 rounds once,
// and x times what 1 / 3 rounds to rounds twice.
Result<bool> recognise_leaky_relu(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_binary(n, BinaryKind::max) || !is_number_float(g, n.outputs[0])) return false;
  for (std::size_t i : {0, 1}) {
    const ValueId x = n.inputs[i];
    const Line line = line_of(g, n.inputs[1 - i], x);
    if (line.x != x || line.offset != 0 || !(line.slope > 0 && line.slope < 1)) continue;
    if (static_cast<float>(line.slope) != line.slope) continue;
    return replace_op(g, id, Unary{UnaryKind::leaky_relu, line.slope}, {x});
  }
  return false;
}

}  // namespace quern::passes
