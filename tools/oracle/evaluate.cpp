// SPDX-License-Identifier: Apache-2.0
// Walks a graph node by node: the value by the operator's reference in f64 (that of a
// convolution by one of the oracle's own), its bound by its rule.
#include "graph/evaluate.h"

#include <algorithm>
#include <cstring>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/ops/cast.h"
#include "graph/ops/conv.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/reshape.h"
#include "graph/ops/unary.h"
#include "tools/oracle/convolution.h"
#include "tools/oracle/walk.h"

namespace quern::tools {
namespace {

bool is_narrow_float(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16;
}

// The op over f64 operands: what names a type of floats names f64, and numbers that kernels hold as
// float are those floats.
Op widened_op(const Op& op, Width width) {
  if (const auto* cast = op.as<Cast>(); cast && is_narrow_float(cast->to)) {
    Cast wide = *cast;
    wide.to = DType::f64;
    return wide;
  }
  if (width == Width::f64) return op;
  const auto as_float = [](Unary& u) {
    u.alpha = static_cast<double>(static_cast<float>(u.alpha));
    u.beta = static_cast<double>(static_cast<float>(u.beta));
  };
  if (const auto* unary = op.as<Unary>()) {
    Unary wide = *unary;
    as_float(wide);
    return wide;
  }
  if (const auto* rnn = op.as<Rnn>()) {
    Rnn wide = *rnn;
    for (Unary& u : wide.activations) as_float(u);
    return wide;
  }
  return op;
}

Result<Traces> traced_input(const OracleInput& input) {
  Traces out{input.kind, {}};
  for (const Tensor& t : input.tensors) {
    Traced x;
    x.type = t.dtype();
    QUERN_ASSIGN(x.value, widened(t));
    out.tensors.push_back(std::make_shared<const Traced>(std::move(x)));
  }
  return out;
}

BoundedValue bounded(const Traces& t) {
  BoundedValue out{t.kind, {}};
  for (const TracedPtr& p : t.tensors) {
    Numbers bound = p->bound;
    bound.resize(static_cast<std::size_t>(p->elements()), 0.0);
    out.tensors.push_back({p->value, std::move(bound), p->type});
  }
  return out;
}

// The common last step of every rule: 16-bit floats are stored, overflow is undetermined, and
// bounds that are all 0 are dropped.
void finish(Evaluated& e, std::size_t i) {
  Traced& t = e.out[i];
  const Rounding r = e.rounding(i);
  const auto n = static_cast<std::size_t>(t.elements());
  const bool is_stored = t.is_float() && e.storing == Storing::computed;
  for (std::size_t k = 0; is_stored && k < n; ++k) {
    const Ball b = t.at(k);
    const double more = r.stored(b);
    // An exact result is a number of the type already.
    if (more == infinity || (more > 0 && !b.exact())) e.bound(i)[k] = or_infinite(b.e + more);
  }
  for (double& b : t.bound) b = or_infinite(b);
  if (all_zero(t.bound)) t.bound.clear();
}

}  // namespace

Result<std::vector<Tensor>> Walk::evaluate_op(const Op& op, std::span<const Tensor> operands,
                                              std::size_t outputs, std::string_view name) {
  const OpDef& def = op.def();
  std::vector<InferInput> in;
  for (const Tensor& t : operands)
    in.push_back(t.valid() ? InferInput{true, ValueType(t.type()), &t} : InferInput{});
  InferContext c(op, def.name, name, in, outputs);
  QUERN_TRY(def.is(OpTrait::data_dependent) && def.bound ? def.bound(c) : def.infer(c));
  std::vector<TensorType> types;
  for (const ValueType& t : c.outputs()) {
    const auto shape = t.shape();
    if (!shape) return c.error("the shape of a result stays unknown");
    types.push_back({t.dtype, *shape});
  }
  if (const Conv* conv = op.as<Conv>(); conv && are_f64(operands)) {
    QUERN_ASSIGN(Tensor y, Tensor::zeros(types[0]));
    convolve_f64(*conv, operands, y);
    return std::vector<Tensor>{std::move(y)};
  }
  if (!ops_.reference_of(def).run) return c.unsupported("has no reference");
  auto out = evaluate(ops_, op, {}, operands, {}, types);
  if (!out) return std::move(out.error()).in(cat("node '", name, "' (", def.name, ")"));
  for (Tensor& t : *out)
    if (is_narrow_float(t.dtype())) {
      QUERN_ASSIGN(t, widened(t));
    }
  return out;
}

Result<std::vector<Traces>> Walk::plain(const Op& op, std::span<const Traces> in,
                                        std::span<const DType> types, std::string_view name) {
  std::vector<Traced> out(types.size());
  const std::vector<Traces> open(types.size(), Traces::undetermined());
  const auto run = [&](const Op& other, std::span<const Tensor> operands) {
    return evaluate_op(other, operands, types.size(), name);
  };
  bool is_f64 = false;
  std::vector<const Traced*> operands;
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Traced* t = in[i].tensor();
    operands.push_back(t);
    if (t && !t->exact() && decides_structure(op.def(), op, i)) return open;
    is_f64 |= t && t->type == DType::f64;
    values.push_back(t ? t->value : Tensor());
    if (t && is_narrow_float(t->type) && width_of(op, i) == Width::narrow) {
      QUERN_ASSIGN(values.back(), narrowed(t->value, t->type));
    }
  }
  const Op wide = widened_op(op, is_f64 ? Width::f64 : Width::narrow);
  Evaluated e{wide, operands, values, out, run, options_.arithmetic};
  auto results = run(wide, values);
  if (!results && !e.exact()) return open;  // another value within the errors may be valid
  if (!results) return std::move(results).error();
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].value = std::move((*results)[i]);
    out[i].type = types[i];
  }
  QUERN_TRY(bound_errors(e));
  if (e.structure == Structure::open) return open;
  std::vector<Traces> traces;
  for (std::size_t i = 0; i < out.size(); ++i) {
    finish(e, i);
    traces.push_back(
        {BoundedValue::Kind::tensor, {std::make_shared<const Traced>(std::move(out[i]))}});
  }
  return traces;
}

Result<std::vector<Traces>> Walk::node(const Graph& graph, const Node& n,
                                       const std::vector<Traces>& in) {
  const OpDef& def = n.op.def();
  if (!n.post_ops.empty())
    return Status(Code::unsupported, cat("node '", n.name, "' (", def.name,
                                         "): carries post-ops, which only passes make"));
  if (n.as<Identity>()) return in;  // of whatever kind
  if (def.is(OpTrait::structural)) return structural(n, in);
  if (any_undetermined(in)) return std::vector<Traces>(n.outputs.size(), Traces::undetermined());
  std::vector<DType> types;
  for (ValueId v : n.outputs) types.push_back(v == no_value ? DType::f32 : graph.type(v).dtype);
  return plain(n.op, in, types, n.name);
}

Result<Traces> Walk::moved(const Op& op, const Traces& x, const std::vector<Tensor>& more) {
  if (is_undetermined(x)) return x;
  std::vector<Traces> in = {x};
  for (const Tensor& t : more) in.push_back(tensor_of(t, t.dtype()));
  const DType type = x.tensors[0]->type;
  QUERN_ASSIGN(std::vector<Traces> out, plain(op, in, {&type, 1}, "within a body"));
  return std::move(out[0]);
}

Result<std::vector<Traces>> Walk::run(const Graph& graph, std::vector<Traces> inputs) {
  std::vector<Traces> values(graph.value_count());
  if (inputs.size() != graph.inputs().size())
    return Status(Code::invalid_argument,
                  cat("graph '", graph.name, "': has ", graph.inputs().size(), " inputs, ",
                      inputs.size(), " are given"));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values[index(graph.inputs()[i])] = std::move(inputs[i]);
  const auto value_of = [&](ValueId v) -> Result<Traces> {
    if (v == no_value) return Traces{BoundedValue::Kind::none, {}};
    if (graph.value(v).is_constant() && values[index(v)].tensors.empty()) {
      QUERN_ASSIGN(values[index(v)], traced_input({.tensors = {graph.value(v).constant}}));
    }
    return values[index(v)];
  };
  for (NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    std::vector<Traces> in;
    for (ValueId v : n.inputs) {
      QUERN_ASSIGN(in.emplace_back(), value_of(v));
    }
    QUERN_ASSIGN(std::vector<Traces> out, node(graph, n, in));
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      if (n.outputs[i] != no_value) values[index(n.outputs[i])] = std::move(out[i]);
  }
  std::vector<Traces> outputs;
  for (ValueId v : graph.outputs()) {
    QUERN_ASSIGN(outputs.emplace_back(), value_of(v));
  }
  return outputs;
}

Result<std::vector<BoundedValue>> evaluate_with_bounds(const Graph& graph,
                                                       std::span<const OracleInput> inputs,
                                                       const BoundOptions& options) {
  std::vector<Traces> in;
  for (const OracleInput& input : inputs) {
    QUERN_ASSIGN(in.emplace_back(), traced_input(input));
  }
  QUERN_ASSIGN(const std::vector<Traces> out, Walk(graph.ops(), options).run(graph, std::move(in)));
  std::vector<BoundedValue> results;
  results.reserve(out.size());
  for (const Traces& t : out) results.push_back(bounded(t));
  return results;
}

}  // namespace quern::tools
