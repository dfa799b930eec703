// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/node_import.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/import.h"
#include "graph/numeric.h"

namespace quern::onnx {
namespace {

std::string_view kind_name(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::undefined: return "nothing";
    case AttributeKind::number: return "a float";
    case AttributeKind::integer: return "an int";
    case AttributeKind::text: return "a string";
    case AttributeKind::tensor: return "a tensor";
    case AttributeKind::graph: return "a graph";
    case AttributeKind::numbers: return "floats";
    case AttributeKind::integers: return "ints";
    case AttributeKind::texts: return "strings";
    case AttributeKind::tensors: return "tensors";
    case AttributeKind::graphs: return "graphs";
    case AttributeKind::sparse_tensor: return "a sparse tensor";
    case AttributeKind::sparse_tensors: return "sparse tensors";
    case AttributeKind::type: return "a type";
    case AttributeKind::types: return "types";
  }
  return "unknown";
}

// One element of a constant as a double.
struct ElementAsDouble {
  const std::byte* data;
  template <class T>
  double operator()(TypeTag<T>) const {
    T v;
    std::memcpy(&v, data, sizeof v);
    if constexpr (std::is_same_v<T, StringRef>) {
      return 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<double>(v);
    } else {
      return static_cast<double>(static_cast<float>(v));
    }
  }
};

std::string display_name(const Scope& scope, const NodeProto& proto) {
  std::string_view name = proto.name;
  for (std::string_view output : proto.outputs)
    if (name.empty()) name = output;
  return scope.environment().prefix + short_name(name);
}

std::string operator_name(const NodeProto& proto) {
  const std::string_view domain = domain_of(proto.domain);
  return cat(printable(domain), domain.empty() ? "" : ".", printable(proto.op_type));
}

}  // namespace

NodeImport::NodeImport(Importer& importer, Scope& scope, const NodeProto& proto,
                       std::int64_t version)
    : importer_(importer),
      scope_(scope),
      proto_(proto),
      version_(version),
      name_(display_name(scope, proto)) {
  std::size_t outputs = proto.outputs.size();
  while (outputs > 0 && proto.outputs[outputs - 1].empty()) --outputs;
  results_.assign(outputs, no_value);
}

Graph& NodeImport::target() const {
  return scope_.graph();
}

// ---- values ------------------------------------------------------------------------------------

const ValueType& NodeImport::type(ValueId v) const {
  static const ValueType none;
  return v == no_value ? none : target().type(v);
}

std::optional<std::int64_t> NodeImport::rank(ValueId v) const {
  if (v == no_value || !type(v).dims) return std::nullopt;
  return static_cast<std::int64_t>(type(v).dims->size());
}

std::int64_t NodeImport::known_rank(ValueId v) {
  if (const auto r = rank(v)) return *r;
  if (ok()) wants_rank_ = true;
  unsupported("needs to know the rank of its input, which only the data tells");
  return 0;
}

Dim NodeImport::dim(ValueId v, std::int64_t axis) const {
  const auto r = rank(v);
  if (!r || axis < -*r || axis >= *r) return {};
  return (*type(v).dims)[static_cast<std::size_t>(axis < 0 ? axis + *r : axis)];
}

const Tensor* NodeImport::constant(ValueId v) const {
  if (v == no_value || !target().value(v).is_constant()) return nullptr;
  return &target().value(v).constant;
}

std::optional<Ints> NodeImport::constant_ints(ValueId v) const {
  const Tensor* t = constant(v);
  return t ? int_elements(*t) : std::nullopt;
}

std::optional<double> NodeImport::constant_number(ValueId v) const {
  const Tensor* t = constant(v);
  if (!t || t->shape().elements() != 1 || t->dtype() == DType::string) return std::nullopt;
  return visit_dtype(t->dtype(), ElementAsDouble{t->data()});
}

bool NodeImport::is_empty(ValueId v) const {
  return v != no_value && type(v).dims && product(*type(v).dims).is(0);
}

// ---- attributes --------------------------------------------------------------------------------

bool NodeImport::has_attribute(std::string_view name) const {
  return std::any_of(attributes_.begin(), attributes_.end(),
                     [&](const Attribute& a) { return a.name == name; });
}

std::vector<std::string_view> NodeImport::attribute_names() const {
  std::vector<std::string_view> names;
  for (const Attribute& a : attributes_) names.push_back(a.name);
  return names;
}

AttributeKind NodeImport::kind_of(std::string_view name) const {
  const auto a = std::ranges::find(attributes_, name, &Attribute::name);
  return a == attributes_.end() ? AttributeKind::undefined : a->value->kind;
}

const AttributeProto* NodeImport::find(std::string_view name, AttributeKind kind) {
  for (Attribute& a : attributes_) {
    if (a.name != name) continue;
    a.read = true;
    if (a.value->kind == kind) return a.value;
    fail(cat("attribute '", name, "' is ", kind_name(a.value->kind), ", wants ", kind_name(kind)));
    return nullptr;
  }
  return nullptr;
}

const AttributeProto* NodeImport::require(std::string_view name, AttributeKind kind) {
  const AttributeProto* a = find(name, kind);
  if (!a) fail(cat("attribute '", name, "' is missing"));
  return a;
}

std::int64_t NodeImport::integer(std::string_view name, std::int64_t fallback) {
  const AttributeProto* a = find(name, AttributeKind::integer);
  return a ? a->i : fallback;
}
std::int64_t NodeImport::integer(std::string_view name) {
  const AttributeProto* a = require(name, AttributeKind::integer);
  return a ? a->i : 0;
}

bool NodeImport::flag(std::string_view name, Flag fallback) {
  const std::int64_t found = integer(name, fallback == Flag::on ? 1 : 0);
  if (found != 0 && found != 1) fail(cat("attribute '", name, "' is ", found, ", wants 0 or 1"));
  return found == 1;
}

float NodeImport::number(std::string_view name, float fallback) {
  const AttributeProto* a = find(name, AttributeKind::number);
  return a ? a->f : fallback;
}
float NodeImport::number(std::string_view name) {
  const AttributeProto* a = require(name, AttributeKind::number);
  return a ? a->f : 0;
}

std::string NodeImport::text(std::string_view name, std::string_view fallback) {
  const AttributeProto* a = find(name, AttributeKind::text);
  if (!a) return std::string(fallback);
  return charge(a->s.size()) ? std::string(a->s) : std::string();
}
std::string NodeImport::text(std::string_view name) {
  require(name, AttributeKind::text);
  return text(name, "");
}

Ints NodeImport::ints(std::string_view name) {
  const AttributeProto* a = find(name, AttributeKind::integers);
  if (!a || !charge(a->ints.size() * sizeof(std::int64_t))) return {};
  return a->ints;
}

std::vector<float> NodeImport::numbers(std::string_view name) {
  const AttributeProto* a = find(name, AttributeKind::numbers);
  if (!a || !charge(a->floats.size() * sizeof(float))) return {};
  return a->floats;
}

std::vector<std::string> NodeImport::texts(std::string_view name) {
  const AttributeProto* a = find(name, AttributeKind::texts);
  std::vector<std::string> out;
  if (!a) return out;
  for (std::string_view s : a->strings)
    if (charge(sizeof(std::string) + s.size())) out.emplace_back(s);
  return out;
}

std::optional<Tensor> NodeImport::tensor(std::string_view name) {
  const AttributeProto* a = find(name, AttributeKind::tensor);
  if (!a) return std::nullopt;
  auto t = importer_.decoder_.decode(a->t.empty() ? TensorProto() : a->t.front());
  if (t) return std::move(t).value();
  fail_with(std::move(t).error());
  return std::nullopt;
}

std::optional<Tensor> NodeImport::sparse_tensor(std::string_view name) {
  const AttributeProto* a = find(name, AttributeKind::sparse_tensor);
  if (!a) return std::nullopt;
  auto t = importer_.decoder_.decode(a->sparse.empty() ? SparseTensorProto() : a->sparse.front());
  if (t) return std::move(t).value();
  fail_with(std::move(t).error());
  return std::nullopt;
}

std::optional<ValueType> NodeImport::type_attribute(std::string_view name) {
  const AttributeProto* a = find(name, AttributeKind::type);
  if (!a) return std::nullopt;
  auto type = importer_.value_type(a->type.empty() ? TypeProto() : a->type.front(), nullptr);
  if (type) return std::move(type).value();
  fail_with(std::move(type).error().in(cat("attribute '", name, "'")));
  return std::nullopt;
}

const GraphProto* NodeImport::graph(std::string_view name) {
  const AttributeProto* a = require(name, AttributeKind::graph);
  if (a && a->g.empty()) fail(cat("attribute '", name, "' holds no graph"));
  return a && !a->g.empty() ? &a->g.front() : nullptr;
}

DType NodeImport::dtype_attribute(std::string_view name, DType fallback) {
  const AttributeProto* a = find(name, AttributeKind::integer);
  if (!a) return fallback;
  auto dtype = dtype_of(a->i);
  if (dtype) return *dtype;
  fail_with(std::move(dtype).error().in(cat("attribute '", name, "'")));
  return fallback;
}

void NodeImport::ignore(std::string_view name) {
  for (Attribute& a : attributes_)
    if (a.name == name) a.read = true;
}

std::uint64_t NodeImport::seed() {
  const std::uint64_t own = ++importer_.random_seeds_;
  for (const Attribute& a : attributes_) {
    if (a.name != "seed") continue;
    // A float for all but Dropout, which has an int.
    if (a.value->kind == AttributeKind::integer)
      return static_cast<std::uint64_t>(integer("seed", 0));
    const float given = number("seed", 0);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &given, sizeof bits);
    return bits | std::uint64_t{1} << 32;  // distinct from the counted seeds
  }
  return own;
}

std::optional<std::uint32_t> NodeImport::reference_seed() const {
  for (const Attribute& a : attributes_) {
    if (a.name != "seed") continue;
    const bool is_integer = a.value->kind == AttributeKind::integer;
    // Fractions are cut off, so that what lies above -1 is 0.
    const double given = is_integer ? static_cast<double>(a.value->i) : double{a.value->f};
    if (given > -1 && given < 0x1p32) return static_cast<std::uint32_t>(given);
  }
  return std::nullopt;
}

void NodeImport::bad_choice(std::string_view name, std::string_view found,
                            std::string_view wanted) {
  fail(cat("attribute '", name, "' is '", printable(found), "', wants ", wanted));
}

// ---- building ----------------------------------------------------------------------------------

bool NodeImport::decodes_pictures() const {
  return importer_.options_.decodes_pictures;
}

bool NodeImport::charge(std::size_t bytes) {
  if (!ok()) return false;
  Status s = importer_.budget_.charge(bytes);
  if (s.ok()) return true;
  fail_with(std::move(s));
  return false;
}

// The size of a node in the graph, as allocators see it: with attributes, types and lists.
std::size_t NodeImport::node_bytes(std::size_t outputs, std::size_t inputs) const {
  constexpr std::size_t attribute_bytes = 300;
  return sizeof(Node) + attribute_bytes + name_.size() + outputs * value_cost + 16 * inputs;
}

std::vector<ValueId> NodeImport::add_many(Op op, std::vector<ValueId> inputs, std::size_t outputs,
                                          std::vector<Graph> bodies) {
  std::vector<ValueId> none(outputs, no_value);
  if (!charge(node_bytes(outputs, inputs.size()))) return none;
  const std::string_view op_name = target().def(op).name;
  auto node =
      target().add_node(std::move(op), std::move(inputs), name_, outputs, std::move(bodies));
  if (node) return target().node(*node).outputs;
  fail_as_node(std::move(node).error(), op_name);
  return none;
}

ValueId NodeImport::add(Op op, std::vector<ValueId> inputs) {
  return add_many(std::move(op), std::move(inputs), 1)[0];
}

void NodeImport::emit(Op op, std::vector<ValueId> inputs) {
  const std::size_t least = target().def(op).outputs.min;
  emit(std::move(op), std::move(inputs), {}, std::max(results_.size(), least));
}

void NodeImport::emit(Op op, std::vector<ValueId> inputs, std::vector<Graph> bodies,
                      std::size_t outputs) {
  const auto values = add_many(std::move(op), std::move(inputs), outputs, std::move(bodies));
  for (std::size_t i = 0; i < outputs && ok(); ++i) {
    set(i, values[i]);
    if (!wants(i)) target().drop_output(target().value(values[i]).producer, i);
  }
}

void NodeImport::set(std::size_t output, ValueId value) {
  if (output < results_.size()) results_[output] = value;
}

void NodeImport::set_map(std::size_t output, ValueId values, ValueId keys) {
  if (!ok()) return;
  if (&target() == importer_.model_graph_)
    importer_.keys_[values] = keys;
  else
    warn("its output is the values of its maps, since a body hands out no maps");
  set(output, values);
}

ValueId NodeImport::keys_of(std::size_t i) {
  const auto keys = importer_.keys_.find(in(i));
  if (&target() == importer_.model_graph_ && keys != importer_.keys_.end()) return keys->second;
  fail(cat("input ", i, " is no map that is an input of the model or the result of ZipMap"));
  return no_value;
}

ValueId NodeImport::constant(Tensor tensor) {
  if (!tensor.valid()) {
    fail("no memory for a constant", Code::out_of_memory);
    return no_value;
  }
  if (!charge(value_cost)) return no_value;
  return target().add_constant(std::move(tensor));
}

ValueId NodeImport::ints_constant(const Ints& values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return constant(Tensor::from_values<std::int64_t>(DType::i64, Shape{n}, values));
}

ValueId NodeImport::scalar(DType dtype, double value) {
  if (!ok()) return no_value;
  if (dtype == DType::string) {
    fail("does not take strings");
    return no_value;
  }
  return constant(number_tensor(dtype, value));
}

// ---- bodies ------------------------------------------------------------------------------------

std::optional<Graph> NodeImport::body(const GraphProto& proto, std::span<const ValueType> inputs,
                                      std::vector<ValueId>& captures) {
  if (!status_.ok()) return std::nullopt;
  auto graph = importer_.import_body(scope_, proto, inputs, captures);
  if (!graph) poison();
  return graph;
}

Graph NodeImport::new_body(std::span<const ValueType> types) {
  Graph body(importer_.ops_);
  for (const ValueType& t : types) body.add_input({}, body.adopt(t, target()));
  return body;
}

std::optional<Graph> NodeImport::written_body(
    std::span<const ValueType> types, std::vector<ValueId>& captures,
    const std::function<std::vector<ValueId>(NodeImport&)>& fill) {
  if (!ok()) return std::nullopt;
  Graph graph = new_body(types);
  Scope scope(graph, &scope_, scope_.environment(), importer_.captured_bytes_);
  NodeImport inside(importer_, scope, proto_, version_);
  const std::vector<ValueId> outputs = fill(inside);
  captures = scope.captures();
  charge(std::exchange(importer_.captured_bytes_, 0));
  if (!inside.ok()) {
    status_ = std::move(inside.status_);
    poisoned_ = poisoned_ || inside.poisoned_;
    return std::nullopt;
  }
  for (ValueId v : outputs) graph.add_output(v, {});
  return graph;
}

ValueId NodeImport::body_input(std::size_t i) const {
  return target().inputs()[i];
}

ValueId NodeImport::from_outside(ValueId outer) {
  return outer == no_value ? no_value : scope_.capture(outer);
}

std::vector<ValueId> NodeImport::inlined(const GraphProto& proto, std::span<const ValueId> inputs) {
  if (!ok()) return {};
  auto outputs = importer_.import_in_place(*this, proto, inputs);
  if (!outputs) poison();
  return std::move(outputs).value_or(std::vector<ValueId>());
}

std::vector<std::string_view> NodeImport::inputs_of(const GraphProto& proto) {
  return Importer::formal_inputs(proto);
}

std::optional<ValueType> NodeImport::declared_input(const GraphProto& proto, std::size_t i) {
  if (i >= proto.inputs.size() || proto.inputs[i].type.kind == TypeProto::Kind::none)
    return std::nullopt;
  auto type = importer_.value_type(proto.inputs[i].type, nullptr);
  if (type) return std::move(type).value();
  fail_with(std::move(type).error().in(cat("input ", i, " of its body")));
  return std::nullopt;
}

ValueType NodeImport::type_in(Graph& body, ValueId v) const {
  return body.adopt(type(v), target());
}

ValueType NodeImport::output_type(const Graph& body, std::size_t output) const {
  return target().adopt(body.type(body.outputs()[output]), body);
}

// ---- errors ------------------------------------------------------------------------------------

void NodeImport::fail(std::string_view what, Code code) {
  fail_with(Status(code, std::string(what)));
}

// Resets the node to its state before the importer of its operator ran.
void NodeImport::restart() {
  status_ = {};
  poisoned_ = false;
  wants_rank_ = false;
  results_.assign(results_.size(), no_value);
  for (Attribute& a : attributes_) a.read = false;
}

void NodeImport::fail_with(Status status) {
  if (!ok()) return;
  status_ =
      std::move(status).in(cat("node '", printable(name_), "' (", operator_name(proto_), ")"));
}

void NodeImport::warn(std::string_view what) {
  importer_.warn(
      cat("node '", printable(name_), "' (", operator_name(proto_), "): ", printable(what)));
}

// The graph's error names our operator; the model's author knows the ONNX operator.
void NodeImport::fail_as_node(Status status, std::string_view op_name) {
  const std::string prefix = cat("node '", printable(name_), "' (", op_name, "): ");
  std::string_view message = status.message();
  if (message.starts_with(prefix)) message.remove_prefix(prefix.size());
  fail(message, status.code());
}

}  // namespace quern::onnx
