// SPDX-License-Identifier: Apache-2.0
// Identities of arithmetic on single nodes and pairs of them.
//
// None of these changes a result by rounding, NaN goes through as before. The sign of a zero is not
// kept: x + 0 is x, though -0 + 0 is +0. Sums and products of floats are not reassociated: that
// rounds differently (constants that meet weights are folded into those, see affine.cpp).
#include <cmath>
#include <limits>

#include "graph/numeric.h"
#include "graph/ops/binary.h"
#include "graph/ops/unary.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_commutative(BinaryKind k) {
  return k == BinaryKind::add || k == BinaryKind::mul || k == BinaryKind::min ||
         k == BinaryKind::max;
}

// f(f(x)) = f(x)
bool is_idempotent(UnaryKind k) {
  return k == UnaryKind::abs || k == UnaryKind::relu || k == UnaryKind::ceil ||
         k == UnaryKind::floor || k == UnaryKind::round || k == UnaryKind::sign;
}

// f(f(x)) = x
bool is_involution(UnaryKind k) {
  return k == UnaryKind::neg || k == UnaryKind::logical_not || k == UnaryKind::bitwise_not;
}

// f(x) >= 0 or NaN, of floats: the least integer has no absolute value.
bool is_never_negative(const Unary& u) {
  switch (u.kind) {
    case UnaryKind::abs:
    case UnaryKind::exp:
    case UnaryKind::sqrt:
    case UnaryKind::sigmoid:
    case UnaryKind::softplus:
    case UnaryKind::hard_sigmoid: return true;
    case UnaryKind::clip: return u.alpha >= 0 && u.beta >= 0;
    default: return false;
  }
}

std::optional<double> neutral_on_the_right(BinaryKind k) {
  switch (k) {
    case BinaryKind::add:
    case BinaryKind::sub: return 0;
    case BinaryKind::mul:
    case BinaryKind::div:
    case BinaryKind::pow: return 1;
    default: return std::nullopt;
  }
}

// Exponents of the normal numbers of a type.
struct Exponents {
  int least = 0;
  int greatest = -1;
};
Exponents exponents(DType dtype) {
  switch (dtype) {
    case DType::f64: return {-1022, 1023};
    case DType::f32:
    case DType::bf16: return {-126, 127};
    case DType::f16: return {-14, 15};
    default: return {};
  }
}

// 1/c, where it is a power of two: x / c and x * (1/c) are the same number then.
std::optional<double> exact_reciprocal(double c, DType dtype) {
  int exponent = 0;
  if (!std::isfinite(c) || std::fabs(std::frexp(c, &exponent)) != 0.5) return std::nullopt;
  const int of_reciprocal = 1 - exponent;
  const Exponents e = exponents(dtype);
  if (of_reciprocal < e.least || of_reciprocal > e.greatest) return std::nullopt;
  return 1 / c;
}

// A relu or a clip as the range that it leaves.
struct Limits {
  double low = 0;
  double high = 0;
};
std::optional<Limits> limits(const Node& n) {
  const Unary* u = bare<Unary>(n);
  if (u && u->kind == UnaryKind::relu) return Limits{0, infinity};
  if (u && u->kind == UnaryKind::clip && u->alpha <= u->beta) return Limits{u->alpha, u->beta};
  return std::nullopt;
}

}  // namespace

// ---- binary ------------------------------------------------------------------------------------

// c + x, c * x, min(c, x), max(c, x)  =>  x + c, ...: the other rules look to the right
Result<bool> move_constant_right(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Binary* b = bare<Binary>(n);
  if (!b || !is_commutative(b->kind)) return false;
  if (!g.value(n.inputs[0]).is_constant() || g.value(n.inputs[1]).is_constant()) return false;
  return replace_op(g, id, *b, {n.inputs[1], n.inputs[0]});
}

// x + 0, x - 0, x * 1, x / 1, x ^ 1  =>  x
Result<bool> drop_neutral(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Binary* b = bare<Binary>(n);
  if (!b) return false;
  const auto neutral = neutral_on_the_right(b->kind);
  if (!neutral || !is_splat(g, n.inputs[1], *neutral)) return false;
  if (!keeps_shape(g, n.inputs[0], n.inputs[1])) return false;
  return replace_uses(g, id, n.inputs[0]);
}

// 0 - x  =>  -x;  1 / x  =>  reciprocal(x)
Result<bool> drop_left_constant(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Binary* b = bare<Binary>(n);
  if (!b || !keeps_shape(g, n.inputs[1], n.inputs[0])) return false;
  if (b->kind == BinaryKind::sub && is_splat(g, n.inputs[0], 0))
    return replace_op(g, id, Unary{UnaryKind::neg}, {n.inputs[1]});
  if (b->kind == BinaryKind::div && is_splat(g, n.inputs[0], 1))
    return replace_op(g, id, Unary{UnaryKind::reciprocal}, {n.inputs[1]});
  return false;
}

// x - c  =>  x + (-c)
Result<bool> subtract_to_add(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_binary(n, BinaryKind::sub) || !is_number_float(g, n.inputs[0])) return false;
  auto c = numbers(g, n.inputs[1]);
  if (!c || g.value(n.inputs[0]).is_constant()) return false;
  for (double& v : *c) v = -v;
  const TensorType type = g.value(n.inputs[1]).constant.type();
  const ValueId x = n.inputs[0];
  return replace_op(g, id, Binary{BinaryKind::add},
                    {x, g.add_constant(number_tensor(type.dtype, type.shape, *c))});
}

// x / c  =>  x * (1/c), c powers of two: any other reciprocal would be rounded
Result<bool> divide_to_multiply(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_binary(n, BinaryKind::div) || !is_number_float(g, n.inputs[0])) return false;
  auto c = numbers(g, n.inputs[1]);
  if (!c || g.value(n.inputs[0]).is_constant()) return false;
  const TensorType type = g.value(n.inputs[1]).constant.type();
  for (double& v : *c) {
    const auto reciprocal = exact_reciprocal(v, type.dtype);
    if (!reciprocal) return false;
    v = *reciprocal;
  }
  const ValueId x = n.inputs[0];
  return replace_op(g, id, Binary{BinaryKind::mul},
                    {x, g.add_constant(number_tensor(type.dtype, type.shape, *c))});
}

// x ^ 2  =>  x * x, where an integer's exponent is one too: floats would saturate;  x ^ 0.5  =>
// sqrt(x), which differs at -inf alone;  x ^ -1  =>  reciprocal(x)
Result<bool> simplify_power(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_binary(n, BinaryKind::pow) || !keeps_shape(g, n.inputs[0], n.inputs[1])) return false;
  const auto exponent = splat(g, n.inputs[1]);
  const ValueId x = n.inputs[0];
  if (!exponent) return false;
  const bool is_float = is_number_float(g, x);
  const bool wraps = is_number_integer(g.type(n.inputs[1]).dtype);
  if (*exponent == 2 && (is_float || wraps))
    return replace_op(g, id, Binary{BinaryKind::mul}, {x, x});
  if (!is_float) return false;
  if (*exponent == 0.5) return replace_op(g, id, Unary{UnaryKind::sqrt}, {x});
  if (*exponent == -1) return replace_op(g, id, Unary{UnaryKind::reciprocal}, {x});
  return false;
}

// max(x, c)  =>  clip(x, c, inf);  min(x, c)  =>  clip(x, -inf, c)
Result<bool> extremum_to_clip(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Binary* b = bare<Binary>(n);
  if (!b || (b->kind != BinaryKind::max && b->kind != BinaryKind::min)) return false;
  const auto c = splat(g, n.inputs[1]);
  if (!c || std::isnan(*c) || !is_number_float(g, n.inputs[0])) return false;
  if (!keeps_shape(g, n.inputs[0], n.inputs[1])) return false;
  const bool is_max = b->kind == BinaryKind::max;
  return replace_op(g, id, Unary{UnaryKind::clip, is_max ? *c : -infinity, is_max ? infinity : *c},
                    {n.inputs[0]});
}

// (x + a) + b  =>  x + (a + b), (x * a) * b  =>  x * (a * b), integers: they wrap either way
Result<bool> reassociate_integers(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Binary* b = bare<Binary>(n);
  if (!b || (b->kind != BinaryKind::add && b->kind != BinaryKind::mul)) return false;
  if (!is_number_integer(g.type(n.outputs[0]).dtype)) return false;
  const Node* inner = binary(g, n.inputs[0], b->kind);
  if (!inner || !g.value(n.inputs[1]).is_constant() || !g.value(inner->inputs[1]).is_constant())
    return false;
  const Binary op = *b;
  const ValueId x = inner->inputs[0];
  QUERN_ASSIGN(const ValueId both, g.add(op, {inner->inputs[1], n.inputs[1]}));
  return replace_op(g, id, op, {x, both});
}

// ---- unary -------------------------------------------------------------------------------------

// relu(relu(x))  =>  relu(x), ...;  -(-x)  =>  x, ...;  relu(sigmoid(x))  =>  sigmoid(x), ...
Result<bool> drop_repeated_unary(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Unary* outer = bare<Unary>(n);
  const Node* inside = bare<Unary>(g, n.inputs[0]);
  if (!outer || !inside) return false;
  const Unary& inner = *inside->as<Unary>();
  if (is_involution(outer->kind) && inner.kind == outer->kind)
    return replace_uses(g, id, inside->inputs[0]);
  const bool keeps_positive = outer->kind == UnaryKind::relu || outer->kind == UnaryKind::abs;
  const bool is_kept =
      (is_idempotent(outer->kind) && inner.kind == outer->kind) ||
      (keeps_positive && is_number_float(g, n.outputs[0]) && is_never_negative(inner));
  if (is_kept) return replace_uses(g, id, n.inputs[0]);
  if (outer->kind == UnaryKind::abs && inner.kind == UnaryKind::neg)
    return replace_op(g, id, *outer, {inside->inputs[0]});
  return false;
}

// clip(clip(x, a, b), c, d)  =>  clip(x, max(a, c), min(b, d)), where the ranges meet
Result<bool> merge_clips(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_number_float(g, n.inputs[0])) return false;
  const auto outer = limits(n);
  const Node* inside = bare<Unary>(g, n.inputs[0]);
  const auto inner = inside ? limits(*inside) : std::nullopt;
  if (!outer || !inner) return false;
  const Limits both{std::max(outer->low, inner->low), std::min(outer->high, inner->high)};
  if (both.low > both.high) return false;
  return replace_op(g, id, Unary{UnaryKind::clip, both.low, both.high}, {inside->inputs[0]});
}

// clip(x, -inf, inf)  =>  x;  clip(x, 0, inf)  =>  relu(x)
Result<bool> simplify_clip(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_unary(n, UnaryKind::clip) || !is_number_float(g, n.inputs[0])) return false;
  const Unary& u = *n.as<Unary>();
  if (u.beta != infinity) return false;
  if (u.alpha == -infinity) return replace_uses(g, id, n.inputs[0]);
  return u.alpha == 0 ? replace_op(g, id, Unary{UnaryKind::relu}, {n.inputs[0]})
                      : Result<bool>(false);
}

}  // namespace quern::passes
