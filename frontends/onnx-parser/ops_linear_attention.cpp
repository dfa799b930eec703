// SPDX-License-Identifier: Apache-2.0
// LinearAttention (opset 27): a scan over the positions, whose state S is a matrix per head.
//
//   S' = decayed S + k (x) u,   o = scale q S'
//   decayed S = exp(g) S for the gated rules, else S
//   u = beta (v - k decayed S) for the delta rules, else v
#include <cmath>

#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/binary.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/matmul.h"
#include "graph/ops/reshape.h"
#include "graph/ops/unary.h"

namespace quern::onnx {

void import_linear_attention(NodeImport& n);

namespace {

struct Rule {
  bool gated = false;
  bool delta = false;
};

// The body, with the first error.
class Body {
 public:
  explicit Body(Graph graph) : graph_(std::move(graph)) {}

  ValueId in(std::size_t i) const { return graph_.inputs()[i]; }
  ValueId add(Op op, std::vector<ValueId> inputs) {
    if (!status_.ok()) return no_value;
    auto v = graph_.add(std::move(op), std::move(inputs));
    if (v) return *v;
    status_ = std::move(v).error();
    return no_value;
  }
  ValueId unsqueeze(ValueId x, std::int64_t axis) {
    const Tensor axes = Tensor::from_values<std::int64_t>(DType::i64, Shape{1}, {{axis}});
    return add(Unsqueeze{}, {x, graph_.add_constant(axes)});
  }
  void output(ValueId v) {
    if (status_.ok()) graph_.add_output(v, {});
  }
  const Status& status() const { return status_; }
  Graph take() && { return std::move(graph_); }

 private:
  Graph graph_;
  Status status_;
};

// Inputs S [b, h, dk, dv], q [b, h, group, dk], k [b, h, dk], v [b, h, dv], decay [b, h, dk or 1]?,
// beta [b, h or 1, 1]?; outputs S' and o [b, h, group, dv].
void build_step(Body& body, const Rule& rule) {
  const auto binary = [&](BinaryKind kind, ValueId a, ValueId b) {
    return body.add(Binary{.kind = kind}, {a, b});
  };
  ValueId s = body.in(0);
  std::size_t next = 4;
  if (rule.gated) {
    const ValueId decay = body.add(Unary{.kind = UnaryKind::exp}, {body.in(next++)});
    s = binary(BinaryKind::mul, s, body.unsqueeze(decay, -1));
  }
  const ValueId k = body.in(2);
  ValueId u = body.unsqueeze(body.in(3), -2);
  if (rule.delta) {
    const ValueId known = body.add(MatMul{}, {body.unsqueeze(k, -2), s});
    const ValueId beta = body.unsqueeze(body.in(next), -1);
    u = binary(BinaryKind::mul, beta, binary(BinaryKind::sub, u, known));
  }
  s = binary(BinaryKind::add, s, binary(BinaryKind::mul, body.unsqueeze(k, -1), u));
  body.output(s);
  body.output(body.add(MatMul{}, {body.in(1), s}));
}

// The operand in f32 with its last dimension split.
ValueId unpacked(NodeImport& n, ValueId x, const Ints& shape) {
  return reshape(n, cast(n, x, DType::f32), shape);
}

ValueId scaled_query(NodeImport& n, ValueId q) {
  const float given = n.number("scale", 0);
  if (given != 0) return mul(n, q, given);
  const Dim width = n.dim(q, 4);
  if (width.known() && !width.is(0))
    return mul(n, q, 1 / std::sqrt(static_cast<double>(width.value())));
  return div(n, q, unary(n, UnaryKind::sqrt, cast(n, dims_of(n, q, 4, 5), DType::f32)));
}

ValueId first_state(NodeImport& n, ValueId k, ValueId v) {
  if (n.has(3)) return cast(n, n.in(3), DType::f32);
  const ValueId shape =
      join_dims(n, {dims_of(n, k, 0, 1), dims_of(n, k, 2, 4), dims_of(n, v, 3, 4)});
  return filled(n, shape, DType::f32, 0);
}

Rule read_rule(NodeImport& n) {
  return n.choice<Rule>("update_rule", "gated_delta",
                        {{"linear", {false, false}},
                         {"gated", {true, false}},
                         {"delta", {false, true}},
                         {"gated_delta", {true, true}}});
}

// The input types of one step of the scan: the whole state, and one position (axis 1) of the
// others.
std::vector<ValueType> step_types(const NodeImport& n, const std::vector<ValueId>& inputs) {
  std::vector<ValueType> types;
  types.reserve(inputs.size());
  for (ValueId v : inputs) types.push_back(n.type(v));
  for (std::size_t i = 1; i < types.size(); ++i)
    if (types[i].dims && types[i].dims->size() > 1)
      types[i].dims->erase(types[i].dims->begin() + 1);
  return types;
}

}  // namespace

void import_linear_attention(NodeImport& n) {
  n.ignore("chunk_size");  // a hint
  const Rule rule = read_rule(n);
  const std::int64_t q_heads = n.integer("q_num_heads");
  const std::int64_t heads = n.integer("kv_num_heads");
  if (!n.ok() || heads < 1 || q_heads < 1 || q_heads % heads != 0)
    return n.fail("q_num_heads must be a positive multiple of kv_num_heads");
  if ((rule.gated && !n.has(4)) || (rule.delta && !n.has(5)))
    return n.fail("its update rule wants a decay or beta that is left out");
  const ValueId q = unpacked(n, n.in(0), {0, 0, heads, q_heads / heads, -1});
  const ValueId k = unpacked(n, n.in(1), {0, 0, heads, -1});
  const ValueId v = unpacked(n, n.in(2), {0, 0, heads, -1});
  std::vector<ValueId> inputs = {first_state(n, k, v), scaled_query(n, q), k, v};
  if (rule.gated) inputs.push_back(unpacked(n, n.in(4), {0, 0, heads, -1}));
  if (rule.delta) inputs.push_back(unpacked(n, n.in(5), {0, 0, -1, 1}));
  if (!n.ok()) return;
  Body body(n.new_body(step_types(n, inputs)));
  build_step(body, rule);
  if (!body.status().ok()) return n.fail(body.status().message(), body.status().code());
  const auto scanned = static_cast<std::int64_t>(inputs.size()) - 1;
  const Scan op{.states = 1,
                .scanned_inputs = scanned,
                .input_axes = Ints(inputs.size() - 1, 1),
                .output_axes = {1}};
  std::vector<Graph> bodies;
  bodies.push_back(std::move(body).take());
  const auto outputs = n.add_many(op, inputs, 2, std::move(bodies));
  n.set(0, cast(n, reshape(n, outputs[1], Ints{0, 0, -1}), n.dtype(n.in(0))));
  n.set(1, cast(n, outputs[0], n.has(3) ? n.dtype(n.in(3)) : n.dtype(n.in(0))));
}

}  // namespace quern::onnx
