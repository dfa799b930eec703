// SPDX-License-Identifier: Apache-2.0
// GraphBuilder: control flow, sequences, optionals.
#include "graph/ops/control_flow.h"

#include "engine/builder/graph_builder_impl.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/sequences.h"

namespace quern {
namespace {

Operands joined(std::initializer_list<const Operands*> lists) {
  Operands all;
  for (const Operands* l : lists) all.insert(all.end(), l->begin(), l->end());
  return all;
}

std::vector<Graph> bodies(Graph first) {
  std::vector<Graph> list;
  list.push_back(std::move(first));
  return list;
}

// Reduces `known` to what also holds after an iteration. Returns false if `known` did not change.
bool weaken(ValueType& known, const ValueType& after) {
  if (!known.dims) return false;
  if (!after.dims || after.dims->size() != known.dims->size()) {
    known.dims.reset();
    return true;
  }
  bool changed = false;
  for (std::size_t i = 0; i < known.dims->size(); ++i) {
    Dim& d = (*known.dims)[i];
    if (d.unknown() || d.same((*after.dims)[i])) continue;
    d = Dim();
    changed = true;
  }
  return changed;
}

// A body's inputs from `first` on receive its outputs from `first_output` on.
struct Carried {
  std::size_t first, first_output, count;
};

// Builds a body, again until the types of what it carries hold for every iteration.
std::optional<Graph> iterated_body(GraphBuilder::Impl& g, std::string_view operation,
                                   const GraphBuilder::Body& body, std::vector<ValueType> inputs,
                                   const Carried& carried) {
  for (;;) {
    std::optional<Graph> graph = g.body(operation, body, inputs);
    if (!graph) return graph;
    if (graph->outputs().size() < carried.first_output + carried.count) {
      g.fail(operation, cat("the body gives ", graph->outputs().size(), " results, wants at least ",
                            carried.first_output + carried.count));
      return std::nullopt;
    }
    bool changed = false;
    for (std::size_t i = 0; i < carried.count; ++i) {
      const ValueType after =
          g.graph.adopt(graph->type(graph->outputs()[carried.first_output + i]), *graph);
      changed |= weaken(inputs[carried.first + i], after);
    }
    if (!changed) return graph;
  }
}

}  // namespace

Operands GraphBuilder::if_(Operand condition, const Body& then_body, const Body& else_body,
                           Operands captures) {
  const auto types = impl_->types("if", captures);
  auto then_graph = impl_->body("if, then", then_body, types);
  auto else_graph = impl_->body("if, else", else_body, types);
  if (!then_graph || !else_graph) return {};
  const std::size_t outputs = then_graph->outputs().size();
  std::vector<Graph> both = bodies(*std::move(then_graph));
  both.push_back(*std::move(else_graph));
  const Operands own = {condition};
  return impl_->emit(If{}, joined({&own, &captures}), outputs, std::move(both));
}

Operands GraphBuilder::loop(Operand trips, Operand condition, Operands carried, const Body& body,
                            Operands captures) {
  std::vector<ValueType> types = {ValueType(DType::i64, Dims()), ValueType(DType::boolean, Dims())};
  for (const Operands* list : {&carried, &captures})
    for (ValueType& t : impl_->types("loop", *list)) types.push_back(std::move(t));
  auto graph = iterated_body(*impl_, "loop", body, std::move(types), {2, 1, carried.size()});
  if (!graph) return {};
  const std::size_t outputs = graph->outputs().size() - 1;
  const Operands own = {trips, condition};
  return impl_->emit(Loop{static_cast<std::int64_t>(carried.size())},
                     joined({&own, &carried, &captures}), outputs, bodies(*std::move(graph)));
}

namespace {

// The type of the slices of `type` along `axis`.
std::optional<ValueType> slice_type(ValueType type, std::int64_t axis) {
  if (!type.dims) return type;
  const auto rank = static_cast<std::int64_t>(type.dims->size());
  if (axis < -rank || axis >= rank) return std::nullopt;
  type.dims->erase(type.dims->begin() + (axis < 0 ? axis + rank : axis));
  return type;
}

}  // namespace

Operands GraphBuilder::scan(Operands states, Operands scanned, const Body& body,
                            const ScanOptions& o, Operands captures) {
  std::vector<ValueType> types = impl_->types("scan", states);
  for (const ValueType& whole : impl_->types("scan", scanned)) {
    const std::size_t i = types.size() - states.size();
    const std::int64_t axis = i < o.input_axes.size() ? o.input_axes[i] : 0;
    const auto slice = slice_type(whole, axis);
    if (!slice) impl_->fail("scan", cat("axis ", axis, " is outside of rank ", whole.dims->size()));
    if (!status().ok()) return {};
    types.push_back(*slice);
  }
  for (ValueType& t : impl_->types("scan", captures)) types.push_back(std::move(t));
  auto graph = iterated_body(*impl_, "scan", body, std::move(types), {0, 0, states.size()});
  if (!graph) return {};
  const std::size_t outputs = graph->outputs().size();
  return impl_->emit(Scan{.states = static_cast<std::int64_t>(states.size()),
                          .scanned_inputs = static_cast<std::int64_t>(scanned.size()),
                          .input_axes = o.input_axes,
                          .input_directions = o.input_directions,
                          .output_axes = o.output_axes,
                          .output_directions = o.output_directions},
                     joined({&states, &scanned, &captures}), outputs, bodies(*std::move(graph)));
}

Operand GraphBuilder::sequence(Operands elements) {
  return impl_->emit(Sequence{SequenceKind::construct}, elements);
}
Operand GraphBuilder::sequence_empty(DType dtype) {
  return impl_->emit(Sequence{SequenceKind::empty, dtype}, {});
}
Operand GraphBuilder::sequence_at(Operand sequence, Operand position) {
  return impl_->emit(Sequence{SequenceKind::at}, {sequence, position});
}
Operand GraphBuilder::sequence_insert(Operand sequence, Operand element, Operand position) {
  return impl_->emit(Sequence{SequenceKind::insert}, {sequence, element, position});
}
Operand GraphBuilder::sequence_erase(Operand sequence, Operand position) {
  return impl_->emit(Sequence{SequenceKind::erase}, {sequence, position});
}
Operand GraphBuilder::sequence_length(Operand sequence) {
  return impl_->emit(Sequence{SequenceKind::length}, {sequence});
}
Operand GraphBuilder::split_to_sequence(Operand x, Operand split, std::int64_t axis,
                                        const SplitToSequenceOptions& o) {
  return impl_->emit(SplitToSequence{axis, o.keepdims}, {x, split});
}
Operand GraphBuilder::concat_from_sequence(Operand sequence, std::int64_t axis,
                                           const ConcatFromSequenceOptions& o) {
  return impl_->emit(ConcatFromSequence{axis, o.new_axis}, {sequence});
}
Operands GraphBuilder::sequence_map(Operands inputs, const Body& body, Operands captures) {
  std::vector<ValueType> types = impl_->types("sequence_map", inputs);
  for (ValueType& t : types)
    if (t.kind == ValueType::Kind::sequence) t.kind = ValueType::Kind::tensor;
  for (ValueType& t : impl_->types("sequence_map", captures)) types.push_back(std::move(t));
  auto graph = impl_->body("sequence_map", body, types);
  if (!graph) return {};
  const std::size_t outputs = graph->outputs().size();
  return impl_->emit(SequenceMap{static_cast<std::int64_t>(inputs.size())},
                     joined({&inputs, &captures}), outputs, bodies(*std::move(graph)));
}
Operand GraphBuilder::optional(Operand x) {
  return impl_->emit(Optional{OptionalKind::make}, {x});
}
Operand GraphBuilder::optional_has_element(Operand x) {
  return impl_->emit(Optional{OptionalKind::has_element}, {x});
}
Operand GraphBuilder::optional_get_element(Operand x) {
  return impl_->emit(Optional{OptionalKind::get_element}, {x});
}

}  // namespace quern
