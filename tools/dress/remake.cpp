// SPDX-License-Identifier: Apache-2.0
#include "tools/dress/remake.h"

namespace quern::tools {

Remake::Remake(const Graph& from, BodyTypes body_types)
    : from_(from),
      body_types_(std::move(body_types)),
      into_(from.ops()),
      map_(from.value_count(), no_value) {
  into_.name = from.name;
}

ValueId Remake::at(ValueId old) {
  if (old == no_value) return no_value;
  ValueId& mine = map_[index(old)];
  const Value& v = from_.value(old);
  if (mine == no_value && v.is_constant()) mine = into_.add_constant(v.constant, v.name);
  return mine;
}

Result<Graph> Remake::body(const Graph& old) const {
  if (!body_types_) return old.clone();
  Remake inner(old, body_types_);
  QUERN_TRY(inner.run([&](Graph& into, std::size_t i) -> Result<ValueId> {
    const Value& v = old.value(old.inputs()[i]);
    return into.add_input(v.name, body_types_(into.adopt(v.type, old)));
  }));
  return inner.finish();
}

Status Remake::add(NodeId id) {
  const Node& n = from_.node(id);
  std::vector<ValueId> inputs;
  std::vector<ValueId> operands;
  for (ValueId v : n.inputs) inputs.push_back(at(v));
  for (ValueId v : n.operands) operands.push_back(at(v));
  std::vector<Graph> bodies;
  for (const Graph& old : n.bodies) {
    QUERN_ASSIGN(Graph made, body(old));
    bodies.push_back(std::move(made));
  }
  QUERN_ASSIGN(const NodeId mine,
               into_.add_node(n.op, inputs, n.name, n.outputs.size(), std::move(bodies)));
  if (!n.post_ops.empty())
    QUERN_TRY(into_.replace(mine, n.op, inputs, n.post_ops, std::move(operands)));
  for (std::size_t i = 0; i < n.outputs.size(); ++i) {
    if (n.outputs[i] == no_value) {
      into_.drop_output(mine, i);
      continue;
    }
    map_[index(n.outputs[i])] = into_.node(mine).outputs[i];
    into_.set_name(map_[index(n.outputs[i])], from_.value(n.outputs[i]).name);
  }
  return {};
}

Status Remake::run(const InputMaker& make_input) {
  for (std::size_t i = 0; i < from_.inputs().size(); ++i) {
    QUERN_ASSIGN(map_[index(from_.inputs()[i])], make_input(into_, i));
  }
  for (NodeId id : from_.order()) QUERN_TRY(add(id));
  return {};
}

Graph Remake::finish() {
  for (std::size_t i = 0; i < from_.outputs().size(); ++i)
    into_.add_output(at(from_.outputs()[i]), std::string(from_.output_names()[i]));
  return std::move(into_);
}

}  // namespace quern::tools
