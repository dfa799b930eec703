// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/reshape.h"
#include "graph/text.h"

namespace quern {

Graph Graph::clone() const {
  Graph g(ops_);
  g.name = name;
  g.values_ = values_;
  g.nodes_.reserve(nodes_.size());
  for (const Node& n : nodes_) {
    Node& copy = g.nodes_.emplace_back(Node{n.op,
                                            n.name,
                                            n.inputs,
                                            n.outputs,
                                            n.post_ops,
                                            n.operands,
                                            {},
                                            n.alive,
                                            n.use_slots,
                                            n.stale_types});
    for (const Graph& body : n.bodies) copy.bodies.push_back(body.clone());
  }
  g.order_.assign(order().begin(), order().end());
  g.positions_ = positions_;
  g.inputs_ = inputs_;
  g.outputs_ = outputs_;
  g.output_names_ = output_names_;
  g.input_maps_ = input_maps_;
  g.output_maps_ = output_maps_;
  g.symbols_ = symbols_;
  g.symbol_ids_ = symbol_ids_;
  return g;
}

// ---- building ----------------------------------------------------------------------------------

ValueId Graph::add_input(std::string name, ValueType type) {
  const ValueId id{static_cast<std::uint32_t>(values_.size())};
  values_.push_back({.name = std::move(name), .type = std::move(type)});
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_constant(Tensor tensor, std::string name) {
  const ValueId id{static_cast<std::uint32_t>(values_.size())};
  ValueType type(tensor.type());
  values_.push_back(
      {.name = std::move(name), .type = std::move(type), .constant = std::move(tensor)});
  return id;
}

Result<NodeId> Graph::add_node(Op op, std::vector<ValueId> inputs, std::string name,
                               std::size_t outputs, std::vector<Graph> bodies) {
  QUERN_TRY(check_arity(def(op), inputs, outputs, name));
  const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  nodes_.push_back({.op = std::move(op),
                    .name = std::move(name),
                    .inputs = std::move(inputs),
                    .bodies = std::move(bodies)});
  const std::size_t values = values_.size();
  for (std::size_t i = 0; i < outputs; ++i) {
    nodes_.back().outputs.push_back(ValueId{static_cast<std::uint32_t>(values + i)});
    values_.push_back({.producer = id, .producer_output = static_cast<std::uint32_t>(i)});
  }
  auto types = infer_node(id);
  if (!types) {
    nodes_.pop_back();
    values_.resize(values);
    return std::move(types).error();
  }
  for (std::size_t i = 0; i < outputs; ++i) values_[values + i].type = std::move((*types)[i]);
  link(id);
  order_.push_back(id);
  touch(id);
  return id;
}

Result<ValueId> Graph::add(Op op, std::vector<ValueId> inputs, std::string name) {
  QUERN_ASSIGN(const NodeId id, add_node(std::move(op), std::move(inputs), std::move(name)));
  return node(id).outputs[0];
}

void Graph::add_output(ValueId value, std::string name) {
  outputs_.push_back(value);
  output_names_.push_back(std::move(name));
  ++values_[index(value)].handed_out;
}

void Graph::set_output(std::size_t i, ValueId value) {
  --values_[index(outputs_[i])].handed_out;
  touch(this->value(outputs_[i]).producer);
  outputs_[i] = value;
  ++values_[index(value)].handed_out;
}

void Graph::erase_input(std::size_t i) {
  inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(i));
}

void Graph::erase_output(std::size_t i) {
  --values_[index(outputs_[i])].handed_out;
  touch(value(outputs_[i]).producer);
  outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(i));
  output_names_.erase(output_names_.begin() + static_cast<std::ptrdiff_t>(i));
}

Dim Graph::symbol(std::string_view name) {
  const auto [it, is_new] =
      symbol_ids_.try_emplace(std::string(name), static_cast<std::uint32_t>(symbols_.size()));
  if (is_new) symbols_.emplace_back(name);
  return Dim::symbol(it->second);
}

ValueType Graph::adopt(ValueType type, const Graph& from) {
  if (type.dims)
    for (Dim& d : *type.dims)
      if (d.is_symbol()) d = symbol(from.symbols()[d.symbol_id()]);
  return type;
}

Status Graph::check_arity(const OpDef& def, std::span<const ValueId> inputs, std::size_t outputs,
                          std::string_view name) const {
  const auto fail = [&](std::string_view what) {
    return Status(Code::invalid_model,
                  cat("node '", printable(name), "' (", def.name, "): ", what));
  };
  const auto range = [](Arity a) {
    return a.max == any_number ? cat("at least ", a.min)
           : a.min == a.max    ? cat(a.min)
                               : cat(a.min, " to ", a.max);
  };
  if (inputs.size() < def.inputs.min || inputs.size() > def.inputs.max)
    return fail(cat("has ", inputs.size(), " inputs, wants ", range(def.inputs)));
  if (outputs < def.outputs.min || outputs > def.outputs.max)
    return fail(cat("has ", outputs, " outputs, wants ", range(def.outputs)));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == no_value) {
      if (i < def.inputs.min && !def.is(OpTrait::structural))
        return fail(cat("input ", i, " is left out, but it is not optional"));
    } else if (index(inputs[i]) >= values_.size()) {
      return fail(cat("input ", i, " is no value of this graph"));
    }
  }
  return {};
}

namespace {

// Sequences and optionals are for structural ops, and Identity hands on anything.
Status run_infer(const OpDef& def, const Op& op, InferContext& c) {
  if (!def.is(OpTrait::structural) && !op.is<Identity>())
    for (std::size_t i = 0; i < c.input_count(); ++i)
      if (c.has(i) && !c.type(i).is_tensor())
        return c.error(cat(c.describe(i), " must be a tensor"));
  return def.infer(c);
}

}  // namespace

Result<std::vector<ValueType>> Graph::infer(const Op& op, std::span<const ValueId> inputs,
                                            std::size_t outputs, std::string_view name) const {
  QUERN_TRY(check_arity(def(op), inputs, outputs, name));
  std::vector<InferInput> in(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == no_value) continue;
    const Value& v = value(inputs[i]);
    in[i] = {true, v.type, v.is_constant() ? &v.constant : nullptr};
  }
  InferContext context(op, def(op).name, name, in, outputs);
  QUERN_TRY(run_infer(def(op), op, context));
  return std::vector<ValueType>(context.outputs().begin(), context.outputs().end());
}

Result<std::vector<ValueType>> Graph::infer_node(NodeId id) {
  const Node& n = node(id);
  std::vector<InferInput> in(n.inputs.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (n.inputs[i] == no_value) continue;
    const Value& v = value(n.inputs[i]);
    in[i] = {true, v.type, v.is_constant() ? &v.constant : nullptr};
  }
  std::vector<std::vector<ValueType>> body_outputs;
  for (const Graph& body : n.bodies) {
    auto& types = body_outputs.emplace_back();
    for (ValueId v : body.outputs()) types.push_back(adopt(body.type(v), body));
  }
  InferContext context(n.op, def(n.op).name, n.name, in, n.outputs.size(), body_outputs);
  QUERN_TRY(run_infer(def(n.op), n.op, context));
  return std::vector<ValueType>(context.outputs().begin(), context.outputs().end());
}

namespace {

// `was` made more precise by `is`; nullopt if they contradict each other.
std::optional<ValueType> meet_types(const ValueType& was, const ValueType& is) {
  if (was.dtype != is.dtype || was.kind != is.kind) return std::nullopt;
  if (!was.dims || !is.dims) return was.dims ? was : is;
  auto dims = meet(*was.dims, *is.dims);
  if (!dims) return std::nullopt;
  return ValueType(was.dtype, std::move(dims), was.kind);
}

}  // namespace

// All outputs or none.
Status Graph::take_types(NodeId id, std::vector<ValueType> types) {
  const Node& n = node(id);
  for (std::size_t i = 0; i < n.outputs.size(); ++i) {
    if (n.outputs[i] == no_value) continue;
    auto both = meet_types(type(n.outputs[i]), types[i]);
    if (!both)
      return {Code::internal, cat("node '", printable(n.name), "' (", def(id).name, "): output ", i,
                                  " is ", type_text(type(n.outputs[i]), this), " and would become ",
                                  type_text(types[i], this))};
    types[i] = std::move(*both);
  }
  for (std::size_t i = 0; i < n.outputs.size(); ++i)
    if (n.outputs[i] != no_value && type(n.outputs[i]) != types[i])
      set_type(n.outputs[i], std::move(types[i]));
  return {};
}

bool Graph::refine_types(NodeId id) {
  if (!node(id).stale_types) return false;
  nodes_[index(id)].stale_types = false;
  std::vector<ValueType> before;
  for (ValueId v : node(id).outputs) before.push_back(v == no_value ? ValueType() : type(v));
  auto types = infer_node(id);
  const bool is_refused = !types || !take_types(id, std::move(*types)).ok();
  nodes_[index(id)].is_refused = is_refused;
  if (is_refused) return false;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (ValueId v = node(id).outputs[i]; v != no_value && type(v) != before[i]) return true;
  return false;
}

// ---- uses --------------------------------------------------------------------------------------

void Graph::add_use(ValueId value, NodeId node, std::uint32_t read) {
  auto& uses = values_[index(value)].uses;
  nodes_[index(node)].use_slots[read] = static_cast<std::uint32_t>(uses.size());
  uses.push_back({node, read});
}

void Graph::touch(NodeId id) {
  if (touched_ && id != no_node) touched_->push_back(id);
}

// Marks the readers of a value whose type has changed.
void Graph::touch_readers(ValueId id) {
  for (Use u : value(id).uses) {
    nodes_[index(u.node)].stale_types = true;
    touch(u.node);
  }
}

void Graph::remove_use(ValueId value, std::uint32_t slot) {
  auto& uses = values_[index(value)].uses;
  uses[slot] = uses.back();
  nodes_[index(uses[slot].node)].use_slots[uses[slot].read] = slot;
  uses.pop_back();
}

void Graph::link(NodeId id) {
  Node& n = nodes_[index(id)];
  n.use_slots.assign(n.read_count(), 0);
  for (std::uint32_t i = 0; i < n.read_count(); ++i)
    if (n.read(i) != no_value) add_use(n.read(i), id, i);
}

void Graph::unlink(NodeId id) {
  Node& n = nodes_[index(id)];
  for (std::uint32_t i = 0; i < n.read_count(); ++i) {
    if (n.read(i) == no_value) continue;
    remove_use(n.read(i), n.use_slots[i]);
    const Value& v = value(n.read(i));
    touch(v.producer);
    if (v.uses.size() == 1) touch(v.uses[0].node);
  }
}

// ---- order -------------------------------------------------------------------------------------

std::size_t Graph::node_count() const {
  return order().size();
}

std::span<const NodeId> Graph::order() const {
  if (order_is_stale_) sort();
  return order_;
}

// Kahn's algorithm, always taking the ready node that stood earliest: an order that was right
// stays.
void Graph::sort() const {
  std::vector<std::uint32_t> position(nodes_.size(), 0);
  std::vector<std::uint32_t> missing(nodes_.size(), 0);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < order_.size(); ++i) {
    const Node& n = node(order_[i]);
    if (!n.alive) continue;
    position[index(order_[i])] = i;
    std::uint32_t waits = 0;
    for (ValueId v : n.reads()) waits += v != no_value && value(v).producer != no_node;
    missing[index(order_[i])] = waits;
    if (waits == 0) ready.push(i);
  }
  std::vector<NodeId> sorted;
  sorted.reserve(order_.size());
  while (!ready.empty()) {
    const NodeId id = order_[ready.top()];
    ready.pop();
    sorted.push_back(id);
    for (ValueId v : node(id).outputs) {
      if (v == no_value) continue;
      for (Use u : value(v).uses)
        if (--missing[index(u.node)] == 0) ready.push(position[index(u.node)]);
    }
  }
  order_ = std::move(sorted);
  order_is_stale_ = false;
  number_positions();
}

void Graph::number_positions() const {
  positions_.assign(nodes_.size(), 0);
  for (std::uint32_t i = 0; i < order_.size(); ++i) positions_[index(order_[i])] = i;
}

bool Graph::acyclic() const {
  const auto alive = static_cast<std::size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.alive; }));
  return order().size() == alive;
}

// ---- changing ----------------------------------------------------------------------------------

Status Graph::replace(NodeId id, Op op, std::vector<ValueId> inputs, PostOps post_ops,
                      std::vector<ValueId> operands) {
  Node& n = nodes_[index(id)];
  const auto swap_in = [&] {
    unlink(id);
    // Not by std::swap: that of a variant makes code for every pair of alternatives.
    op = std::exchange(n.op, std::move(op));
    std::swap(n.inputs, inputs);
    std::swap(n.post_ops, post_ops);
    std::swap(n.operands, operands);
    link(id);
  };
  swap_in();
  auto types = infer_node(id);
  Status s = types ? take_types(id, std::move(*types)) : std::move(types).error();
  if (!s.ok()) {
    swap_in();
    return s;
  }
  n.stale_types = n.is_refused = false;
  order_is_stale_ = true;
  touch(id);
  for (ValueId v : n.outputs)
    if (v != no_value)
      for (Use u : value(v).uses) touch(u.node);
  return s;
}

void Graph::set_type(ValueId id, ValueType type) {
  values_[index(id)].type = std::move(type);
  touch_readers(id);
}

void Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  touch_readers(from);
  for (Use u : values_[index(from)].uses) {
    Node& n = nodes_[index(u.node)];
    (u.read < n.inputs.size() ? n.inputs[u.read] : n.operands[u.read - n.inputs.size()]) = to;
    add_use(to, u.node, u.read);
  }
  values_[index(from)].uses.clear();
  touch(value(from).producer);
  touch(value(to).producer);
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i] == from) set_output(i, to);
  order_is_stale_ = true;
}

void Graph::make_constant(ValueId id, Tensor tensor) {
  Value& v = values_[index(id)];
  if (v.producer != no_node) drop_output(v.producer, v.producer_output);
  v.type = ValueType(tensor.type());
  v.constant = std::move(tensor);
  touch_readers(id);
}

Graph& Graph::body(NodeId id, std::size_t i) {
  nodes_[index(id)].stale_types = true;
  touch(id);
  return nodes_[index(id)].bodies[i];
}

void Graph::drop_output(NodeId id, std::size_t output) {
  ValueId& slot = nodes_[index(id)].outputs[output];
  if (slot == no_value) return;
  values_[index(slot)].producer = no_node;
  slot = no_value;
  touch(id);
}

void Graph::erase(NodeId id) {
  Node& n = nodes_[index(id)];
  if (!n.alive) return;
  unlink(id);
  // Results of folding would pile up otherwise.
  for (ValueId v : n.reads())
    if (v != no_value && value(v).uses.empty() && !is_output(v)) values_[index(v)].constant = {};
  n.alive = false;
  n.inputs.clear();
  n.operands.clear();
  n.use_slots.clear();
  n.bodies.clear();
  order_is_stale_ = true;
}

std::size_t Graph::erase_dead() {
  std::size_t erased = 0;
  const std::vector<NodeId> nodes(order().begin(), order().end());
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const auto& outputs = node(*it).outputs;
    const bool needed = std::any_of(outputs.begin(), outputs.end(), [&](ValueId v) {
      return v != no_value && (!value(v).uses.empty() || is_output(v));
    });
    if (needed) continue;
    erase(*it);
    ++erased;
  }
  return erased;
}

namespace {

constexpr std::uint32_t forgotten = std::numeric_limits<std::uint32_t>::max();

// Keeps the items that `is_kept` names by index; returns where each went, or `forgotten`.
template <class T, class IsKept>
std::vector<std::uint32_t> keep(std::vector<T>& items, IsKept is_kept) {
  std::vector<std::uint32_t> places(items.size(), forgotten);
  std::vector<T> kept;
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (is_kept(i)) places[i] = count++;
  kept.reserve(count);
  for (std::size_t i = 0; i < items.size(); ++i)
    if (places[i] != forgotten) kept.push_back(std::move(items[i]));
  items = std::move(kept);
  return places;
}

template <class Id>
void move_ids(std::vector<Id>& ids, const std::vector<std::uint32_t>& places, Id none) {
  for (Id& id : ids)
    if (id != none) id = Id{places[index(id)]};
}

}  // namespace

void Graph::compact() {
  std::vector<bool> is_input(values_.size(), false);
  for (ValueId v : inputs_) is_input[index(v)] = true;
  if (order_is_stale_) sort();
  const auto value_places = keep(values_, [&](std::size_t i) {
    const Value& v = values_[i];
    const bool is_defined = v.producer != no_node && alive(v.producer);
    return is_input[i] || is_defined || !v.uses.empty() || v.handed_out > 0;
  });
  const auto node_places = keep(nodes_, [&](std::size_t i) { return nodes_[i].alive; });
  for (Value& v : values_) {
    if (v.producer != no_node) v.producer = NodeId{node_places[index(v.producer)]};
    for (Use& u : v.uses) u.node = NodeId{node_places[index(u.node)]};
  }
  for (Node& n : nodes_) {
    move_ids(n.inputs, value_places, no_value);
    move_ids(n.outputs, value_places, no_value);
    move_ids(n.operands, value_places, no_value);
    for (Graph& body : n.bodies) body.compact();
  }
  move_ids(inputs_, value_places, no_value);
  move_ids(outputs_, value_places, no_value);
  move_ids(order_, node_places, no_node);
  number_positions();
}

}  // namespace quern
