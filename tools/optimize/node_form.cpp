// SPDX-License-Identifier: Apache-2.0
#include "tools/optimize/node_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "frontends/onnx-parser/tensor.h"
#include "graph/operands.h"
#include "graph/ops/binary.h"
#include "graph/ops/cast.h"
#include "graph/ops/concat.h"
#include "graph/ops/conv.h"
#include "graph/ops/gather.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/matmul.h"
#include "graph/ops/pool.h"
#include "graph/ops/reduce.h"
#include "graph/ops/reshape.h"
#include "graph/ops/slice.h"
#include "graph/ops/softmax.h"
#include "graph/ops/transpose.h"
#include "graph/ops/unary.h"
#include "graph/ops/where.h"
#include "graph/passes/match.h"

namespace quern::tools {
namespace {

using onnx::integer_attribute;
using onnx::integers_attribute;
using onnx::number_attribute;
using Form = std::optional<OnnxForm>;

constexpr std::string_view microsoft = "com.microsoft";

// One conversion: what is asked for, and what the functions below look at.
struct Source {
  const Graph& graph;
  const Node& node;
  std::int64_t opset;

  DType dtype() const { return graph.type(node.outputs[0]).dtype; }
  DType input_dtype() const { return graph.type(node.inputs[0]).dtype; }
  bool has(std::size_t i) const { return i < node.inputs.size() && node.inputs[i] != no_value; }
  std::optional<std::size_t> rank(ValueId v) const {
    const auto& dims = graph.type(v).dims;
    return dims ? std::optional(dims->size()) : std::nullopt;
  }
};

// With the inputs of the node.
OnnxForm plain(const Source& s, std::string_view type) {
  OnnxForm form{.type = type};
  for (const ValueId v : s.node.inputs) form.inputs.push_back({.value = v});
  return form;
}

bool is_runtime_float(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::f16;
}

// ---- elementwise

struct NamedKind {
  std::string_view name;
  std::int64_t since;  // the opset that has it with NumPy's broadcasting and all types of numbers
};

NamedKind binary_name(BinaryKind kind) {
  using K = BinaryKind;
  switch (kind) {
    case K::add: return {"Add", 7};
    case K::sub: return {"Sub", 7};
    case K::mul: return {"Mul", 7};
    case K::div: return {"Div", 7};
    case K::pow: return {"Pow", 7};
    case K::mod:
    case K::fmod: return {"Mod", 10};
    case K::min: return {"Min", 12};
    case K::max: return {"Max", 12};
    case K::prelu: return {"PRelu", 9};
    case K::logical_and: return {"And", 7};
    case K::logical_or: return {"Or", 7};
    case K::logical_xor: return {"Xor", 7};
    case K::equal: return {"Equal", 11};
    case K::less: return {"Less", 9};
    case K::less_equal: return {"LessOrEqual", 12};
    case K::greater: return {"Greater", 9};
    case K::greater_equal: return {"GreaterOrEqual", 12};
    case K::bitwise_and:
    case K::bitwise_or:
    case K::bitwise_xor:
    case K::shift_left:
    case K::shift_right: break;
  }
  return {};
}

// The sum of a product of matrices and what broadcasts to it in one direction is a Gemm.
Form gemm_with_bias(const Source& s) {
  const auto rank_of = [&](ValueId v) { return s.rank(v).value_or(0); };
  for (const std::size_t i : {0, 1}) {
    const Node* product = s.graph.producer_as<MatMul>(s.node.inputs[i]);
    const ValueId bias = s.node.inputs[1 - i];
    if (!product || !product->post_ops.empty() || !s.graph.used_once(s.node.inputs[i])) continue;
    const MatMul& op = *product->as<MatMul>();
    if (s.opset < 7 || s.dtype() != DType::f32 || op.f32_result) continue;
    if (rank_of(product->inputs[0]) != 2 || rank_of(product->inputs[1]) != 2) continue;
    if (!passes::keeps_shape(s.graph, s.node.inputs[i], bias)) continue;
    OnnxForm form{.type = "Gemm"};
    for (const ValueId v : {product->inputs[0], product->inputs[1], bias})
      form.inputs.push_back({.value = v});
    form.attributes = {number_attribute("alpha", op.alpha), number_attribute("beta", 1),
                       integer_attribute("transA", op.transpose_a ? 1 : 0),
                       integer_attribute("transB", op.transpose_b ? 1 : 0)};
    return form;
  }
  return std::nullopt;
}

Form form_of(const Source& s, const Binary& op) {
  if (op.kind == BinaryKind::add)
    if (Form gemm = gemm_with_bias(s)) return gemm;
  const NamedKind kind = binary_name(op.kind);
  if (kind.name.empty() || s.opset < kind.since) return std::nullopt;
  OnnxForm form = plain(s, kind.name);
  if (op.kind == BinaryKind::fmod) form.attributes = {integer_attribute("fmod", 1)};
  return form;
}

// Those without attributes, in every opset that has them.
NamedKind unary_name(UnaryKind kind) {
  using K = UnaryKind;
  switch (kind) {
    case K::abs: return {"Abs", 6};
    case K::neg: return {"Neg", 6};
    case K::sign: return {"Sign", 9};
    case K::ceil: return {"Ceil", 6};
    case K::floor: return {"Floor", 6};
    case K::round: return {"Round", 11};
    case K::sqrt: return {"Sqrt", 6};
    case K::reciprocal: return {"Reciprocal", 6};
    case K::exp: return {"Exp", 6};
    case K::log: return {"Log", 6};
    case K::sin: return {"Sin", 7};
    case K::cos: return {"Cos", 7};
    case K::tan: return {"Tan", 7};
    case K::tanh: return {"Tanh", 6};
    case K::erf: return {"Erf", 9};
    case K::sigmoid: return {"Sigmoid", 6};
    case K::relu: return {"Relu", 6};
    case K::logical_not: return {"Not", 1};
    default: return {};
  }
}

// Which ONNX Runtime has for f32 alone on the CPU.
NamedKind activation_name(UnaryKind kind) {
  using K = UnaryKind;
  switch (kind) {
    case K::leaky_relu: return {"LeakyRelu", 6};
    case K::elu: return {"Elu", 6};
    case K::hard_sigmoid: return {"HardSigmoid", 6};
    case K::hard_swish: return {"HardSwish", 14};
    case K::softplus: return {"Softplus", 1};
    case K::softsign: return {"Softsign", 1};
    case K::mish: return {"Mish", 18};
    case K::gelu:
    case K::gelu_tanh: return {"Gelu", 20};
    default: return {};
  }
}

Form clip_form(const Source& s, const Unary& op) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (s.opset < 6 || !is_runtime_float(s.dtype())) return std::nullopt;
  OnnxForm form = plain(s, "Clip");
  if (s.opset < 11) {
    if (op.alpha > -infinity)
      form.attributes.push_back(number_attribute("min", static_cast<float>(op.alpha)));
    if (op.beta < infinity)
      form.attributes.push_back(number_attribute("max", static_cast<float>(op.beta)));
    return form;
  }
  const auto bound = [&](double number, double none) {
    Operand o;
    if (number != none) o.constant = passes::number_tensor(s.dtype(), {}, {&number, 1});
    return o;
  };
  form.inputs.push_back(bound(op.alpha, -infinity));
  form.inputs.push_back(bound(op.beta, infinity));
  return form;
}

Form form_of(const Source& s, const Unary& op) {
  using K = UnaryKind;
  if (const NamedKind kind = unary_name(op.kind); !kind.name.empty())
    return s.opset < kind.since ? std::nullopt : Form(plain(s, kind.name));
  if (op.kind == K::clip) return clip_form(s, op);
  if (s.dtype() != DType::f32) return std::nullopt;
  const auto alpha = static_cast<float>(op.alpha);
  if (op.kind == K::swish) {
    OnnxForm form = plain(s, "QuickGelu");
    form.domain = microsoft;
    form.attributes = {number_attribute("alpha", alpha)};
    return form;
  }
  const NamedKind kind = activation_name(op.kind);
  const bool is_gelu = op.kind == K::gelu || op.kind == K::gelu_tanh;
  if (kind.name.empty() || (s.opset < kind.since && !is_gelu)) return std::nullopt;
  OnnxForm form = plain(s, kind.name);
  if (op.kind == K::leaky_relu || op.kind == K::elu || op.kind == K::hard_sigmoid)
    form.attributes.push_back(number_attribute("alpha", alpha));
  if (op.kind == K::hard_sigmoid)
    form.attributes.push_back(number_attribute("beta", static_cast<float>(op.beta)));
  if (!is_gelu) return form;
  if (s.opset < kind.since) {
    form.domain = microsoft;
    if (op.kind == K::gelu_tanh) form.type = "FastGelu";
  } else if (op.kind == K::gelu_tanh) {
    form.attributes.push_back(onnx::text_attribute("approximate", "tanh"));
  }
  return form;
}

Form form_of(const Source& s, const Cast& op) {
  if (s.opset < 9 || !op.saturate || op.rounding != PowerRounding::up) return std::nullopt;
  OnnxForm form = plain(s, "Cast");
  form.attributes = {integer_attribute("to", onnx::onnx_type_of(op.to))};
  return form;
}

Form form_of(const Source& s, const Where&) {
  return s.opset < 9 ? std::nullopt : Form(plain(s, "Where"));
}

// ---- windows and products

void add_ints(OnnxForm& form, std::string_view name, const Ints& values) {
  if (!values.empty()) form.attributes.push_back(integers_attribute(name, values));
}

void add_window(OnnxForm& form, const Window& w) {
  constexpr std::array<std::string_view, 4> modes = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  add_ints(form, "kernel_shape", w.kernel);
  add_ints(form, "strides", w.strides);
  add_ints(form, "dilations", w.dilations);
  if (w.auto_pad == AutoPad::notset) return add_ints(form, "pads", w.pads);
  form.attributes.push_back(
      onnx::text_attribute("auto_pad", modes[static_cast<std::size_t>(w.auto_pad)]));
}

Form form_of(const Source& s, const Conv& op) {
  if (op.f32_result) return std::nullopt;
  OnnxForm form = plain(s, "Conv");
  add_window(form, op.window);
  form.attributes.push_back(integer_attribute("group", op.group));
  return form;
}

Form form_of(const Source& s, const ConvTranspose& op) {
  OnnxForm form = plain(s, "ConvTranspose");
  add_window(form, op.window);
  form.attributes.push_back(integer_attribute("group", op.group));
  add_ints(form, "output_padding", op.output_padding);
  add_ints(form, "output_shape", op.output_shape);
  return form;
}

Form form_of(const Source& s, const MatMul& op) {
  if (op.f32_result) return std::nullopt;
  if (!op.transpose_a && !op.transpose_b && op.alpha == 1) return plain(s, "MatMul");
  if (s.opset < 11 || s.dtype() != DType::f32) return std::nullopt;
  if (s.rank(s.node.inputs[0]) != 2 || s.rank(s.node.inputs[1]) != 2) return std::nullopt;
  OnnxForm form = plain(s, "Gemm");
  form.attributes = {number_attribute("alpha", op.alpha),
                     integer_attribute("transA", op.transpose_a ? 1 : 0),
                     integer_attribute("transB", op.transpose_b ? 1 : 0)};
  return form;
}

Form form_of(const Source& s, const Pool& op) {
  constexpr std::array<std::string_view, 3> names = {"MaxPool", "AveragePool", "LpPool"};
  const bool is_late = s.opset >= (op.kind == PoolKind::max       ? 10
                                   : op.kind == PoolKind::average ? 19
                                                                  : 18);
  if (op.global || s.node.outputs.size() != 1 || s.dtype() != DType::f32) return std::nullopt;
  if (!is_late && (op.ceil_mode || !op.window.dilations.empty())) return std::nullopt;
  OnnxForm form = plain(s, names[static_cast<std::size_t>(op.kind)]);
  add_window(form, op.window);
  if (op.ceil_mode) form.attributes.push_back(integer_attribute("ceil_mode", 1));
  if (op.count_include_pad) {
    if (s.opset < 7) return std::nullopt;
    form.attributes.push_back(integer_attribute("count_include_pad", 1));
  }
  if (op.kind == PoolKind::lp) form.attributes.push_back(integer_attribute("p", op.p));
  return form;
}

// ---- normalisations and reductions

// Ones over the last -axis dimensions of x, where these are known.
std::optional<Tensor> ones(const Source& s, std::int64_t axis) {
  const auto& dims = s.graph.type(s.node.inputs[0]).dims;
  const auto count = static_cast<std::size_t>(-axis);
  if (axis >= 0 || !dims || dims->size() < count) return std::nullopt;
  Shape shape;
  for (std::size_t i = dims->size() - count; i < dims->size(); ++i) {
    if (!(*dims)[i].known()) return std::nullopt;
    shape.push_back((*dims)[i].value());
  }
  constexpr std::int64_t most_elements = 1 << 20;
  const auto elements = shape.checked_elements(size_of(s.dtype()));
  if (!elements || *elements > most_elements) return std::nullopt;
  return passes::number_tensor(s.dtype(), shape,
                               std::vector<double>(static_cast<std::size_t>(*elements), 1));
}

Form form_of(const Source& s, const LayerNorm& op) {
  if (s.opset < (op.center ? 17 : 23) || s.node.outputs.size() != 1 || !is_runtime_float(s.dtype()))
    return std::nullopt;
  const auto rank = s.rank(s.node.inputs[0]);
  if (!rank) return std::nullopt;
  const std::int64_t axis = op.axis < 0 ? op.axis : op.axis - static_cast<std::int64_t>(*rank);
  for (std::size_t i = 1; i < s.node.inputs.size(); ++i)
    if (s.has(i) && s.rank(s.node.inputs[i]) != static_cast<std::size_t>(-axis))
      return std::nullopt;  // broadcasts, which ONNX Runtime does not take
  OnnxForm form = plain(s, op.center ? "LayerNormalization" : "RMSNormalization");
  if (!s.has(1)) {
    auto scale = ones(s, axis);
    if (!scale) return std::nullopt;
    if (form.inputs.size() < 2) form.inputs.resize(2);
    form.inputs[1] = {.constant = *std::move(scale)};
  }
  if (!op.center && s.has(2)) return std::nullopt;
  form.attributes = {integer_attribute("axis", axis), number_attribute("epsilon", op.epsilon)};
  return form;
}

Form form_of(const Source& s, const GroupNorm& op) {
  if (s.dtype() != DType::f32 || (op.groups != 0 && s.opset < 21) || s.opset < 6)
    return std::nullopt;
  OnnxForm form = plain(s, op.groups == 0 ? "InstanceNormalization" : "GroupNormalization");
  form.attributes = {number_attribute("epsilon", op.epsilon)};
  if (op.groups != 0) form.attributes.push_back(integer_attribute("num_groups", op.groups));
  return form;
}

Form form_of(const Source& s, const Softmax& op) {
  constexpr std::array<std::string_view, 3> names = {"Softmax", "LogSoftmax", "Hardmax"};
  if (op.flatten != (s.opset < 13)) {
    // Over the last dimension alone both are the same.
    const auto rank = s.rank(s.node.inputs[0]);
    const bool is_last = op.axis == -1 || (rank && op.axis == static_cast<std::int64_t>(*rank) - 1);
    if (!is_last || !rank) return std::nullopt;
  }
  OnnxForm form = plain(s, names[static_cast<std::size_t>(op.kind)]);
  form.attributes = {integer_attribute("axis", op.axis)};
  return form;
}

// An input that was an attribute before opset `since`: false if it must be known and is not.
bool as_attribute_before(const Source& s, std::int64_t since, std::size_t input,
                         std::string_view name, OnnxForm& form) {
  if (s.opset >= since || !s.has(input)) return true;
  const auto values = passes::ints(s.graph, s.node.inputs[input]);
  if (!values) return false;
  form.inputs.resize(std::min(form.inputs.size(), input));
  form.attributes.push_back(integers_attribute(name, *values));
  return true;
}

Form form_of(const Source& s, const Reduce& op) {
  constexpr std::array<std::string_view, 10> names = {
      "ReduceSum", "ReduceMean", "ReduceMax",    "ReduceMin",       "ReduceProd",
      "ReduceL1",  "ReduceL2",   "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"};
  OnnxForm form = plain(s, names[static_cast<std::size_t>(op.kind)]);
  const std::int64_t since = op.kind == ReduceKind::sum ? 13 : 18;
  if (s.has(1)) {
    const auto axes = passes::ints(s.graph, s.node.inputs[1]);
    if (s.opset < 11 && (!axes || std::ranges::any_of(*axes, [](auto a) { return a < 0; })))
      return std::nullopt;
  }
  if (!as_attribute_before(s, since, 1, "axes", form)) return std::nullopt;
  form.attributes.push_back(integer_attribute("keepdims", op.keepdims ? 1 : 0));
  if (op.noop_with_empty_axes) {
    if (s.opset < since) return std::nullopt;
    form.attributes.push_back(integer_attribute("noop_with_empty_axes", 1));
  }
  return form;
}

// ---- movement

Form form_of(const Source& s, const Reshape& op) {
  if (s.opset < (op.allow_zero ? 14 : 5)) return std::nullopt;
  OnnxForm form = plain(s, "Reshape");
  if (op.allow_zero) form.attributes = {integer_attribute("allowzero", 1)};
  return form;
}

Form squeeze_form(const Source& s, std::string_view name) {
  OnnxForm form = plain(s, name);
  if (s.opset < 11 && s.has(1)) {
    const auto axes = passes::ints(s.graph, s.node.inputs[1]);
    if (!axes || std::ranges::any_of(*axes, [](auto a) { return a < 0; })) return std::nullopt;
  }
  if (!as_attribute_before(s, 13, 1, "axes", form)) return std::nullopt;
  return form;
}

Form form_of(const Source& s, const Transpose& op) {
  OnnxForm form = plain(s, "Transpose");
  add_ints(form, "perm", op.perm);
  return form;
}

Form form_of(const Source& s, const Slice&) {
  return s.opset < 10 ? std::nullopt : Form(plain(s, "Slice"));
}

Form form_of(const Source& s, const Concat& op) {
  if (s.opset < (op.axis < 0 ? 11 : 4)) return std::nullopt;
  OnnxForm form = plain(s, "Concat");
  form.attributes = {integer_attribute("axis", op.axis)};
  return form;
}

Form form_of(const Source& s, const Gather& op) {
  if (op.kind != GatherKind::axis || s.opset < 11) return std::nullopt;
  OnnxForm form = plain(s, "Gather");
  form.attributes = {integer_attribute("axis", op.axis)};
  return form;
}

Form form_of(const Source& s, const Flatten& op) {
  if (s.opset < 11) return std::nullopt;
  OnnxForm form = plain(s, "Flatten");
  form.attributes = {integer_attribute("axis", op.axis)};
  return form;
}

Form form_of(const Source& s, const Identity& op) {
  return op.rank >= 0 ? std::nullopt : Form(plain(s, "Identity"));
}
Form form_of(const Source& s, const Squeeze&) {
  return squeeze_form(s, "Squeeze");
}
Form form_of(const Source& s, const Unsqueeze&) {
  return squeeze_form(s, "Unsqueeze");
}

// Rewrites of 16-bit floats round in other places, where the engine computes in f32 between.
bool is_narrow(DType t) {
  return t == DType::f16 || t == DType::bf16;
}

template <class... T>
Form first_form(const Source& s) {
  Form form;
  const auto attempt = [&](const auto* op) {
    if (op) form = form_of(s, *op);
    return op != nullptr;
  };
  (attempt(s.node.as<T>()) || ...);
  return form;
}

}  // namespace

std::optional<OnnxForm> onnx_form(const Graph& graph, const Node& node, std::int64_t opset) {
  if (!node.bodies.empty() || !node.post_ops.empty() || node.outputs.empty() ||
      node.outputs[0] == no_value)
    return std::nullopt;
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] != no_value) return std::nullopt;
  if (!graph.type(node.outputs[0]).is_tensor()) return std::nullopt;
  const Source s{graph, node, opset};
  const bool moves = node.op.is_any_of<Identity, Reshape, Squeeze, Unsqueeze, Flatten, Transpose,
                                       Slice, Concat, Gather, Where, Cast>();
  if (is_narrow(s.dtype()) && !moves) return std::nullopt;
  Form form = first_form<Binary, Unary, Cast, Where, Conv, ConvTranspose, MatMul, Pool, LayerNorm,
                         GroupNorm, Softmax, Reduce, Identity, Reshape, Squeeze, Unsqueeze, Flatten,
                         Transpose, Slice, Concat, Gather>(s);
  if (form)
    while (!form->inputs.empty() && form->inputs.back().is_left_out()) form->inputs.pop_back();
  return form;
}

}  // namespace quern::tools
