// SPDX-License-Identifier: Apache-2.0
#include "engine/compile/specialize.h"

#include <algorithm>
#include <optional>

#include "engine/compile/declared_types.h"
#include "engine/planning/abstract_node.h"
#include "engine/planning/abstract_values.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/concat.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/reshape.h"
#include "graph/ops/sequences.h"
#include "graph/ops/split.h"

namespace quern {
namespace {

// The maximum size of a plan-time operand that the run computes: shapes, axes, a condition. A
// larger one is a mistake in the model.
constexpr std::size_t answer_bytes = 64 << 10;
constexpr int max_inline_depth = 64;
constexpr std::size_t max_inlined_nodes = 1 << 20;

using specializing::Abstract;
using specializing::fold_node;
using specializing::infer_node;
using specializing::State;
using specializing::Waiting;

}  // namespace

class ResumePoint {
 public:
  explicit ResumePoint(State s) : state(std::move(s)) {}
  const State state;
};

namespace {

// ---- one segment -------------------------------------------------------------------------------

class Specializer {
 public:
  Specializer(State state, const Stop* stop)
      : s_(std::move(state)), segment_(s_.scopes[0].graph->ops()), stop_(stop) {
    ++s_.epoch;
    segment_.graph.name = s_.scopes[0].graph->name;
  }

  // All nodes of the main graph that the wanted outputs need.
  Status run_main() {
    const Graph& g = *s_.scopes[0].graph;
    std::vector<bool> needed(g.value_count(), false);
    for (ValueId v : s_.wanted) needed[index(v)] = true;
    std::vector<NodeId> nodes;
    const auto order = g.order();
    for (std::size_t i = order.size(); i-- > 0;) {
      const Node& n = g.node(order[i]);
      const bool wanted = std::any_of(n.outputs.begin(), n.outputs.end(),
                                      [&](ValueId v) { return v != no_value && needed[index(v)]; });
      if (!wanted) continue;
      nodes.push_back(order[i]);
      for (ValueId v : n.reads())
        if (v != no_value) needed[index(v)] = true;
    }
    std::reverse(nodes.begin(), nodes.end());
    for (NodeId id : nodes) QUERN_TRY(visit(0, id));
    return {};
  }

  Status run_waiting(std::span<const RuntimeValue> resolved) {
    for (std::size_t i = 0; i < s_.unresolved.size(); ++i)
      QUERN_TRY(resolve(s_.unresolved[i], resolved[i]));
    s_.unresolved.clear();
    const std::vector<Waiting> nodes = std::move(s_.waiting);
    s_.waiting.clear();
    for (const Waiting& w : nodes) QUERN_TRY(visit(w.scope, w.node));
    return {};
  }

  Result<Segment> finish() {
    QUERN_TRY(export_values());
    if (s_.waiting.empty()) {
      for (ValueId v : s_.wanted) segment_.results.push_back(result_of(0, v));
      s_.unresolved.clear();
    } else if (s_.unresolved.empty()) {
      const Waiting& w = s_.waiting.front();
      return error(w.scope, w.node, Code::internal, "waits for nothing");
    }
    segment_.slot_count = s_.slots.size();
    segment_.unresolved = s_.unresolved;
    if (!s_.waiting.empty()) segment_.rest = std::make_shared<ResumePoint>(std::move(s_));
    return std::move(segment_);
  }

 private:
  struct ValueAt {
    std::uint32_t scope;
    ValueId value;
  };

  Status error(std::uint32_t scope, NodeId id, Code code, std::string_view what) const {
    const Graph& g = *s_.scopes[scope].graph;
    return {code, cat("node '", printable(g.node(id).name), "' (", g.def(id).name, "): ", what)};
  }

  // ---- values

  // Follows forwards and slots to the value; its kind is unknown if it is not available yet.
  Abstract& resolve(std::uint32_t scope, ValueId v) { return follow(entry(scope, v)); }
  Abstract& follow(Abstract& start) {
    Abstract* a = &start;
    for (;;) {
      if (a->kind == Abstract::Kind::forward) {
        a = &entry(a->scope, a->at);
      } else if (a->kind == Abstract::Kind::in_slot) {
        a = &s_.slots[a->whole_slot];
      } else {
        return *a;
      }
    }
  }
  Abstract& entry(std::uint32_t scope, ValueId v) {
    Abstract& a = s_.scopes[scope].values[index(v)];
    const Value& value = s_.scopes[scope].graph->value(v);
    if (a.kind == Abstract::Kind::unknown && value.is_constant())
      a = Abstract::known(value.constant);
    return a;
  }
  void define(std::uint32_t scope, ValueId v, Abstract a) {
    if (v != no_value) s_.scopes[scope].values[index(v)] = std::move(a);
  }

  // The value in the graph of this segment: a constant, an input from an earlier one, or made here.
  ValueId here(Abstract& a) {
    if (a.epoch == s_.epoch && a.here != no_value) return a.here;
    if (a.constant.valid()) {
      a.here = segment_.graph.add_constant(a.constant);
    } else {
      a.here = segment_.graph.add_input({}, ValueType(a.type));
      segment_.inputs.push_back(*a.slot);
    }
    a.epoch = s_.epoch;
    return a.here;
  }

  Status resolve(const UnresolvedValue& q, const RuntimeValue& value) {
    Abstract& a = s_.slots[q.slot];
    if (q.about == UnresolvedValue::About::elements) {
      QUERN_ASSIGN(a.constant, Tensor::copy_of(value.tensor().type,
                                               {value.tensor().data, value.tensor().type.bytes()}));
      return {};
    }
    a = Abstract::in_run(value, q.slot);
    return {};
  }

  // ---- nodes

  void wait(std::uint32_t scope, NodeId id) { s_.waiting.push_back({scope, id}); }

  Status visit(std::uint32_t scope, NodeId id) {
    if (stop_) QUERN_TRY(stop_->check());
    const Graph& g = *s_.scopes[scope].graph;
    const Node& n = g.node(id);
    const OpDef& def = g.def(id);
    for (ValueId v : n.reads()) {
      if (v == no_value || resolve(scope, v).kind != Abstract::Kind::unknown) continue;
      wait(scope, id);
      return {};
    }
    if (!ask_for_operands(scope, n, def)) {
      wait(scope, id);
      return {};
    }
    if (n.as<If>()) return visit_if(scope, id);
    if (n.as<Loop>() || n.as<Scan>()) return visit_loop(scope, id);
    if (n.as<SequenceMap>()) return visit_sequence_map(scope, id);
    if (def.is(OpTrait::structural)) return visit_sequence_op(scope, id);
    if (n.as<Identity>() && resolve(scope, n.inputs[0]).kind != Abstract::Kind::tensor) {
      define(scope, n.outputs[0], Abstract::forward(scope, n.inputs[0]));
      return {};
    }
    return visit_tensor_op(scope, id);
  }

  // Returns true if the elements of all plan-time operands are known; requests the elements that
  // are not.
  bool ask_for_operands(std::uint32_t scope, const Node& n, const OpDef& def) {
    bool known = true;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == no_value || !def.needs_value(n.op, i)) continue;
      Abstract& a = resolve(scope, n.inputs[i]);
      if (a.kind != Abstract::Kind::tensor || a.constant.valid()) continue;
      known = false;
      asked_values_.push_back({scope, n.inputs[i]});
    }
    return known;
  }

  Status visit_tensor_op(std::uint32_t scope, NodeId id) {
    const Graph& g = *s_.scopes[scope].graph;
    const Node& n = g.node(id);
    const OpDef& def = g.def(id);
    if (n.as<Identity>() && resolve(scope, n.inputs[0]).kind != Abstract::Kind::tensor) {
      define(scope, n.outputs[0], resolve(scope, n.inputs[0]));  // passes on any kind of value
      return {};
    }
    std::vector<Abstract*> reads;
    for (ValueId v : n.reads()) reads.push_back(v == no_value ? nullptr : &resolve(scope, v));
    if (std::ranges::any_of(
            reads, [](const Abstract* a) { return a && a->kind != Abstract::Kind::tensor; }))
      return error(scope, id, Code::invalid_model, "takes tensors, not sequences or optionals");
    QUERN_ASSIGN(const std::vector<ValueType> types, infer_node(n, def, reads));
    if (auto folded = fold_node(g.ops(), n, def, reads, types, stop_)) {
      if (!*folded) return std::move(*folded).error();
      for (std::size_t i = 0; i < n.outputs.size(); ++i)
        define(scope, n.outputs[i], Abstract::known(std::move((**folded)[i])));
      return {};
    }
    std::vector<ValueId> here_read;
    here_read.reserve(reads.size());
    for (Abstract* a : reads) here_read.push_back(a ? here(*a) : no_value);
    return emit(scope, id, here_read, types);
  }

  // Puts the node into the static graph.
  Status emit(std::uint32_t scope, NodeId id, std::span<const ValueId> reads,
              std::span<const ValueType> types) {
    const Node& n = s_.scopes[scope].graph->node(id);
    QUERN_ASSIGN(const NodeId made, add_static(n, reads));
    const bool dynamic = s_.scopes[scope].graph->def(id).is(OpTrait::data_dependent);
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      const ValueId out = segment_.graph.node(made).outputs[i];
      if (n.outputs[i] == no_value) {
        segment_.graph.drop_output(made, i);
        continue;
      }
      segment_.graph.set_type(out, types[i]);
      segment_.graph.set_name(out, s_.scopes[scope].graph->value(n.outputs[i]).name);
      if (dynamic) {
        define(scope, n.outputs[i], Abstract::in_slot(new_dynamic_slot(out)));
      } else {
        define(scope, n.outputs[i], made_here(out));
      }
    }
    return {};
  }

  Result<NodeId> add_static(const Node& n, std::span<const ValueId> reads) {
    const auto middle = reads.begin() + static_cast<std::ptrdiff_t>(n.inputs.size());
    std::vector<ValueId> inputs(reads.begin(), middle);
    QUERN_ASSIGN(const NodeId made,
                 segment_.graph.add_node(n.op, inputs, n.name, n.outputs.size()));
    if (!n.post_ops.empty())
      QUERN_TRY(
          segment_.graph.replace(made, n.op, std::move(inputs), n.post_ops, {middle, reads.end()}));
    return made;
  }

  Abstract made_here(ValueId out) const {
    Abstract a =
        Abstract::of_type({segment_.graph.type(out).dtype, *segment_.graph.type(out).shape()});
    a.here = out;
    a.epoch = s_.epoch;
    return a;
  }

  Slot new_dynamic_slot(ValueId out) {
    const Slot slot = new_slot(Abstract());
    add_output(out, slot, OutputShape::from_run);
    s_.unresolved.push_back({UnresolvedValue::About::structure, slot});
    return slot;
  }

  Slot new_slot(Abstract value) {
    s_.slots.push_back(std::move(value));
    return static_cast<Slot>(s_.slots.size() - 1);
  }

  enum class OutputShape : std::uint8_t { planned, from_run };

  void add_output(ValueId v, Slot slot, OutputShape shape) {
    segment_.graph.add_output(v, segment_.graph.value(v).name);
    segment_.outputs.push_back(slot);
    segment_.dynamic_output.push_back(shape == OutputShape::from_run);
  }

  // ---- control flow

  // Executes `body` in a scope of its own with these inputs and returns the scope.
  Result<std::uint32_t> inline_body(std::uint32_t scope, NodeId id, const Graph& body,
                                    std::vector<Abstract> inputs) {
    s_.inlined_nodes += body.node_count();
    if (s_.scopes[scope].depth >= max_inline_depth || s_.inlined_nodes > max_inlined_nodes)
      return error(scope, id, Code::unsupported, "bodies nested too deep or too large");
    const auto inner = static_cast<std::uint32_t>(s_.scopes.size());
    s_.scopes.push_back(
        {&body, std::vector<Abstract>(body.value_count()), s_.scopes[scope].depth + 1});
    for (std::size_t i = 0; i < inputs.size(); ++i)
      define(inner, body.inputs()[i], std::move(inputs[i]));
    for (NodeId node : body.order()) QUERN_TRY(visit(inner, node));
    return inner;
  }

  Status visit_if(std::uint32_t scope, NodeId id) {
    const Node& n = s_.scopes[scope].graph->node(id);
    const Abstract& condition = resolve(scope, n.inputs[0]);
    if (condition.kind != Abstract::Kind::tensor || condition.type.dtype != DType::boolean ||
        condition.type.shape.elements() != 1)
      return error(scope, id, Code::invalid_model, "the condition must be one bool");
    const bool taken = *condition.constant.data() != std::byte{0};
    const Graph& body = n.bodies[taken ? 0 : 1];
    std::vector<Abstract> inputs;
    for (std::size_t i = 1; i < n.inputs.size(); ++i)
      inputs.push_back(Abstract::forward(scope, n.inputs[i]));
    QUERN_ASSIGN(const std::uint32_t inner, inline_body(scope, id, body, std::move(inputs)));
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      define(scope, n.outputs[i], Abstract::forward(inner, body.outputs()[i]));
    return {};
  }

  // The host runs the operator after this segment; its results are unresolved.
  Status visit_loop(std::uint32_t scope, NodeId id) {
    const Node& n = s_.scopes[scope].graph->node(id);
    ControlOp c{.op = n.op, .name = n.name, .body = &n.bodies[0]};
    for (ValueId v : n.inputs) {
      c.present.push_back(v != no_value);
      control_inputs_.push_back({scope, v});
    }
    for (ValueId v : n.outputs) {
      const Slot slot = new_slot(Abstract());
      c.outputs.push_back(slot);
      s_.unresolved.push_back({UnresolvedValue::About::structure, slot});
      define(scope, v, Abstract::in_slot(slot));
    }
    segment_.controls.push_back(std::move(c));
    return {};
  }

  Status visit_sequence_map(std::uint32_t scope, NodeId id) {
    const Node& n = s_.scopes[scope].graph->node(id);
    const Graph& body = n.bodies[0];
    const std::size_t own = static_cast<std::size_t>(n.as<SequenceMap>()->inputs);
    const std::size_t length = resolve(scope, n.inputs[0]).elements.size();
    std::vector<Abstract> outputs(n.outputs.size());
    for (Abstract& o : outputs) o.kind = Abstract::Kind::sequence;
    for (std::size_t k = 0; k < length; ++k) {
      std::vector<Abstract> inputs;
      for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        const Abstract& a = resolve(scope, n.inputs[i]);
        const bool is_sequence = i < own && a.kind == Abstract::Kind::sequence;
        if (is_sequence && a.elements.size() != length)
          return error(scope, id, Code::invalid_model, "sequences of different lengths");
        inputs.push_back(is_sequence ? a.elements[k] : Abstract::forward(scope, n.inputs[i]));
      }
      QUERN_ASSIGN(const std::uint32_t inner, inline_body(scope, id, body, std::move(inputs)));
      for (std::size_t i = 0; i < outputs.size(); ++i)
        outputs[i].elements.push_back(Abstract::forward(inner, body.outputs()[i]));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
      define(scope, n.outputs[i], std::move(outputs[i]));
    return {};
  }

  // ---- sequences and optionals

  Status visit_sequence_op(std::uint32_t scope, NodeId id) {
    const Node& n = s_.scopes[scope].graph->node(id);
    if (n.as<Sequence>()) return visit_sequence(scope, id);
    if (n.as<Optional>()) return visit_optional(scope, id);
    if (n.as<SplitToSequence>()) return visit_split(scope, id);
    if (n.as<ConcatFromSequence>()) return visit_concat(scope, id);
    return error(scope, id, Code::internal, "unknown structural operator");
  }

  // The positions that an operator accepts: those of elements, or also the one past the end.
  enum class Positions : std::uint8_t { of_elements, and_past_end };

  // The position operand of at, insert and erase, made non-negative.
  Result<std::size_t> position(std::uint32_t scope, NodeId id, std::size_t operand,
                               std::size_t sequence_size, Positions allowed) {
    const Node& n = s_.scopes[scope].graph->node(id);
    const auto values = int_elements(resolve(scope, n.inputs[operand]).constant);
    if (!values || values->size() != 1)
      return error(scope, id, Code::invalid_model, "the position must be one integer");
    const std::int64_t size = static_cast<std::int64_t>(sequence_size);
    const std::int64_t p = (*values)[0] < 0 ? (*values)[0] + size : (*values)[0];
    if (p < 0 || p >= size + (allowed == Positions::and_past_end ? 1 : 0))
      return error(scope, id, Code::invalid_argument,
                   cat("position ", (*values)[0], " in a sequence of ", size));
    return static_cast<std::size_t>(p);
  }

  Status visit_sequence(std::uint32_t scope, NodeId id) {
    const Node& n = s_.scopes[scope].graph->node(id);
    const SequenceKind kind = n.as<Sequence>()->kind;
    Abstract result;
    result.kind = Abstract::Kind::sequence;
    if (kind == SequenceKind::construct) {
      for (ValueId v : n.inputs) result.elements.push_back(Abstract::forward(scope, v));
    }
    if (kind == SequenceKind::construct || kind == SequenceKind::empty) {
      define(scope, n.outputs[0], std::move(result));
      return {};
    }
    const Abstract& sequence = resolve(scope, n.inputs[0]);
    if (sequence.kind != Abstract::Kind::sequence)
      return error(scope, id, Code::invalid_model, "takes a sequence");
    result.elements = sequence.elements;
    const std::size_t size = result.elements.size();
    if (kind == SequenceKind::length) {
      result = Abstract::known(
          Tensor::scalar<std::int64_t>(DType::i64, static_cast<std::int64_t>(size)));
    } else if (kind == SequenceKind::at) {
      QUERN_ASSIGN(const std::size_t p, position(scope, id, 1, size, Positions::of_elements));
      result = Abstract(sequence.elements[p]);
    } else if (kind == SequenceKind::insert) {
      std::size_t p = size;
      if (n.inputs.size() > 2 && n.inputs[2] != no_value) {
        QUERN_ASSIGN(p, position(scope, id, 2, size, Positions::and_past_end));
      }
      result.elements.insert(result.elements.begin() + static_cast<long>(p),
                             Abstract::forward(scope, n.inputs[1]));
    } else {
      std::size_t p = size - 1;
      if (n.inputs.size() > 1 && n.inputs[1] != no_value) {
        QUERN_ASSIGN(p, position(scope, id, 1, size, Positions::of_elements));
      } else if (size == 0) {
        return error(scope, id, Code::invalid_argument, "erases from an empty sequence");
      }
      result.elements.erase(result.elements.begin() + static_cast<long>(p));
    }
    define(scope, n.outputs[0], std::move(result));
    return {};
  }

  Status visit_optional(std::uint32_t scope, NodeId id) {
    const Node& n = s_.scopes[scope].graph->node(id);
    const OptionalKind kind = n.as<Optional>()->kind;
    const bool has_input = !n.inputs.empty() && n.inputs[0] != no_value;
    const bool full = has_input && resolve(scope, n.inputs[0]).kind != Abstract::Kind::none;
    if (kind == OptionalKind::has_element) {
      define(scope, n.outputs[0], Abstract::known(Tensor::scalar<bool>(DType::boolean, full)));
    } else if (full) {
      define(scope, n.outputs[0], Abstract::forward(scope, n.inputs[0]));
    } else if (kind == OptionalKind::make) {
      Abstract empty;
      empty.kind = Abstract::Kind::none;
      define(scope, n.outputs[0], std::move(empty));
    } else {
      return error(scope, id, Code::invalid_argument, "the optional is empty");
    }
    return {};
  }

  Status visit_split(std::uint32_t scope, NodeId id) {
    const Node& n = s_.scopes[scope].graph->node(id);
    const auto& op = *n.as<SplitToSequence>();
    Abstract& x = resolve(scope, n.inputs[0]);
    const auto rank = static_cast<std::int64_t>(x.type.shape.rank());
    if (op.axis < -rank || op.axis >= rank)
      return error(scope, id, Code::invalid_model,
                   cat("axis ", op.axis, " is outside of rank ", rank));
    const auto axis = static_cast<std::size_t>(op.axis < 0 ? op.axis + rank : op.axis);
    const bool has_sizes = n.inputs.size() > 1 && n.inputs[1] != no_value;
    QUERN_ASSIGN(const Ints sizes, split_sizes(scope, id, x.type.shape[axis]));
    const ValueId sizes_value = segment_.graph.add_constant(Tensor::from_values<std::int64_t>(
        DType::i64, {static_cast<std::int64_t>(sizes.size())}, sizes));
    Abstract result;
    result.kind = Abstract::Kind::sequence;
    if (!sizes.empty()) {
      QUERN_ASSIGN(const NodeId made,
                   segment_.graph.add_node(Split{.axis = static_cast<std::int64_t>(axis)},
                                           {here(x), sizes_value}, n.name, sizes.size()));
      const std::vector<ValueId> parts = segment_.graph.node(made).outputs;
      for (ValueId part : parts) {
        ValueId v = part;
        if (!has_sizes && !op.keepdims) {
          const ValueId axes = segment_.graph.add_constant(Tensor::from_values<std::int64_t>(
              DType::i64, {1}, Ints{static_cast<std::int64_t>(axis)}));
          QUERN_ASSIGN(v, segment_.graph.add(Squeeze{}, {part, axes}, n.name));
        }
        result.elements.push_back(made_here(v));
      }
    }
    define(scope, n.outputs[0], std::move(result));
    return {};
  }

  // One size for all parts, or a list of them; by default one element a part.
  Result<Ints> split_sizes(std::uint32_t scope, NodeId id, std::int64_t length) {
    const Node& n = s_.scopes[scope].graph->node(id);
    if (n.inputs.size() < 2 || n.inputs[1] == no_value)
      return Ints(static_cast<std::size_t>(length), 1);
    const Abstract& operand = resolve(scope, n.inputs[1]);
    const auto values = int_elements(operand.constant);
    if (!values) return error(scope, id, Code::invalid_model, "split must be integers");
    if (!operand.type.shape.empty()) return *values;
    const std::int64_t size = (*values)[0];
    if (size <= 0) return error(scope, id, Code::invalid_model, cat("split is ", size));
    Ints sizes;
    for (std::int64_t at = 0; at < length; at += size) sizes.push_back(std::min(size, length - at));
    return sizes;
  }

  Status visit_concat(std::uint32_t scope, NodeId id) {
    const Node& n = s_.scopes[scope].graph->node(id);
    const auto& op = *n.as<ConcatFromSequence>();
    Abstract& sequence = resolve(scope, n.inputs[0]);
    if (sequence.kind != Abstract::Kind::sequence || sequence.elements.empty())
      return error(scope, id, Code::invalid_argument, "takes a sequence that is not empty");
    std::vector<ValueId> parts;
    for (Abstract& e : sequence.elements) {
      Abstract& element = follow(e);
      if (element.kind == Abstract::Kind::unknown) {
        wait(scope, id);
        return {};
      }
      ValueId part = here(element);
      if (op.new_axis) {
        const ValueId axes = segment_.graph.add_constant(
            Tensor::from_values<std::int64_t>(DType::i64, {1}, Ints{op.axis}));
        QUERN_ASSIGN(part, segment_.graph.add(Unsqueeze{}, {part, axes}, n.name));
      }
      parts.push_back(part);
    }
    QUERN_ASSIGN(const ValueId joined,
                 segment_.graph.add(Concat{.axis = op.axis}, std::move(parts), n.name));
    define(scope, n.outputs[0], made_here(joined));
    return {};
  }

  // ---- the end of a segment

  // Assigns slots to all values that later segments, control operators, `unresolved` and results
  // read.
  Status export_values() {
    for (const ValueAt& v : asked_values_) QUERN_TRY(ask_elements(v));
    std::size_t next = 0;
    for (ControlOp& c : segment_.controls)
      for (std::size_t i = 0; i < c.present.size(); ++i, ++next) {
        const ValueAt& v = control_inputs_[next];
        c.inputs.push_back(v.value == no_value ? ResultRef{.kind = RuntimeValue::Kind::none}
                                               : result_of(v.scope, v.value));
      }
    for (const Waiting& w : s_.waiting)
      for (ValueId v : s_.scopes[w.scope].graph->node(w.node).reads())
        if (v != no_value) export_all(entry(w.scope, v));
    for (ValueId v : s_.wanted) export_all(entry(0, v));
    return {};
  }

  Status ask_elements(const ValueAt& v) {
    const Abstract& a = resolve(v.scope, v.value);
    if (a.type.bytes() > answer_bytes)
      return {Code::unsupported,
              cat("a shape operand of ", a.type.text(), " is computed by the run")};
    const SlotRef ref = give_slot(entry(v.scope, v.value));
    if (ref.element != 0)
      return {Code::unsupported, "a shape operand comes out of a sequence that the run computes"};
    const UnresolvedValue q{UnresolvedValue::About::elements, ref.slot};
    if (std::find(s_.unresolved.begin(), s_.unresolved.end(), q) == s_.unresolved.end())
      s_.unresolved.push_back(q);
    return {};
  }

  // Gives slots to the tensors of a value for later segments. Constants are kept in the plan.
  void export_all(Abstract& start) {
    Abstract& a = follow(start);
    if (a.kind == Abstract::Kind::tensor && !a.constant.valid()) give_slot(a);
    for (Abstract& e : a.elements) export_all(e);
  }

  // Returns the slot of a tensor, and assigns one if it has none yet.
  SlotRef give_slot(Abstract& start) {
    Abstract& a = follow(start);
    if (a.slot) return *a.slot;
    const ValueId v = here(a);
    const Slot slot = new_slot(a);
    s_.slots[slot].slot = SlotRef{slot, 0};
    a = Abstract::in_slot(slot);
    add_output(v, slot, OutputShape::planned);
    return {slot, 0};
  }

  // Returns the slot of this value if its structure is still unknown.
  std::optional<Slot> open_slot(const Abstract& start) {
    const Abstract* a = &start;
    while (a->kind == Abstract::Kind::forward) a = &entry(a->scope, a->at);
    if (a->kind != Abstract::Kind::in_slot ||
        s_.slots[a->whole_slot].kind != Abstract::Kind::unknown)
      return std::nullopt;
    return a->whole_slot;
  }

  SlotRef tensor_of(Abstract& a) {
    const auto open = open_slot(a);
    return open ? SlotRef{*open, 0} : give_slot(a);
  }

  ResultRef result_of(std::uint32_t scope, ValueId v) {
    if (const auto open = open_slot(entry(scope, v))) return {.whole_slot = *open};
    Abstract& a = resolve(scope, v);
    ResultRef r;
    if (a.kind == Abstract::Kind::tensor) {
      r.tensors.push_back(give_slot(a));
    } else {
      r.kind =
          a.kind == Abstract::Kind::none ? RuntimeValue::Kind::none : RuntimeValue::Kind::sequence;
      for (Abstract& e : a.elements) r.tensors.push_back(tensor_of(e));
    }
    return r;
  }

  State s_;
  Segment segment_;
  const Stop* const stop_;
  std::vector<ValueAt> asked_values_;
  std::vector<ValueAt> control_inputs_;
};

}  // namespace

Result<Segment> first_segment(const Graph& graph, std::span<const RuntimeValue> inputs,
                              std::span<const std::size_t> wanted, const Stop* stop) {
  QUERN_TRY(check_declared_types(graph, inputs));
  State state;
  state.scopes.push_back({&graph, std::vector<Abstract>(graph.value_count()), 0});
  for (Slot i = 0; i < inputs.size(); ++i) {
    state.slots.push_back(Abstract::in_run(inputs[i], i));
    state.scopes[0].values[index(graph.inputs()[i])] = Abstract::in_slot(i);
  }
  for (std::size_t i : wanted) state.wanted.push_back(graph.outputs()[i]);
  Specializer s(std::move(state), stop);
  QUERN_TRY(s.run_main());
  return s.finish();
}

Result<Segment> next_segment(const ResumePoint& rest, std::span<const RuntimeValue> resolved,
                             const Stop* stop) {
  Specializer s(rest.state, stop);
  QUERN_TRY(s.run_waiting(resolved));
  return s.finish();
}

}  // namespace quern
