// SPDX-License-Identifier: Apache-2.0
// Branches that are known, and what bodies are given from outside.
#include "graph/ops/control_flow.h"

#include <algorithm>
#include <unordered_map>

#include "graph/ops/sequences.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

// Inputs that are not captures: of the node, and of its bodies.
struct OwnInputs {
  std::size_t node = 0;
  std::size_t body = 0;
};
std::optional<OwnInputs> own_operands(const Node& n) {
  const auto same = [](std::int64_t k) {
    return OwnInputs{static_cast<std::size_t>(k), static_cast<std::size_t>(k)};
  };
  if (n.as<If>()) return OwnInputs{1, 0};
  if (const auto* loop = n.as<Loop>()) return same(2 + loop->carried);
  if (const auto* scan = n.as<Scan>()) return same(scan->states + scan->scanned_inputs);
  if (const auto* map = n.as<SequenceMap>()) return same(map->inputs);
  return std::nullopt;
}

// The bodies agree with the node about the captures.
bool is_consistent(const Node& n, const OwnInputs& own) {
  return !n.bodies.empty() && n.inputs.size() >= own.node &&
         std::ranges::all_of(n.bodies, [&](const Graph& body) {
           return body.inputs().size() == own.body + n.inputs.size() - own.node;
         });
}

bool is_unread(const Graph& g, ValueId v) {
  return g.value(v).uses.empty() && !g.is_output(v);
}

// Takes capture `k` from the node and its bodies, after f(body, the input there) has made an end of
// its uses.
template <class F>
Result<bool> drop_capture(Graph& g, NodeId id, const OwnInputs& own, std::size_t k, F&& f) {
  std::vector<ValueId> inputs = g.node(id).inputs;
  inputs.erase(inputs.begin() + static_cast<long>(own.node + k));
  if (!g.replace(id, Op(g.node(id).op), std::move(inputs)).ok()) return false;
  for (std::size_t b = 0; b < g.node(id).bodies.size(); ++b) {
    Graph& body = g.body(id, b);
    f(body, body.inputs()[own.body + k]);
    body.erase_input(own.body + k);
  }
  return true;
}

// ---- inlining ----------------------------------------------------------------------------------

class Inliner {
 public:
  Inliner(Graph& g, const Graph& body) : g_(g), body_(body) {}

  void bind(ValueId inside, ValueId outside) { outside_[index(inside)] = outside; }

  Status run() {
    for (NodeId id : body_.order()) QUERN_TRY(add(id));
    return {};
  }

  ValueId outside(ValueId v) {
    if (v == no_value) return no_value;
    const auto it = outside_.find(index(v));
    if (it != outside_.end()) return it->second;
    const ValueId copy = g_.add_constant(body_.value(v).constant, body_.value(v).name);
    bind(v, copy);
    return copy;
  }

 private:
  Status add(NodeId id) {
    const Node& n = body_.node(id);
    std::vector<ValueId> inputs;
    std::vector<ValueId> operands;
    for (ValueId v : n.inputs) inputs.push_back(outside(v));
    for (ValueId v : n.operands) operands.push_back(outside(v));
    std::vector<Graph> bodies;
    for (const Graph& inner : n.bodies) bodies.push_back(inner.clone());
    QUERN_ASSIGN(const NodeId made,
                 g_.add_node(n.op, inputs, n.name, n.outputs.size(), std::move(bodies)));
    if (!n.post_ops.empty())
      QUERN_TRY(g_.replace(made, n.op, std::move(inputs), n.post_ops, std::move(operands)));
    for (std::size_t i = 0; i < n.outputs.size(); ++i) take_output(n, made, i);
    return {};
  }

  void take_output(const Node& n, NodeId made, std::size_t i) {
    if (n.outputs[i] == no_value) return g_.drop_output(made, i);
    const ValueId v = g_.node(made).outputs[i];
    const ValueType inside = g_.adopt(body_.type(n.outputs[i]), body_);
    const ValueType& type = g_.type(v);
    if (inside.dims && type.dims && inside.kind == type.kind)
      if (auto both = meet(*type.dims, *inside.dims))
        g_.set_type(v, ValueType(type.dtype, std::move(both), type.kind));
    g_.set_name(v, body_.value(n.outputs[i]).name);
    bind(n.outputs[i], v);
  }

  Graph& g_;
  const Graph& body_;
  std::unordered_map<std::uint32_t, ValueId> outside_;
};

}  // namespace

// if(true) then a else b  =>  a, if(false)  =>  b
Result<bool> inline_if(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto condition = constant_bool(g, n.inputs[0]);
  if (!condition || !is_consistent(n, {1, 0}) || n.bodies.size() != 2) return false;
  const Graph body = n.bodies[*condition ? 0 : 1].clone();
  const std::vector<ValueId> outputs = n.outputs;
  if (body.outputs().size() != outputs.size()) return false;
  Inliner inliner(g, body);
  for (std::size_t i = 0; i < body.inputs().size(); ++i) {
    if (n.inputs[i + 1] == no_value) return false;
    inliner.bind(body.inputs()[i], n.inputs[i + 1]);
  }
  // On failure the nodes added so far are dead and will be removed.
  if (!inliner.run().ok()) return false;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != no_value) g.replace_uses(outputs[i], inliner.outside(body.outputs()[i]));
  return true;
}

// a body that captures a constant  =>  a body that holds it
Result<bool> move_constants_into_bodies(Graph& g, NodeId id) {
  const auto own = own_operands(g.node(id));
  if (!own || !is_consistent(g.node(id), *own)) return false;
  for (std::size_t k = 0; own->node + k < g.node(id).inputs.size(); ++k) {
    const ValueId outside = g.node(id).inputs[own->node + k];
    if (outside == no_value || !g.value(outside).is_constant()) continue;
    const Tensor constant = g.value(outside).constant;
    return drop_capture(g, id, *own, k, [&](Graph& body, ValueId inside) {
      body.replace_uses(inside, body.add_constant(constant, body.value(inside).name));
    });
  }
  return false;
}

// a body that captures what it does not read  =>  a body that does not
Result<bool> drop_captures(Graph& g, NodeId id) {
  const auto own = own_operands(g.node(id));
  if (!own || !is_consistent(g.node(id), *own)) return false;
  for (std::size_t k = 0; own->node + k < g.node(id).inputs.size(); ++k) {
    const bool unread = std::ranges::all_of(g.node(id).bodies, [&](const Graph& body) {
      return is_unread(body, body.inputs()[own->body + k]);
    });
    if (unread) return drop_capture(g, id, *own, k, [](Graph&, ValueId) {});
  }
  return false;
}

}  // namespace quern::passes
