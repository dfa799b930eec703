// SPDX-License-Identifier: Apache-2.0
// Normalisations that exporters spell out: RMS, layer, group and vector norms.
//
// The whole rounds less often than its parts. Nothing here looks at statistics over channels of an
// image: those are not over the last dimensions, and stay as they are.
#include <algorithm>

#include "graph/ops/binary_kind.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/lp_norm.h"
#include "graph/ops/reduce.h"
#include "graph/ops/reshape.h"
#include "graph/ops/unary.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"
#include "graph/passes/terms.h"

namespace quern::passes {
namespace {

// v = reduce(x, axes) that keeps dimensions.
struct Reduction {
  ValueId x = no_value;
  Ints axes;
};
std::optional<Reduction> reduction(const Graph& g, ValueId v, ReduceKind kind) {
  const Node* n = bare<Reduce>(g, v);
  if (!n || n->as<Reduce>()->kind != kind || !n->as<Reduce>()->keepdims || !has_input(*n, 1))
    return std::nullopt;
  auto axes = ints(g, n->inputs[1]);
  if (!axes || axes->empty()) return std::nullopt;
  return Reduction{n->inputs[0], std::move(*axes)};
}

// -k, when the axes are the last k dimensions of x.
std::optional<std::int64_t> last_axes(const Graph& g, const Reduction& r) {
  Ints axes = r.axes;
  const auto& dims = g.type(r.x).dims;
  for (std::int64_t& a : axes) {
    if (a < 0) continue;
    if (!dims) return std::nullopt;
    a -= static_cast<std::int64_t>(dims->size());
  }
  std::ranges::sort(axes);
  const auto k = static_cast<std::int64_t>(axes.size());
  for (std::int64_t i = 0; i < k; ++i)
    if (axes[static_cast<std::size_t>(i)] != i - k) return std::nullopt;
  return -k;
}

// v = mean(x^2) + epsilon
struct MeanSquare {
  ValueId x = no_value;
  std::int64_t axis = -1;
  double epsilon = 0;
};
std::optional<MeanSquare> mean_square(const Graph& g, ValueId v) {
  const Line line = line_of(g, v);
  const auto mean = reduction(g, line.x, ReduceKind::mean);
  if (!mean || line.slope != 1 || !(line.offset >= 0)) return std::nullopt;
  const Node* square = binary(g, mean->x, BinaryKind::mul);
  if (!square || square->inputs[0] != square->inputs[1]) return std::nullopt;
  const auto axis = last_axes(g, *mean);
  if (!axis) return std::nullopt;
  return MeanSquare{square->inputs[0], *axis, line.offset};
}

// x and v of a node that divides by a root: x / sqrt(v), x * (1 / sqrt(v)), x * v^-0.5.
struct OverRoot {
  ValueId x = no_value;
  ValueId v = no_value;
};
std::optional<ValueId> under_inverse_root(const Graph& g, ValueId f) {
  if (const Node* r = unary(g, f, UnaryKind::reciprocal)) {
    const Node* root = unary(g, r->inputs[0], UnaryKind::sqrt);
    return root ? std::optional(root->inputs[0]) : std::nullopt;
  }
  if (const Node* p = unary(g, f, UnaryKind::sqrt)) {
    const Node* r = unary(g, p->inputs[0], UnaryKind::reciprocal);
    return r ? std::optional(r->inputs[0]) : std::nullopt;
  }
  const Node* power = binary(g, f, BinaryKind::pow);
  return power && is_splat(g, power->inputs[1], -0.5) ? std::optional(power->inputs[0])
                                                      : std::nullopt;
}
std::optional<OverRoot> over_root(const Graph& g, const Node& n) {
  if (is_binary(n, BinaryKind::div)) {
    const Node* root = unary(g, n.inputs[1], UnaryKind::sqrt);
    if (root) return OverRoot{n.inputs[0], root->inputs[0]};
    return std::nullopt;
  }
  if (!is_binary(n, BinaryKind::mul)) return std::nullopt;
  for (std::size_t i : {1, 0})
    if (const auto v = under_inverse_root(g, n.inputs[i])) return OverRoot{n.inputs[1 - i], *v};
  return std::nullopt;
}

// One number for each element that is normalised: the last -axis dimensions of x, ones before.
bool is_parameter(const Graph& g, ValueId x, ValueId parameter, std::int64_t axis) {
  if (!keeps_shape(g, x, parameter) || !g.type(x).dims) return false;
  const Dims& dims = *g.type(parameter).dims;
  const auto count = static_cast<std::size_t>(-axis);
  if (dims.size() < count) return false;
  const auto last = dims.end() - static_cast<std::ptrdiff_t>(count);
  return std::equal(last, dims.end(), g.type(x).dims->end() - static_cast<std::ptrdiff_t>(count),
                    [](Dim a, Dim b) { return a.same(b); }) &&
         std::all_of(dims.begin(), last, [](Dim d) { return d.is(1); });
}

// A LayerNorm without other readers, with its axis counted from the end.
struct Norm {
  const Node* node = nullptr;
  std::int64_t axis = -1;
};
std::optional<Norm> layer_norm(const Graph& g, ValueId v) {
  const Node* n = bare<LayerNorm>(g, v);
  if (!n || !g.used_once(v) || g.value(v).producer_output != 0 || has_other_readers(g, *n))
    return std::nullopt;
  std::int64_t axis = n->as<LayerNorm>()->axis;
  if (axis >= 0) {
    if (!g.type(v).dims) return std::nullopt;
    axis -= static_cast<std::int64_t>(g.type(v).dims->size());
  }
  return Norm{n, axis};
}

}  // namespace

// ---- layer norm --------------------------------------------------------------------------------

// x / sqrt(mean(x^2) + e)  =>  layer_norm(x) without center, over the last dimensions
Result<bool> recognise_rms_norm(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_number_float(g, n.outputs[0])) return false;
  const auto quotient = over_root(g, n);
  const auto square = quotient ? mean_square(g, quotient->v) : std::nullopt;
  if (!square || square->x != quotient->x) return false;
  if (!fits_float(g, square->x, square->epsilon)) return false;
  return replace_op(
      g, id,
      LayerNorm{
          .axis = square->axis, .epsilon = static_cast<float>(square->epsilon), .center = false},
      {square->x});
}

// layer_norm(x - mean(x)) without center  =>  layer_norm(x)
Result<bool> center_layer_norm(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  LayerNorm op = *n.as<LayerNorm>();
  const Node* difference = binary(g, n.inputs[0], BinaryKind::sub);
  if (op.center || !difference || !g.used_once(n.inputs[0]) || n.outputs.size() != 1) return false;
  const auto mean = reduction(g, difference->inputs[1], ReduceKind::mean);
  if (!mean || mean->x != difference->inputs[0] || last_axes(g, *mean) != op.axis) return false;
  op.center = true;
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = mean->x;
  return replace_op(g, id, op, std::move(inputs));
}

// layer_norm(x) * s  =>  layer_norm(x, s)
Result<bool> scale_layer_norm(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_binary(n, BinaryKind::mul)) return false;
  for (std::size_t i : {0, 1}) {
    const auto norm = layer_norm(g, n.inputs[i]);
    const ValueId scale = n.inputs[1 - i];
    if (!norm || has_input(*norm->node, 1) || has_input(*norm->node, 2)) continue;
    const ValueId x = norm->node->inputs[0];
    if (!is_parameter(g, x, scale, norm->axis)) continue;
    return replace_op(g, id, LayerNorm(*norm->node->as<LayerNorm>()), {x, scale});
  }
  return false;
}

// layer_norm(x, s) + b  =>  layer_norm(x, s, b)
Result<bool> bias_layer_norm(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_binary(n, BinaryKind::add)) return false;
  for (std::size_t i : {0, 1}) {
    const auto norm = layer_norm(g, n.inputs[i]);
    const ValueId bias = n.inputs[1 - i];
    if (!norm || has_input(*norm->node, 2)) continue;
    const ValueId x = norm->node->inputs[0];
    if (!is_parameter(g, x, bias, norm->axis)) continue;
    const ValueId scale = has_input(*norm->node, 1) ? norm->node->inputs[1] : no_value;
    return replace_op(g, id, LayerNorm(*norm->node->as<LayerNorm>()), {x, scale, bias});
  }
  return false;
}

// ---- group norm --------------------------------------------------------------------------------

// reshape(instance_norm(reshape(x, [n, groups, -1])))  =>  group_norm(x), without scale and bias
Result<bool> recognise_group_norm(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Node* norm = bare<GroupNorm>(g, n.inputs[0]);
  if (!norm || norm->as<GroupNorm>()->groups != 0) return false;
  if (!is_splat(g, norm->inputs[1], 1) || !is_splat(g, norm->inputs[2], 0)) return false;
  const Node* reshape = bare<Reshape>(g, norm->inputs[0]);
  if (!reshape || !g.type(norm->inputs[0]).dims) return false;
  if (!known_same(g, n.outputs[0], reshape->inputs[0])) return false;
  const Dims& grouped = *g.type(norm->inputs[0]).dims;
  const Dims& dims = *g.type(n.outputs[0]).dims;
  if (grouped.size() != 3 || dims.size() < 2 || !grouped[0].same(dims[0])) return false;
  if (!grouped[1].known() || !dims[1].known() || grouped[1].is(0)) return false;
  const std::int64_t groups = grouped[1].value();
  const std::int64_t channels = dims[1].value();
  if (channels % groups != 0) return false;
  const GroupNorm op{.groups = groups, .epsilon = norm->as<GroupNorm>()->epsilon};
  const ValueId x = reshape->inputs[0];
  const DType dtype = g.type(norm->inputs[1]).dtype;
  const auto filled = [&](double value) {
    return g.add_constant(number_tensor(
        dtype, {channels}, std::vector<double>(static_cast<std::size_t>(channels), value)));
  };
  const ValueId scale = filled(1);
  return replace_op(g, id, op, {x, scale, filled(0)});
}

// ---- vector norms ------------------------------------------------------------------------------

// sum(x * x)  =>  sum_square(x);  sum(|x|)  =>  l1(x);  log(sum(exp(x)))  =>  log_sum_exp(x);
// sqrt(sum_square(x))  =>  l2(x)
Result<bool> recognise_reduction(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_number_float(g, n.outputs[0])) return false;
  const Reduce* sum = bare<Reduce>(n);
  if (sum && sum->kind == ReduceKind::sum && has_input(n, 1)) {
    Reduce op = *sum;
    const Node* square = binary(g, n.inputs[0], BinaryKind::mul);
    const Node* size = unary(g, n.inputs[0], UnaryKind::abs);
    const bool squares = square && square->inputs[0] == square->inputs[1];
    if (!squares && !size) return false;
    op.kind = squares ? ReduceKind::sum_square : ReduceKind::l1;
    return replace_op(g, id, op, {(squares ? square : size)->inputs[0], n.inputs[1]});
  }
  const Unary* f = bare<Unary>(n);
  const Node* inner = f ? bare<Reduce>(g, n.inputs[0]) : nullptr;
  if (!inner || !g.used_once(n.inputs[0]) || !has_input(*inner, 1)) return false;
  Reduce op = *inner->as<Reduce>();
  ValueId x = inner->inputs[0];
  if (f->kind == UnaryKind::sqrt && op.kind == ReduceKind::sum_square) {
    op.kind = ReduceKind::l2;
  } else if (const Node* e = unary(g, x, UnaryKind::exp);
             e && f->kind == UnaryKind::log && op.kind == ReduceKind::sum) {
    op.kind = ReduceKind::log_sum_exp;
    x = e->inputs[0];
  } else {
    return false;
  }
  return replace_op(g, id, op, {x, inner->inputs[1]});
}

// x / max(|x|, e)  =>  lp_norm(x), e > 0, along one axis. Without e a zero vector would give NaN.
Result<bool> recognise_vector_norm(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_binary(n, BinaryKind::div) || !is_number_float(g, n.outputs[0])) return false;
  const Node* clip = unary(g, n.inputs[1], UnaryKind::clip);
  if (!clip || !(clip->as<Unary>()->alpha > 0)) return false;
  if (clip->as<Unary>()->beta != std::numeric_limits<double>::infinity()) return false;
  if (!fits_float(g, n.inputs[0], clip->as<Unary>()->alpha)) return false;
  for (std::int64_t p : {1, 2}) {
    const auto norm = reduction(g, clip->inputs[0], p == 1 ? ReduceKind::l1 : ReduceKind::l2);
    if (!norm || norm->x != n.inputs[0] || norm->axes.size() != 1) continue;
    return replace_op(
        g, id,
        LpNorm{
            .axis = norm->axes[0], .p = p, .epsilon = static_cast<float>(clip->as<Unary>()->alpha)},
        {norm->x});
  }
  return false;
}

}  // namespace quern::passes
