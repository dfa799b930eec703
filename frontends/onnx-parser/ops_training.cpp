// SPDX-License-Identifier: Apache-2.0
// ai.onnx.preview.training: the optimisers, expanded to arithmetic.
//
// Inputs (R, T, X..., G..., states...): learning rate, update count, and for each optimised tensor
// its value, its gradient and its states. Outputs: the new values, then the new states, grouped
// alike.
#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

// The operands of one optimised tensor.
struct Tensors {
  std::size_t count = 0;  // of optimised tensors
  std::size_t i = 0;

  ValueId operand(const NodeImport& n, std::size_t group) const {
    return n.in(2 + group * count + i);
  }
  void set(NodeImport& n, std::size_t group, ValueId v) const { n.set(group * count + i, v); }
};

// The number of tensors to optimise, with `groups` operands each.
std::size_t tensor_count(NodeImport& n, std::size_t groups) {
  const std::size_t operands = n.input_count() - 2;
  if (operands > 0 && operands % groups == 0) return operands / groups;
  n.fail(cat("has ", operands, " tensors, wants ", groups, " for each that is optimised"));
  return 0;
}

// The gradient of the tensor plus that of norm_coefficient / 2 |X|^2.
ValueId regularised(NodeImport& n, const Tensors& t, float norm_coefficient) {
  const ValueId g = t.operand(n, 1);
  return norm_coefficient == 0 ? g : add(n, mul(n, t.operand(n, 0), norm_coefficient), g);
}

// a x + b y
ValueId blend(NodeImport& n, ValueId x, double a, ValueId y, double b) {
  const ValueId first = mul(n, x, a);
  return add(n, first, mul(n, y, b));
}

ValueId rate(NodeImport& n, const Tensors& t) {
  return cast(n, n.in(0), n.dtype(t.operand(n, 0)));
}

// T > 0 ? later : first
ValueId after_first(NodeImport& n, ValueId later, ValueId first) {
  return where(n, binary(n, BinaryKind::greater, n.in(1), n.scalar_like(n.in(1), 0)), later, first);
}

// r = R / (1 + T decay), H' = H + G^2, X' = X - r G / (sqrt(H') + epsilon)
void import_adagrad(NodeImport& n) {
  const float decay = n.number("decay_factor", 0);
  const float epsilon = n.number("epsilon", 1e-6f);
  const float norm = n.number("norm_coefficient", 0);
  const std::size_t count = tensor_count(n, 3);
  for (Tensors t{count, 0}; t.i < count && n.ok(); ++t.i) {
    const ValueId x = t.operand(n, 0);
    const ValueId steps = cast(n, n.in(1), n.dtype(x));
    const ValueId slowdown = add(n, mul(n, steps, decay), 1);
    const ValueId r = div(n, rate(n, t), slowdown);
    const ValueId g = regularised(n, t, norm);
    const ValueId h = add(n, t.operand(n, 2), mul(n, g, g));
    const ValueId adaptive = add(n, unary(n, UnaryKind::sqrt, h), epsilon);
    t.set(n, 0, sub(n, x, div(n, mul(n, r, g), adaptive)));
    t.set(n, 1, h);
  }
}

// R sqrt(1 - beta^T) / (1 - alpha^T) from the second update on.
ValueId adam_rate(NodeImport& n, const Tensors& t, float alpha, float beta) {
  const ValueId r = rate(n, t);
  const ValueId steps = cast(n, n.in(1), n.dtype(r));
  const auto one_minus_power = [&](float base) {
    const ValueId power = binary(n, BinaryKind::pow, n.scalar_like(r, base), steps);
    return sub(n, n.scalar_like(r, 1), power);
  };
  const ValueId grown = mul(n, r, unary(n, UnaryKind::sqrt, one_minus_power(beta)));
  const ValueId corrected = div(n, grown, one_minus_power(alpha));
  return after_first(n, corrected, r);
}

void import_adam(NodeImport& n) {
  const float alpha = n.number("alpha", 0.9f);
  const float beta = n.number("beta", 0.999f);
  const float epsilon = n.number("epsilon", 1e-6f);
  const float norm = n.number("norm_coefficient", 0);
  const float norm_post = n.number("norm_coefficient_post", 0);
  const std::size_t count = tensor_count(n, 4);
  for (Tensors t{count, 0}; t.i < count && n.ok(); ++t.i) {
    const ValueId x = t.operand(n, 0);
    const ValueId g = regularised(n, t, norm);
    const ValueId v = blend(n, t.operand(n, 2), alpha, g, 1 - alpha);
    const ValueId h = blend(n, t.operand(n, 3), beta, mul(n, g, g), 1 - beta);
    const ValueId root = add(n, unary(n, UnaryKind::sqrt, h), epsilon);
    const ValueId moved = sub(n, x, div(n, mul(n, adam_rate(n, t, alpha, beta), v), root));
    t.set(n, 0, norm_post == 0 ? moved : mul(n, moved, 1 - norm_post));
    t.set(n, 1, v);
    t.set(n, 2, h);
  }
}

// V' = alpha V + beta G (beta 1 at first), X' = X - R V', or X - R (G + alpha V') after Nesterov.
void import_momentum(NodeImport& n) {
  const float alpha = n.number("alpha");
  const float beta = n.number("beta");
  const float norm = n.number("norm_coefficient");
  if (!n.has_attribute("mode")) return n.fail("attribute 'mode' is missing");
  const bool nesterov = n.choice<bool>("mode", "", {{"standard", false}, {"nesterov", true}});
  const std::size_t count = tensor_count(n, 3);
  for (Tensors t{count, 0}; t.i < count && n.ok(); ++t.i) {
    const ValueId x = t.operand(n, 0);
    const ValueId g = regularised(n, t, norm);
    const ValueId weight = after_first(n, n.scalar_like(x, beta), n.scalar_like(x, 1));
    const ValueId kept = mul(n, t.operand(n, 2), alpha);
    const ValueId v = add(n, kept, mul(n, weight, g));
    const ValueId step = nesterov ? add(n, g, mul(n, v, alpha)) : v;
    t.set(n, 0, sub(n, x, mul(n, rate(n, t), step)));
    t.set(n, 1, v);
  }
}

void import_gradient(NodeImport& n) {
  n.unsupported("needs automatic differentiation, which this engine does not do");
}

constexpr Arity from_three{3, any_number};

constexpr OpRow training_rows[] = {
    {"Adagrad", 1, import_adagrad, from_three, any},
    {"Adam", 1, import_adam, from_three, any},
    {"Gradient", 1, import_gradient, any, any},
    {"Momentum", 1, import_momentum, from_three, any},
};

}  // namespace

OpRows training_ops() {
  return training_rows;
}

}  // namespace quern::onnx
