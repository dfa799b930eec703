// SPDX-License-Identifier: Apache-2.0
// Folds values that are known before any run: small results of constants, and shapes.
#include <algorithm>

#include "graph/evaluate.h"
#include "graph/ops/conv.h"
#include "graph/ops/gather.h"
#include "graph/ops/matmul.h"
#include "graph/ops/quantize.h"
#include "graph/ops/shape_of.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

constexpr std::size_t max_result = 64 << 10;
// Weights are packed from where they lie; copies of them are made when somebody packs.
constexpr std::size_t max_operands = 1 << 20;
// A result that is a short program in disguise (Expand, Range) stays one.
constexpr std::size_t always_small = 4 << 10;
constexpr std::size_t max_growth = 8;
bool is_small_work(const Node& n, std::span<const Tensor> inputs,
                   std::span<const TensorType> outputs) {
  std::vector<TensorType> types;
  std::size_t operands = 0;
  std::size_t result = 0;
  for (const Tensor& t : inputs) {
    if (!t.valid()) continue;
    types.push_back(t.type());
    operands += t.bytes();
  }
  for (const TensorType& t : outputs) result += t.bytes();
  if (result > max_result || operands > max_operands) return false;
  if (result > always_small && result / max_growth > operands) return false;
  return evaluation_work(n.op, n.op.def(), types, outputs) <= quick_work;
}

// Quantised weights stay what they are until the operators of integers have been recognised; what
// is left of them is computed when it is packed.
bool is_quantized_weight(const Graph& g, const Node& n) {
  if (!n.as<Dequantize>() || size_of(g.type(n.inputs[0]).dtype) != 1) return false;
  const auto& uses = g.value(n.outputs[0]).uses;
  return std::ranges::any_of(uses, [&](const Use& u) {
    const Node& user = g.node(u.node);
    return (user.as<Conv>() || user.as<MatMul>()) && user.inputs[1] == n.outputs[0];
  });
}

// The outputs' types; nullopt if one is unknown or too large.
std::optional<std::vector<TensorType>> output_types(const Graph& g, const Node& n) {
  std::vector<TensorType> types;
  for (ValueId v : n.outputs) {
    if (v == no_value || !g.type(v).fully_known()) return std::nullopt;
    types.push_back({g.type(v).dtype, *g.type(v).shape()});
    if (!types.back().shape.checked_elements(size_of(types.back().dtype))) return std::nullopt;
  }
  return types;
}

// The elements of these values; nullopt if one is no constant.
std::optional<std::vector<Tensor>> constants(const Graph& g, std::span<const ValueId> values) {
  std::vector<Tensor> tensors;
  for (ValueId v : values) {
    if (v != no_value && !g.value(v).is_constant()) return std::nullopt;
    tensors.push_back(v == no_value ? Tensor() : g.value(v).constant);
  }
  return tensors;
}

// The numbers of dims[begin, end), if all are.
std::optional<Ints> known_dims(const Dims& dims, std::size_t begin, std::size_t end) {
  Ints out;
  for (std::size_t i = begin; i < end; ++i) {
    if (!dims[i].known()) return std::nullopt;
    out.push_back(dims[i].value());
  }
  return out;
}

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The dimensions that a ShapeOf over `rank` of them gives.
Span span_of(const ShapeOf& s, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  const auto clamped = [&](std::int64_t v) {
    return std::clamp<std::int64_t>(v < 0 ? v + r : v, 0, r);
  };
  const auto begin = static_cast<std::size_t>(clamped(s.start));
  const auto end = static_cast<std::size_t>(clamped(s.end.value_or(r)));
  return {begin, std::max(begin, end)};
}

// The dimensions of x, when `v` is ShapeOf(x) and the rank of x is known.
struct ShapeSource {
  ValueId x = no_value;
  const Dims* dims = nullptr;
  Span span;
};
std::optional<ShapeSource> shape_source(const Graph& g, ValueId v) {
  const Node* n = bare<ShapeOf>(g, v);
  if (!n || !g.type(n->inputs[0]).dims) return std::nullopt;
  const Dims& dims = *g.type(n->inputs[0]).dims;
  return ShapeSource{n->inputs[0], &dims, span_of(*n->as<ShapeOf>(), dims.size())};
}

Tensor ints_tensor(const Shape& shape, const Ints& values) {
  return Tensor::from_values<std::int64_t>(DType::i64, shape, values);
}

}  // namespace

// f(constants)  =>  constant, where it is small; of a view always, over the same bytes
Result<bool> fold_constants(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const OpDef& def = g.def(id);
  if (n.inputs.empty() || !can_evaluate(def) || is_quantized_weight(g, n)) return false;
  const auto inputs = constants(g, n.inputs);
  const auto operands = constants(g, n.operands);
  if (!inputs || !operands) return false;
  const auto types = output_types(g, n);
  if (!types) return false;
  if (def.is(OpTrait::view) && n.post_ops.empty())
    return replace_with_constant(g, n.outputs[0],
                                 (*inputs)[0].reshaped((*types)[0].shape));  // or the run says why
  if (!is_small_work(n, *inputs, *types)) return false;
  auto outputs = evaluate(g.ops(), n.op, n.post_ops, *inputs, *operands, *types);
  if (!outputs) return false;  // the run will say why
  const std::vector<ValueId> values = n.outputs;
  for (std::size_t i = 0; i < values.size(); ++i)
    g.make_constant(values[i], std::move((*outputs)[i]));
  return true;
}

// shape(x), size(x)  =>  constant, where the dimensions are numbers
Result<bool> fold_shape(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!g.type(n.inputs[0]).dims) return false;
  const Dims& dims = *g.type(n.inputs[0]).dims;
  if (n.as<SizeOf>()) {
    const Dim size = product(dims);
    if (!size.known()) return false;
    return replace_with_constant(g, n.outputs[0],
                                 Tensor::scalar<std::int64_t>(DType::i64, size.value()));
  }
  const Span span = span_of(*n.as<ShapeOf>(), dims.size());
  const auto values = known_dims(dims, span.begin, span.end);
  if (!values) return false;
  return replace_with_constant(g, n.outputs[0],
                               ints_tensor({static_cast<std::int64_t>(values->size())}, *values));
}

// gather(shape(x), i)  =>  constant, where the dimensions at i are numbers
Result<bool> fold_gathered_shape(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (n.as<Gather>()->kind != GatherKind::axis) return false;
  const auto source = shape_source(g, n.inputs[0]);
  const auto indices = ints(g, n.inputs[1]);
  if (!source || !indices) return false;
  const auto length = static_cast<std::int64_t>(source->span.end - source->span.begin);
  Ints values;
  for (std::int64_t i : *indices) {
    if (i < -length || i >= length) return false;
    const auto at = source->span.begin + static_cast<std::size_t>(i < 0 ? i + length : i);
    if (!(*source->dims)[at].known()) return false;
    values.push_back((*source->dims)[at].value());
  }
  return replace_with_constant(g, n.outputs[0],
                               ints_tensor(g.value(n.inputs[1]).constant.shape(), values));
}

// slice(shape(x), a, b)  =>  shape(x) from a to b
Result<bool> fold_sliced_shape(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto source = shape_source(g, n.inputs[0]);
  const auto starts = ints(g, n.inputs[1]);
  const auto ends = ints(g, n.inputs[2]);
  if (!source || !starts || !ends || starts->size() != 1 || ends->size() != 1) return false;
  if (has_input(n, 4) && !is_splat(g, n.inputs[4], 1)) return false;
  const Span cut =
      span_of({.start = (*starts)[0], .end = (*ends)[0]}, source->span.end - source->span.begin);
  const auto begin = static_cast<std::int64_t>(source->span.begin);
  return replace_op(g, id,
                    ShapeOf{.start = begin + static_cast<std::int64_t>(cut.begin),
                            .end = begin + static_cast<std::int64_t>(cut.end)},
                    {source->x});
}

// Drops outputs that are not read.
Result<bool> drop_unread_outputs(Graph& g, NodeId id) {
  const std::vector<ValueId> outputs = g.node(id).outputs;
  if (outputs.size() < 2) return false;
  bool changed = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == no_value || !g.value(outputs[i]).uses.empty() || g.is_output(outputs[i]))
      continue;
    g.drop_output(id, i);
    changed = true;
  }
  return changed;
}

}  // namespace quern::passes
