// SPDX-License-Identifier: Apache-2.0
// Control flow. Values that a body reads from the outer scope become inputs of node and body.
#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/loop_body.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/sequences.h"

namespace quern::onnx {
namespace {

std::vector<Graph> one_body(Graph body) {
  std::vector<Graph> bodies;
  bodies.push_back(std::move(body));
  return bodies;
}

void append(std::vector<ValueId>& to, const std::vector<ValueId>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Both branches take the captures of both.
void import_if(NodeImport& n) {
  const GraphProto* then_proto = n.graph("then_branch");
  const GraphProto* else_proto = n.graph("else_branch");
  if (!n.ok()) return;
  std::vector<ValueId> captures;
  auto then_body = n.body(*then_proto, {}, captures);
  const std::size_t known_to_then = captures.size();
  auto else_body = n.body(*else_proto, {}, captures);
  if (!then_body || !else_body) return;
  for (std::size_t i = known_to_then; i < captures.size(); ++i)
    then_body->add_input({}, n.type_in(*then_body, captures[i]));
  std::vector<ValueId> inputs = {n.in(0)};
  append(inputs, captures);
  const std::size_t outputs = then_body->outputs().size();
  std::vector<Graph> bodies = one_body(*std::move(then_body));
  bodies.push_back(*std::move(else_body));
  n.emit(If{}, std::move(inputs), std::move(bodies), outputs);
}

// ---- Loop

MakeBody imported(NodeImport& n, const GraphProto& proto) {
  return [&](std::span<const ValueType> types, std::vector<ValueId>& captures) {
    return n.body(proto, types, captures);
  };
}

ValueType carried_type(NodeImport& n, const GraphProto& body, std::size_t input) {
  const ValueType initial = n.type(n.in(input));
  const auto declared = n.declared_input(body, input);
  if (!declared) return {initial.dtype, std::nullopt, initial.kind};
  if (declared->dtype != initial.dtype)
    n.fail(cat("carried value ", input - 2, " is ", name_of(initial.dtype), ", its body declares ",
               name_of(declared->dtype)));
  return {declared->dtype, common(declared->dims, initial.dims), declared->kind};
}

void import_loop(NodeImport& n) {
  const GraphProto* proto = n.graph("body");
  if (!proto) return;
  const std::size_t carried = n.input_count() > 2 ? n.input_count() - 2 : 0;
  std::vector<ValueType> types = {ValueType(DType::i64, Dims()), ValueType(DType::boolean, Dims())};
  if (n.has(1)) types[1].dims = n.type(n.in(1)).dims;
  for (std::size_t i = 0; i < carried; ++i) types.push_back(carried_type(n, *proto, i + 2));
  std::vector<ValueId> captures;
  auto body = steady_body(n, imported(n, *proto), {2, 1, carried}, std::move(types), captures);
  if (!body) return;
  const std::size_t outputs = body->outputs().size();
  if (outputs < 1) return n.fail("its body hands out no condition");
  std::vector<ValueId> inputs = {n.in(0), n.in(1)};
  for (std::size_t i = 0; i < carried; ++i) inputs.push_back(n.in(i + 2));
  append(inputs, captures);
  n.emit(Loop{.carried = static_cast<std::int64_t>(carried)}, std::move(inputs),
         one_body(*std::move(body)), outputs - 1);
}

// ---- Scan

// The type of the slices of `type` along `axis`.
ValueType slice_type(NodeImport& n, ValueType type, std::int64_t axis) {
  if (!type.dims) return type;
  const auto rank = static_cast<std::int64_t>(type.dims->size());
  if (axis < -rank || axis >= rank) {
    n.fail(cat("scan axis ", axis, " is outside of rank ", rank));
    return type;
  }
  type.dims->erase(type.dims->begin() + (axis < 0 ? axis + rank : axis));
  return type;
}

// The number of scanned inputs among `inputs`; the others are states.
std::size_t scanned_inputs(NodeImport& n, std::size_t inputs) {
  const std::int64_t scanned = n.integer("num_scan_inputs");
  if (n.ok() && (scanned < 1 || scanned > static_cast<std::int64_t>(inputs)))
    n.fail(cat("attribute 'num_scan_inputs' is ", scanned, ", wants 1 to ", inputs));
  return n.ok() ? static_cast<std::size_t>(scanned) : 0;
}

void import_scan(NodeImport& n) {
  const GraphProto* proto = n.graph("body");
  const std::size_t scanned = scanned_inputs(n, n.input_count());
  const std::size_t states = n.input_count() - scanned;
  const Scan op{.states = static_cast<std::int64_t>(states),
                .scanned_inputs = static_cast<std::int64_t>(scanned),
                .input_axes = n.ints("scan_input_axes"),
                .input_directions = n.ints("scan_input_directions"),
                .output_axes = n.ints("scan_output_axes"),
                .output_directions = n.ints("scan_output_directions")};
  if (!n.ok()) return;
  std::vector<ValueType> types;
  for (std::size_t i = 0; i < n.input_count(); ++i) {
    const std::size_t k = i - states;
    const std::int64_t axis = k < op.input_axes.size() ? op.input_axes[k] : 0;
    types.push_back(i < states ? n.type(n.in(i)) : slice_type(n, n.type(n.in(i)), axis));
  }
  std::vector<ValueId> captures;
  auto body = steady_body(n, imported(n, *proto), {0, 0, states}, std::move(types), captures);
  if (!body) return;
  const std::size_t outputs = body->outputs().size();
  std::vector<ValueId> inputs(n.inputs().begin(), n.inputs().end());
  append(inputs, captures);
  n.emit(op, std::move(inputs), one_body(*std::move(body)), outputs);
}

// In opset 8 every operand has a leading batch dimension: it is imported as a scan over the batch
// around the current form of Scan.
void import_scan_8(NodeImport& n) {
  const GraphProto* proto = n.graph("body");
  if (n.has(0)) return n.unsupported("sequence lengths are not supported");
  const std::size_t operands = n.input_count() > 0 ? n.input_count() - 1 : 0;
  const std::size_t scanned = scanned_inputs(n, operands);
  const std::size_t states = operands - scanned;
  const Scan inner_op{.states = static_cast<std::int64_t>(states),
                      .scanned_inputs = static_cast<std::int64_t>(scanned),
                      .input_directions = n.ints("directions")};
  if (!n.ok()) return;
  std::vector<ValueId> inputs;
  std::vector<ValueType> outer_types;
  std::vector<ValueType> inner_types;
  for (std::size_t i = 0; i < operands; ++i) {
    inputs.push_back(n.in(i + 1));
    outer_types.push_back(slice_type(n, n.type(n.in(i + 1)), 0));
    inner_types.push_back(i < states ? outer_types[i] : slice_type(n, outer_types[i], 0));
  }
  std::vector<ValueId> captures;
  auto inner =
      steady_body(n, imported(n, *proto), {0, 0, states}, std::move(inner_types), captures);
  if (!inner) return;
  append(inputs, captures);
  for (ValueId v : captures) outer_types.push_back(n.type(v));
  Graph outer = n.new_body(outer_types);
  const std::size_t outputs = inner->outputs().size();
  auto node = outer.add_node(inner_op, {outer.inputs().begin(), outer.inputs().end()}, n.name(),
                             outputs, one_body(*std::move(inner)));
  if (!node) return n.fail(node.error().message(), node.error().code());
  for (ValueId v : outer.node(*node).outputs) outer.add_output(v, {});
  n.emit(Scan{.states = 0, .scanned_inputs = static_cast<std::int64_t>(operands)},
         std::move(inputs), one_body(std::move(outer)), outputs);
}

// ---- SequenceMap

void import_sequence_map(NodeImport& n) {
  const GraphProto* proto = n.graph("body");
  if (!proto) return;
  std::vector<ValueType> types;
  for (ValueId v : n.inputs()) {
    types.push_back(n.type(v));
    if (types.back().kind == ValueType::Kind::sequence) types.back().kind = ValueType::Kind::tensor;
  }
  std::vector<ValueId> captures;
  auto body = n.body(*proto, types, captures);
  if (!body) return;
  const std::size_t outputs = body->outputs().size();
  std::vector<ValueId> inputs(n.inputs().begin(), n.inputs().end());
  append(inputs, captures);
  n.emit(SequenceMap{.inputs = static_cast<std::int64_t>(types.size())}, std::move(inputs),
         one_body(*std::move(body)), outputs);
}

constexpr OpRow control_rows[] = {
    {"If", 1, import_if, {1, 1}, any},
    {"Loop", 1, import_loop, {0, any_number}, {0, any_number}},
    {"Scan", 8, import_scan_8, {0, any_number}, any},
    {"Scan", 9, import_scan, any, any},
    {"SequenceMap", 17, import_sequence_map, any, any},
};

}  // namespace

OpRows control_ops() {
  return control_rows;
}

}  // namespace quern::onnx
