// SPDX-License-Identifier: Apache-2.0
// Factors and summands per channel, folded into the weights and the bias of the convolution or
// matrix product next to them.
//
// Folding rounds differently: w * s is rounded once, instead of the result. New weights stay an
// expression over constants, so that they are never held twice (see fold.cpp); new biases are small
// and become constants.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/ops/batch_norm.h"
#include "graph/ops/binary.h"
#include "graph/ops/conv.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/matmul.h"
#include "graph/ops/quantize.h"
#include "graph/ops/reduce.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

constexpr std::int64_t max_table = 1 << 16;

// A convolution or product with constant weights that has no other readers.
struct Linear {
  const Node* node = nullptr;
  Shape weights;
  DType dtype = DType::f32;

  // Products of f16 weights and factors leave its range, or lose their digits near its end.
  bool takes_factors() const { return dtype != DType::f16; }
  bool is_matmul() const { return node->as<MatMul>() != nullptr; }
  bool is_conv() const { return node->as<Conv>() != nullptr; }
  std::int64_t group() const {
    if (const auto* c = node->as<Conv>()) return c->group;
    const auto* t = node->as<ConvTranspose>();
    return t ? t->group : 1;
  }
  ValueId bias() const { return !is_matmul() && has_input(*node, 2) ? node->inputs[2] : no_value; }
};

std::optional<Linear> linear(const Graph& g, const Node& n) {
  if (!bare<Conv>(n) && !bare<ConvTranspose>(n) && !bare<MatMul>(n)) return std::nullopt;
  const ValueId w = n.inputs[1];
  if (!is_number_float(g, w) || !g.type(w).fully_known() || !is_constant_expression(g, w))
    return std::nullopt;
  if (bare<Dequantize>(g, w)) return std::nullopt;  // becomes an operator of integers, perhaps
  Linear l{&n, *g.type(w).shape(), g.type(w).dtype};
  if (l.is_matmul() ? l.weights.rank() != 2 : l.weights.rank() < 3) return std::nullopt;
  if (l.bias() != no_value && !is_constant_expression(g, l.bias())) return std::nullopt;
  return l;
}

std::optional<Linear> only_linear(const Graph& g, ValueId v) {
  const Node* n = producer(g, v);
  return n && g.used_once(v) ? linear(g, *n) : std::nullopt;
}

// ---- channels ----------------------------------------------------------------------------------

// One number, or one for each channel.
struct PerChannel {
  Tensor values;  // of shape [] or [channels]
  bool is_one() const { return values.shape().empty(); }
};

// The channel dimension of a tensor, counted from the end (1 is the last), and its size.
struct Channels {
  std::size_t from_end = 1;
  std::int64_t count = 0;
};

Channels output_channels(const Linear& l) {
  const Shape& w = l.weights;
  if (const auto* m = l.node->as<MatMul>()) return {1, w[m->transpose_b ? 0 : 1]};
  return {w.rank() - 1, l.is_conv() ? w[0] : w[1] * l.group()};
}

Channels input_channels(const Linear& l) {
  const Shape& w = l.weights;
  if (const auto* m = l.node->as<MatMul>())
    return {m->transpose_a ? 2U : 1U, w[m->transpose_b ? 1 : 0]};
  return {w.rank() - 1, l.is_conv() ? w[1] * l.group() : w[0]};
}

std::optional<PerChannel> per_channel(const Graph& g, ValueId c, Channels channels) {
  if (!g.value(c).is_constant()) return std::nullopt;
  const Tensor& t = g.value(c).constant;
  const Shape& s = t.shape();
  for (std::size_t i = 0; i < s.rank(); ++i) {
    const bool is_channel = s.rank() - i == channels.from_end && s[i] == channels.count;
    if (s[i] != 1 && !is_channel) return std::nullopt;
  }
  const std::int64_t n = s.elements();
  return PerChannel{t.reshaped(n == 1 ? Shape{} : Shape{n})};
}

// `v` [n] with `trailing` dimensions of 1 behind it.
Tensor with_trailing_ones(const Tensor& v, std::size_t trailing) {
  Shape s = v.shape();
  for (std::size_t i = 0; i < trailing; ++i) s.push_back(1);
  return v.reshaped(s);
}

// For weights [rows, columns of a group, ...]: what belongs to (row, column) of `v`, which has one
// entry for each column of each group.
std::optional<Tensor> grouped_table(const Linear& l, const Tensor& v) {
  const std::int64_t rows = l.weights[0];
  const std::int64_t columns = l.weights[1];
  const auto all = numbers(v);
  if (!all || columns == 0 || rows > max_table / columns || rows % l.group() != 0)
    return std::nullopt;
  std::vector<double> table;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      table.push_back((*all)[static_cast<std::size_t>(r / (rows / l.group()) * columns + c)]);
  Shape s = {rows, columns};
  while (s.rank() < l.weights.rank()) s.push_back(1);
  return number_tensor(l.dtype, s, table);
}

// The dimension of the weights that holds a factor's channels.
enum class ChannelsAt : std::uint8_t { first_dimension, second_dimension };

// `c` in a shape that broadcasts over the weights.
std::optional<Tensor> over_weights(const Linear& l, const PerChannel& c, ChannelsAt channels) {
  if (c.is_one()) return c.values;
  const std::size_t rank = l.weights.rank();
  if (channels == ChannelsAt::first_dimension) return with_trailing_ones(c.values, rank - 1);
  if (l.group() != 1) return grouped_table(l, c.values);
  return with_trailing_ones(c.values, rank - 2);
}

std::optional<Tensor> output_factor(const Linear& l, const PerChannel& c) {
  const auto* m = l.node->as<MatMul>();
  const bool is_first = m ? m->transpose_b : l.is_conv();
  return over_weights(l, c, is_first ? ChannelsAt::first_dimension : ChannelsAt::second_dimension);
}

std::optional<Tensor> input_factor(const Linear& l, const PerChannel& c) {
  const auto* m = l.node->as<MatMul>();
  const bool is_first = m ? !m->transpose_b : !l.is_conv();
  return over_weights(l, c, is_first ? ChannelsAt::first_dimension : ChannelsAt::second_dimension);
}

// A bias of one entry a channel.
Tensor as_bias(const Linear& l, const PerChannel& c) {
  if (!c.is_one()) return c.values;
  const std::int64_t n = output_channels(l).count;
  return number_tensor(l.dtype, {n},
                       std::vector<double>(static_cast<std::size_t>(n), (*numbers(c.values))[0]));
}

bool has_no_padding(const Window& w) {
  return (w.auto_pad == AutoPad::notset || w.auto_pad == AutoPad::valid) &&
         std::ranges::all_of(w.pads, [](std::int64_t p) { return p == 0; });
}

bool is_finite(const Tensor& t) {
  const auto all = numbers(t);
  return all && std::ranges::all_of(*all, [](double v) { return std::isfinite(v); });
}

// x * c or x / c with the constant on the right.
std::optional<Binary> scaling(const Node& n) {
  const Binary* b = bare<Binary>(n);
  if (!b || (b->kind != BinaryKind::mul && b->kind != BinaryKind::div)) return std::nullopt;
  return *b;
}

}  // namespace

// ---- behind the weights ------------------------------------------------------------------------

// conv(x, w, b) * s  =>  conv(x, w * s, b * s), s per channel; the same for / and matmul
Result<bool> fold_scale(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto op = scaling(n);
  const auto l = op ? only_linear(g, n.inputs[0]) : std::nullopt;
  if (!l || !l->takes_factors() || !keeps_shape(g, n.inputs[0], n.inputs[1])) return false;
  const auto s = per_channel(g, n.inputs[1], output_channels(*l));
  const auto factor = s ? output_factor(*l, *s) : std::nullopt;
  if (!factor) return false;
  const Op linear_op = l->node->op;
  const ValueId bias = l->bias();
  std::vector<ValueId> inputs = {l->node->inputs[0], l->node->inputs[1]};
  QUERN_ASSIGN(inputs[1], g.add(*op, {inputs[1], g.add_constant(*factor)}));
  if (bias != no_value) {
    QUERN_ASSIGN(inputs.emplace_back(), g.add(*op, {bias, g.add_constant(s->values)}));
  }
  return replace_op(g, id, linear_op, std::move(inputs));
}

// conv(x, w, b) + t  =>  conv(x, w, b + t), t per channel
Result<bool> fold_bias(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_binary(n, BinaryKind::add)) return false;
  const auto l = only_linear(g, n.inputs[0]);
  if (!l || l->is_matmul() || !keeps_shape(g, n.inputs[0], n.inputs[1])) return false;
  const auto t = per_channel(g, n.inputs[1], output_channels(*l));
  if (!t) return false;
  const Op linear_op = l->node->op;
  const ValueId old_bias = l->bias();
  std::vector<ValueId> inputs = {l->node->inputs[0], l->node->inputs[1]};
  ValueId bias = g.add_constant(as_bias(*l, *t));
  if (old_bias != no_value) {
    QUERN_ASSIGN(bias, g.add(Binary{BinaryKind::add}, {old_bias, bias}));
  }
  inputs.push_back(bias);
  return replace_op(g, id, linear_op, std::move(inputs));
}

// (matmul(x, w) + b) * s  =>  matmul(x, w) * s + b * s, on the way into the weights
Result<bool> scale_before_bias(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto op = scaling(n);
  const Node* add = op ? binary(g, n.inputs[0], BinaryKind::add) : nullptr;
  if (!add || !g.used_once(n.inputs[0]) || !g.value(add->inputs[1]).is_constant()) return false;
  const auto l = only_linear(g, add->inputs[0]);
  if (!l || !l->is_matmul() || !l->takes_factors()) return false;
  const ValueId product = add->inputs[0];
  const ValueId b = add->inputs[1];
  const ValueId s = n.inputs[1];
  if (!keeps_shape(g, product, b) || !keeps_shape(g, product, s)) return false;
  if (!per_channel(g, b, output_channels(*l)) || !per_channel(g, s, output_channels(*l)))
    return false;
  QUERN_ASSIGN(const ValueId scaled, g.add(*op, {product, s}));
  QUERN_ASSIGN(const ValueId bias, g.add(*op, {b, s}));
  return replace_op(g, id, Binary{BinaryKind::add}, {scaled, bias});
}

// matmul(a, b) * c  =>  matmul(a, b) that scales by c itself, c one number
Result<bool> fold_alpha(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!is_binary(n, BinaryKind::mul) || !is_number_float(g, n.outputs[0])) return false;
  const Node* product = bare<MatMul>(g, n.inputs[0]);
  const auto c = splat(g, n.inputs[1]);
  if (!product || !c || !g.used_once(n.inputs[0])) return false;
  if (product->as<MatMul>()->alpha != 1 || !keeps_shape(g, n.inputs[0], n.inputs[1])) return false;
  if (!fits_float(g, n.outputs[0], *c)) return false;
  MatMul op = *product->as<MatMul>();
  op.alpha = static_cast<float>(*c);
  return replace_op(g, id, op, std::vector<ValueId>(product->inputs));
}

// ---- in front of the weights -------------------------------------------------------------------

// conv(x * s, w, b)  =>  conv(x, w * s, b), s per channel: what is padded with is 0 either way; the
// same for / and matmul. (x / s: w / s)
Result<bool> fold_input_scale(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto l = linear(g, n);
  const Node* scaled = l && l->takes_factors() ? bare<Binary>(g, n.inputs[0]) : nullptr;
  const auto op = scaled ? scaling(*scaled) : std::nullopt;
  if (!op || !g.used_once(n.inputs[0])) return false;
  if (!keeps_shape(g, scaled->inputs[0], scaled->inputs[1])) return false;
  const auto s = per_channel(g, scaled->inputs[1], input_channels(*l));
  const auto factor = s ? input_factor(*l, *s) : std::nullopt;
  if (!factor) return false;
  const Op linear_op = n.op;
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = scaled->inputs[0];
  QUERN_ASSIGN(inputs[1], g.add(*op, {inputs[1], g.add_constant(*factor)}));
  return replace_op(g, id, linear_op, std::move(inputs));
}

// conv(x + t, w, b)  =>  conv(x, w, b + sum(w * t)), t per channel, where nothing is padded
Result<bool> fold_input_shift(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto l = linear(g, n);
  const Node* shifted = l && l->is_conv() ? binary(g, n.inputs[0], BinaryKind::add) : nullptr;
  if (!shifted || !l->takes_factors() || !g.used_once(n.inputs[0])) return false;
  if (!has_no_padding(n.as<Conv>()->window)) return false;
  if (!keeps_shape(g, shifted->inputs[0], shifted->inputs[1])) return false;
  const auto t = per_channel(g, shifted->inputs[1], input_channels(*l));
  const auto factor = t ? input_factor(*l, *t) : std::nullopt;
  if (!factor) return false;
  const Conv op = *n.as<Conv>();
  const ValueId old_bias = l->bias();
  std::vector<ValueId> inputs = {shifted->inputs[0], n.inputs[1]};
  Ints axes(l->weights.rank() - 1);
  std::iota(axes.begin(), axes.end(), 1);
  QUERN_ASSIGN(const ValueId product,
               g.add(Binary{BinaryKind::mul}, {inputs[1], g.add_constant(*factor)}));
  QUERN_ASSIGN(ValueId bias, g.add(Reduce{.kind = ReduceKind::sum, .keepdims = false},
                                   {product, add_ints(g, axes)}));
  if (old_bias != no_value) {
    QUERN_ASSIGN(bias, g.add(Binary{BinaryKind::add}, {old_bias, bias}));
  }
  inputs.push_back(bias);
  return replace_op(g, id, op, std::move(inputs));
}

// ---- normalisations ----------------------------------------------------------------------------

// batch_norm(x)  =>  x * s + t with s = scale / sqrt(variance + e), t = bias - mean * s
Result<bool> expand_batch_norm(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const BatchNorm& op = *n.as<BatchNorm>();
  const ValueId x = n.inputs[0];
  if (op.training || n.outputs.size() != 1 || !g.type(x).dims || g.type(x).dims->size() < 2)
    return false;
  std::array<std::vector<double>, 4> p;  // scale, bias, mean, variance
  for (std::size_t i = 0; i < 4; ++i) {
    auto all = numbers(g, n.inputs[i + 1]);
    if (!all || g.type(n.inputs[i + 1]).dtype != g.type(x).dtype) return false;
    p[i] = std::move(*all);
  }
  for (std::size_t c = 0; c < p[0].size(); ++c) {
    p[0][c] /= std::sqrt(p[3][c] + static_cast<double>(op.epsilon));
    p[1][c] -= p[2][c] * p[0][c];
  }
  Shape shape = {static_cast<std::int64_t>(p[0].size())};
  while (shape.rank() + 1 < g.type(x).dims->size()) shape.push_back(1);
  const DType dtype = g.type(x).dtype;
  const Tensor factor = number_tensor(dtype, shape, p[0]);
  const Tensor summand = number_tensor(dtype, shape, p[1]);
  if (!is_finite(factor) || !is_finite(summand)) return false;
  const ValueId s = g.add_constant(factor);
  const ValueId t = g.add_constant(summand);
  const std::string name = n.name;
  QUERN_ASSIGN(const ValueId scaled, g.add(Binary{BinaryKind::mul}, {x, s}, name));
  return replace_op(g, id, Binary{BinaryKind::add}, {scaled, t});
}

// group_norm(x, s, b) * c  =>  group_norm(x, s * c, b * c);  .. + c  =>  group_norm(x, s, b + c)
Result<bool> fold_into_group_norm(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Binary* b = bare<Binary>(n);
  if (!b || (b->kind != BinaryKind::mul && b->kind != BinaryKind::add)) return false;
  const Node* norm = bare<GroupNorm>(g, n.inputs[0]);
  if (!norm || !g.used_once(n.inputs[0]) || !g.type(n.inputs[0]).dims) return false;
  const Dims& dims = *g.type(n.inputs[0]).dims;
  if (!dims[1].known() || !keeps_shape(g, n.inputs[0], n.inputs[1])) return false;
  const auto c = per_channel(g, n.inputs[1], {dims.size() - 1, dims[1].value()});
  if (!c || !g.value(norm->inputs[1]).is_constant() || !g.value(norm->inputs[2]).is_constant())
    return false;
  if (c->values.dtype() != g.type(norm->inputs[2]).dtype) return false;
  const Binary op = *b;
  const GroupNorm norm_op = *norm->as<GroupNorm>();
  std::vector<ValueId> inputs = norm->inputs;
  const ValueId constant = g.add_constant(c->values);
  if (op.kind == BinaryKind::mul) {
    QUERN_ASSIGN(inputs[1], g.add(op, {inputs[1], constant}));
  }
  QUERN_ASSIGN(inputs[2], g.add(op, {inputs[2], constant}));
  return replace_op(g, id, norm_op, std::move(inputs));
}

}  // namespace quern::passes
