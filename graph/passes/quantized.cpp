// SPDX-License-Identifier: Apache-2.0
// Graphs in the QDQ form (operators of floats between Dequantize and Quantize) as operators of
// integers.
//
// The integer operators round once, at the end; the floats between round several times: results may
// differ by one step. A bias is rounded to a whole number of products' steps, as the integer
// operators have it, where that changes it by little of a result's step.
#include "graph/passes/quantized.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "graph/ops/binary.h"
#include "graph/ops/cast.h"
#include "graph/ops/concat.h"
#include "graph/ops/conv.h"
#include "graph/ops/fill.h"
#include "graph/ops/gather.h"
#include "graph/ops/infer.h"
#include "graph/ops/matmul.h"
#include "graph/ops/pool.h"
#include "graph/ops/quantised_products.h"
#include "graph/ops/quantize.h"
#include "graph/ops/rearrange.h"
#include "graph/ops/resampling.h"
#include "graph/ops/reshape.h"
#include "graph/ops/slice.h"
#include "graph/ops/tile.h"
#include "graph/ops/transpose.h"
#include "graph/ops/unary.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

bool is_narrow_integer(DType t) {
  return is_8bit(t) || t == DType::i16 || t == DType::u16;
}

// Constant scale and zero point of a Quantize or Dequantize.
struct Steps {
  ValueId scale = no_value;
  ValueId zero = no_value;  // no_value: 0
  DType dtype = DType::u8;  // of the integers
  std::int64_t axis = 1;
};
bool is_single(const Graph& g, const Steps& s) {
  return g.value(s.scale).constant.shape().elements() == 1;
}

std::optional<Steps> steps_of(const Graph& g, const Node& n, DType dtype, std::int64_t axis,
                              std::int64_t block_size) {
  Steps s{n.inputs[1], has_input(n, 2) ? n.inputs[2] : no_value, dtype, axis};
  if (block_size != 0 || !g.value(s.scale).is_constant()) return std::nullopt;
  if (s.zero != no_value && !g.value(s.zero).is_constant()) return std::nullopt;
  return s;
}

// v = dequantize(x) of 8 or 16-bit integers.
struct Dequantized {
  ValueId x = no_value;
  Steps steps;
};
std::optional<Dequantized> dequantized(const Graph& g, ValueId v) {
  const Node* n = bare<Dequantize>(g, v);
  if (!n || !is_narrow_integer(g.type(n->inputs[0]).dtype)) return std::nullopt;
  const auto& op = *n->as<Dequantize>();
  const auto s = steps_of(g, *n, g.type(n->inputs[0]).dtype, op.axis, op.block_size);
  return s ? std::optional(Dequantized{n->inputs[0], *s}) : std::nullopt;
}

std::optional<Steps> quantize_steps(const Graph& g, const Node& n) {
  const auto& op = *n.as<Quantize>();
  const DType dtype = g.type(n.outputs[0]).dtype;
  return is_narrow_integer(dtype) ? steps_of(g, n, dtype, op.axis, op.block_size) : std::nullopt;
}

bool same_elements(const Graph& g, ValueId a, ValueId b) {
  if (a == b) return true;
  const auto is_zero = [&](ValueId v) { return v == no_value || is_splat(g, v, 0); };
  if (a == no_value || b == no_value) return is_zero(a) && is_zero(b);
  const Tensor& x = g.value(a).constant;
  const Tensor& y = g.value(b).constant;
  return x.dtype() == y.dtype() && x.bytes() == y.bytes() &&
         std::memcmp(x.data(), y.data(), x.bytes()) == 0;
}

// (k * s) / s is k for every 16-bit k, as long as nothing overflows or loses digits, as it would in
// 16 bits.
bool is_reversible(const Graph& g, const Steps& s) {
  if (size_of(g.type(s.scale).dtype) < sizeof(float)) return false;
  const auto scales = numbers(g, s.scale);
  return scales && std::ranges::all_of(*scales, [](double v) { return v > 1e-30 && v < 1e30; });
}

bool same_steps(const Graph& g, const Steps& a, const Steps& b) {
  return a.dtype == b.dtype && same_elements(g, a.scale, b.scale) &&
         same_elements(g, a.zero, b.zero) && (is_single(g, a) || a.axis == b.axis) &&
         is_reversible(g, a);
}

// The zero point as an operand.
ValueId zero_of(Graph& g, const Steps& s) {
  return s.zero != no_value ? s.zero : add_number(g, s.dtype, 0);
}

// ---- what the output's range does --------------------------------------------------------------

struct Range {
  double low, high;
};
Range range_of(DType t) {
  switch (t) {
    case DType::i8: return {-128, 127};
    case DType::u8: return {0, 255};
    case DType::i16: return {-32768, 32767};
    default: return {0, 65535};
  }
}

// Cutting at these limits first changes nothing: the integers' own range cuts there or before.
bool absorbs(const Graph& g, const Steps& s, double low, double high) {
  const auto scale = splat(g, s.scale);
  const auto zero = s.zero == no_value ? std::optional(0.0) : splat(g, s.zero);
  if (!scale || !zero || !(*scale > 0)) return false;
  const Range range = range_of(s.dtype);
  return std::nearbyint(low / *scale) + *zero <= range.low &&
         std::nearbyint(high / *scale) + *zero >= range.high;
}

// v without a relu or clip that the range of the integers makes needless.
ValueId without_cut(const Graph& g, ValueId v, const Steps& s) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Node* n = bare<Unary>(g, v);
  if (!n || !g.used_once(v)) return v;
  const Unary& u = *n->as<Unary>();
  if (u.kind == UnaryKind::relu && absorbs(g, s, 0, infinity)) return n->inputs[0];
  if (u.kind == UnaryKind::clip && absorbs(g, s, u.alpha, u.beta)) return n->inputs[0];
  return v;
}

// ---- operands of a convolution or product ------------------------------------------------------

std::optional<Dequantized> tensor_operand(const Graph& g, ValueId v) {
  const auto d = dequantized(g, v);
  if (!d || !is_8bit(d->steps.dtype) || !is_single(g, d->steps)) return std::nullopt;
  return g.type(d->steps.scale).dtype == DType::f32 ? d : std::nullopt;
}

// One scale for all, or one along `axis`.
std::optional<Dequantized> weight_operand(const Graph& g, ValueId v, std::size_t axis) {
  const auto d = dequantized(g, v);
  if (!d || !is_8bit(d->steps.dtype) || g.type(d->steps.scale).dtype != DType::f32)
    return std::nullopt;
  return is_single(g, d->steps) || positive_axis(g, v, d->steps.axis) == axis ? d : std::nullopt;
}

// round(bias / (x_scale * w_scale)) as i32, where no element changes by more than a 32nd of a step
// of y.
std::optional<Tensor> integer_bias(const Graph& g, ValueId bias, const Steps& x, const Steps& w,
                                   const Steps& y) {
  const auto b = numbers(g, bias);
  const auto x_scale = splat(g, x.scale);
  const auto w_scale = numbers(g, w.scale);
  const auto y_scale = splat(g, y.scale);
  if (!b || !x_scale || !w_scale || !y_scale) return std::nullopt;
  if (w_scale->size() != 1 && w_scale->size() != b->size()) return std::nullopt;
  std::vector<double> steps;
  for (std::size_t m = 0; m < b->size(); ++m) {
    const double scale = *x_scale * (*w_scale)[w_scale->size() == 1 ? 0 : m];
    steps.push_back(std::nearbyint((*b)[m] / scale));
    if (!(std::fabs(steps.back()) < 0x1p31)) return std::nullopt;
    if (!(std::fabs(steps.back() * scale - (*b)[m]) <= std::fabs(*y_scale) / 32))
      return std::nullopt;
  }
  return number_tensor(DType::i32, {static_cast<std::int64_t>(steps.size())}, steps);
}

// Operators that only move elements, or choose among them.
bool only_moves(const Node& n) {
  if (!n.post_ops.empty() || n.outputs.size() != 1) return false;
  const auto* pool = n.as<Pool>();
  const auto* resize = n.as<Resize>();
  return n.as<Reshape>() || n.as<Squeeze>() || n.as<Unsqueeze>() || n.as<Flatten>() ||
         n.as<Transpose>() || n.as<Slice>() || n.as<Expand>() || n.as<Tile>() ||
         n.as<DepthSpace>() || n.as<Gather>() || (pool && pool->kind == PoolKind::max) ||
         (resize && resize->mode == ResizeMode::nearest &&
          resize->coordinates != CoordinateMode::tf_crop_and_resize);
}

}  // namespace

// quantize(dequantize(x))  =>  x, of the same steps
Result<bool> cancel_quantize(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto to = quantize_steps(g, n);
  const auto from = dequantized(g, n.inputs[0]);
  if (!to || !from || !same_steps(g, *to, from->steps)) return false;
  return replace_uses(g, id, from->x);
}

// quantize(move(dequantize(x)))  =>  move(x), of the same steps, one for the whole tensor
Result<bool> move_quantized(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Node* move = producer(g, n.inputs[0]);
  const auto to = quantize_steps(g, n);
  if (!move || !to || !is_single(g, *to) || !g.used_once(n.inputs[0])) return false;
  const bool joins = move->as<Concat>() != nullptr;
  if (!joins && !only_moves(*move)) return false;
  std::vector<ValueId> inputs = move->inputs;
  for (std::size_t i = 0; i < (joins ? inputs.size() : 1); ++i) {
    const auto from = dequantized(g, inputs[i]);
    if (!from || !same_steps(g, *to, from->steps)) return false;
    inputs[i] = from->x;
  }
  return replace_op(g, id, Op(move->op), std::move(inputs));
}

// quantize(relu(conv(dequantize(x), dequantize(w), b)))  =>  qlinear_conv(x, w, b), where the range
// of the result does what relu or clip did
Result<bool> recognise_qlinear_conv(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto y = quantize_steps(g, n);
  if (!y || !is_8bit(y->dtype) || !is_single(g, *y) || g.type(y->scale).dtype != DType::f32)
    return false;
  const ValueId result = without_cut(g, n.inputs[0], *y);
  const Node* conv = bare<Conv>(g, result);
  if (!conv || !g.used_once(n.inputs[0]) || !g.used_once(result)) return false;
  const auto x = tensor_operand(g, conv->inputs[0]);
  const auto w = weight_operand(g, conv->inputs[1], 0);
  if (!x || !w || !is_constant_expression(g, w->x)) return false;
  std::optional<Tensor> bias;
  if (has_input(*conv, 2)) {
    bias = integer_bias(g, conv->inputs[2], x->steps, w->steps, *y);
    if (!bias) return false;
  }
  const QLinearConv op{.window = conv->as<Conv>()->window, .group = conv->as<Conv>()->group};
  std::vector<ValueId> inputs = {x->x,     x->steps.scale, zero_of(g, x->steps),
                                 w->x,     w->steps.scale, zero_of(g, w->steps),
                                 y->scale, zero_of(g, *y)};
  if (bias) inputs.push_back(g.add_constant(*bias));
  return replace_op(g, id, op, std::move(inputs));
}

// quantize(matmul(dequantize(a), dequantize(b)))  =>  qlinear_matmul(a, b)
Result<bool> recognise_qlinear_matmul(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto y = quantize_steps(g, n);
  if (!y || !is_8bit(y->dtype) || !is_single(g, *y) || g.type(y->scale).dtype != DType::f32)
    return false;
  const ValueId result = without_cut(g, n.inputs[0], *y);
  const Node* product = bare<MatMul>(g, result);
  if (!product || !g.used_once(n.inputs[0]) || !g.used_once(result)) return false;
  if (*product->as<MatMul>() != MatMul{} || !g.type(product->inputs[1]).dims) return false;
  const std::size_t rank = g.type(product->inputs[1]).dims->size();
  const auto a = tensor_operand(g, product->inputs[0]);
  const auto b = weight_operand(g, product->inputs[1], rank - 1);
  if (!a || !b || rank < 2) return false;
  std::vector<ValueId> inputs = {a->x,     a->steps.scale, zero_of(g, a->steps),
                                 b->x,     b->steps.scale, zero_of(g, b->steps),
                                 y->scale, zero_of(g, *y)};
  return replace_op(g, id, QLinearMatMul{}, std::move(inputs));
}

namespace {

struct FloatConv {
  ConvIntegerToFloat op;
  std::vector<ValueId> inputs;
  PostOps post_ops;
  std::vector<ValueId> operands;
};

using FasterInt8 = std::function<bool(const Shape&, std::int64_t)>;

// conv(dequantize(x), dequantize(w), b)
std::optional<FloatConv> of_dequantized(Graph& g, const Node& n, const FasterInt8& faster) {
  const auto* conv = n.as<Conv>();
  if (!conv || conv->f32_result) return std::nullopt;
  const auto x = tensor_operand(g, n.inputs[0]);
  const auto w = weight_operand(g, n.inputs[1], 0);
  if (!x || !w || !is_constant_expression(g, w->x)) return std::nullopt;
  const auto shape = g.type(w->x).shape();
  if (!shape || !faster(*shape, conv->group)) return std::nullopt;
  const ValueId bias = has_input(n, 2) ? n.inputs[2] : no_value;
  FloatConv made{{conv->window, conv->group}, {}, n.post_ops, n.operands};
  made.inputs = {x->x, x->steps.scale, zero_of(g, x->steps),
                 w->x, w->steps.scale, zero_of(g, w->steps)};
  if (bias != no_value) made.inputs.push_back(bias);
  return made;
}

// A constant [1, C, 1, ...] as [C].
std::optional<Tensor> list_of_channels(const Graph& g, ValueId v, std::int64_t channels,
                                       std::size_t rank) {
  if (!g.value(v).is_constant() || g.type(v).dtype != DType::f32) return std::nullopt;
  const Tensor& t = g.value(v).constant;
  const Shape& shape = t.shape();
  if (t.shape().elements() != channels || shape.rank() > rank) return std::nullopt;
  const std::size_t before = rank - shape.rank();  // dimensions that broadcasting adds
  if (channels > 1 && (before > 1 || shape[1 - before] != channels)) return std::nullopt;
  return t.reshaped({channels});
}

// The first post-op becomes the bias, where it adds a constant to each channel.
void take_bias(Graph& g, FloatConv& c, const Shape& y) {
  if (c.post_ops.empty()) return;
  const auto* sum = std::get_if<BinaryPostOp>(&c.post_ops.front());
  if (!sum || sum->kind != BinaryKind::add) return;
  const std::uint32_t operand = sum->operand;
  const auto reads = [&](const PostOp& p) {
    const auto* other = std::get_if<BinaryPostOp>(&p);
    return other && other->operand == operand;
  };
  if (std::ranges::count_if(c.post_ops, reads) > 1) return;
  const auto bias = list_of_channels(g, c.operands[operand], y[1], y.rank());
  if (!bias) return;
  c.inputs.push_back(g.add_constant(*bias));
  c.post_ops.erase(c.post_ops.begin());
  c.operands.erase(c.operands.begin() + operand);
  for (PostOp& p : c.post_ops)
    if (auto* later = std::get_if<BinaryPostOp>(&p); later && later->operand > operand)
      --later->operand;
}

bool is_single_f32(const Graph& g, ValueId v) {
  const auto shape = g.type(v).shape();
  return g.type(v).dtype == DType::f32 && shape && shape->rank() <= 1 && shape->elements() == 1;
}

// The scale that the result of a ConvInteger is multiplied with once it is f32; and that node.
struct Scaled {
  const Node* conv = nullptr;
  ValueId scale = no_value;
};
std::optional<Scaled> scaled_conv(const Graph& g, const Node& n) {
  const auto* product = n.as<Binary>();
  if (!product || product->kind != BinaryKind::mul) return std::nullopt;
  for (const std::size_t i : {0, 1}) {
    const Node* cast = bare<Cast>(g, n.inputs[i]);
    if (!cast || cast->as<Cast>()->to != DType::f32 || !g.used_once(n.inputs[i])) continue;
    const Node* conv = bare<ConvInteger>(g, cast->inputs[0]);
    if (conv && g.used_once(cast->inputs[0]) && is_single_f32(g, n.inputs[1 - i]))
      return Scaled{conv, n.inputs[1 - i]};
  }
  return std::nullopt;
}

// The scales of x and w whose product `scale` is; with 1, which changes nothing, where it is none.
std::pair<ValueId, ValueId> factors_of(Graph& g, ValueId scale) {
  const auto* n = bare<Binary>(g, scale);
  if (n && n->as<Binary>()->kind == BinaryKind::mul)
    for (const std::size_t i : {0, 1})
      if (g.value(n->inputs[i]).is_constant() && is_single_f32(g, n->inputs[i]) &&
          is_single_f32(g, n->inputs[1 - i]))
        return {n->inputs[1 - i], n->inputs[i]};
  return {scale, add_number(g, DType::f32, 1)};
}

// cast(conv_integer(x, w)) * scale + b
std::optional<FloatConv> of_integers(Graph& g, const Node& n) {
  const auto scaled = scaled_conv(g, n);
  if (!scaled) return std::nullopt;
  const auto y = g.type(n.outputs[0]).shape();
  if (!y) return std::nullopt;
  const ConvInteger& op = *scaled->conv->as<ConvInteger>();
  FloatConv made{{op.window, op.group}, scaled->conv->inputs, n.post_ops, n.operands};
  made.inputs.resize(4, no_value);
  const auto zero = [&](std::size_t role, ValueId of) {
    const ValueId v = made.inputs[role];
    return v != no_value ? v : add_number(g, g.type(of).dtype, 0);
  };
  const ValueId x = made.inputs[0];
  const ValueId w = made.inputs[conv_integer_roles.w];
  const ValueId x_zero = zero(conv_integer_roles.x_zero, x);
  const ValueId w_zero = zero(conv_integer_roles.w_zero, w);
  const auto [x_scale, w_scale] = factors_of(g, scaled->scale);
  made.inputs = {x, x_scale, x_zero, w, w_scale, w_zero};
  take_bias(g, made, *y);
  return made;
}

}  // namespace
}  // namespace quern::passes

namespace quern {

namespace {

// Every node of which `made` is something becomes that.
template <class F>
Status replace_each(Graph& graph, const F& made_of) {
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) {
    std::optional<passes::FloatConv> made = made_of(graph.node(id));
    if (!made) continue;
    QUERN_TRY(graph.replace(id, made->op, std::move(made->inputs), std::move(made->post_ops),
                            std::move(made->operands)));
  }
  graph.erase_dead();
  return {};
}

}  // namespace

Status convolve_dequantized(
    Graph& graph, const std::function<bool(const Shape& w, std::int64_t groups)>& faster) {
  return replace_each(graph,
                      [&](const Node& n) { return passes::of_dequantized(graph, n, faster); });
}

Status scale_integer_convolutions(Graph& graph) {
  return replace_each(graph, [&](const Node& n) { return passes::of_integers(graph, n); });
}

}  // namespace quern
