// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/import.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/reshape.h"
#include "graph/text.h"

namespace quern::onnx {
namespace {

// The minimum cost of a node and of a name that it reads, in bytes of the budget. Approximate: they
// bound time as well as memory, since nested function calls can expand to millions of nodes.
constexpr std::size_t node_cost = 256;
constexpr std::size_t name_cost = 64;
constexpr std::size_t symbol_name_max = 256;
constexpr std::size_t attributes_max = 1000;
constexpr std::size_t opsets_max = 100;

std::string quote(std::string_view name) {
  return cat("'", printable(name), "'");
}

std::string count_text(Arity a) {
  if (a.max == any_number) return cat("at least ", a.min);
  return a.min == a.max ? cat(a.min) : cat(a.min, " to ", a.max);
}

// Attributes of opset 1 and of tools that have no effect on inference: an optimiser of ONNX Runtime
// misspelt epsilon, and ONNX Runtime takes its default in such files.
bool is_harmless(std::string_view name) {
  return name == "consumed_inputs" || name == "epsion";
}

// The type of a map, or of the maps of a sequence; null: it is neither.
const TypeProto* map_type(const TypeProto& type) {
  const TypeProto* t = &type;
  if (t->kind == TypeProto::Kind::sequence && !t->element.empty()) t = &t->element.front();
  return t->kind == TypeProto::Kind::map ? t : nullptr;
}

struct MapTypes {
  DType key, value;
};

Result<MapTypes> types_of_map(const TypeProto& map) {
  QUERN_ASSIGN(const DType key, dtype_of(map.elem_type));
  if (map.element.empty() || map.element.front().kind != TypeProto::Kind::tensor)
    return Status(Code::unsupported, "its type is a map whose values are no numbers or strings");
  QUERN_ASSIGN(const DType value, dtype_of(map.element.front().elem_type));
  if (key != DType::string && key != DType::i64)
    return Status(Code::unsupported,
                  cat("its type is a map with keys of ", name_of(key), ", wants string or i64"));
  return MapTypes{key, value};
}

std::set<std::string_view> names_of(std::span<const ValueInfo> values) {
  std::set<std::string_view> names;
  for (const ValueInfo& v : values) names.insert(v.name);
  return names;
}

// The name of the keys of a map, which no other input or output has.
std::string keys_name(const std::set<std::string_view>& taken, std::string_view map) {
  std::string name = cat(map, ".keys");
  while (taken.contains(name)) name += '_';
  return name;
}

// Makes a new symbol of the graph with a name like `name`; the search for a free name begins at
// `number`.
Dim fresh_symbol(Graph& graph, std::string_view name, std::size_t number) {
  for (std::size_t i = number;; ++i) {
    const std::size_t known = graph.symbols().size();
    const Dim d = graph.symbol(cat(name, "_", i));
    if (graph.symbols().size() > known) return d;
  }
}

std::set<std::string_view> initializer_names(const GraphProto& proto) {
  std::set<std::string_view> names;
  for (const TensorProto& t : proto.initializers) names.insert(t.name);
  for (const SparseTensorProto& t : proto.sparse_initializers) names.insert(t.values.name);
  return names;
}

}  // namespace

Importer::Importer(const OpSet& ops, const ModelProto& model, TensorDecoder& decoder,
                   MemoryBudget& budget, const ImportOptions& options)
    : ops_(ops), model_(model), decoder_(decoder), budget_(budget), options_(options) {}

// ---- problems ----------------------------------------------------------------------------------

void Importer::problem(const Status& status) {
  if (problem_count_++ == 0) first_problem_ = status.copy();
  // Only the first node past the budget or the deadline is reported, since a very large number may
  // follow.
  if (status.code() == Code::out_of_memory || status.code() == Code::timed_out ||
      status.code() == Code::busy)
    gave_up_ = true;
  if (options_.problems && options_.problems->size() < options_.max_problems)
    options_.problems->emplace_back(status.message());
}

void Importer::warn(std::string text) {
  if (options_.warnings && options_.warnings->size() < options_.max_problems)
    options_.warnings->push_back(std::move(text));
}

Status Importer::status() const {
  if (problem_count_ <= 1) return first_problem_.copy();
  return {first_problem_.code(),
          cat(first_problem_.message(), " (and ", problem_count_ - 1, " more problems)")};
}

// ---- the model ---------------------------------------------------------------------------------

void Importer::check_opsets() {
  if (model_.opsets.size() > opsets_max)
    return problem(Code::unsupported,
                   cat(model_.opsets.size(), " operator sets, the most is ", opsets_max));
  // Of two that a model says of one domain the last one counts, as in ONNX Runtime.
  for (const OperatorSetId& set : model_.opsets)
    environment_.opsets[domain_of(set.domain)] = set.version;
  for (const auto& [domain, version] : environment_.opsets) {
    const auto newest = newest_opset(domain);
    if (newest && (version < 1 || version > *newest))
      problem(Code::unsupported, cat("opset ", version, " of ", domain.empty() ? "ai.onnx" : domain,
                                     " is not known, only 1 to ", *newest));
  }
  // Its optimiser does not always say that it used its operators; they have one version. Exporters
  // of classical models left their domain out, too.
  environment_.opsets.try_emplace("com.microsoft", 1);
  environment_.opsets.try_emplace("ai.onnx.ml", 1);
}

std::optional<Graph> Importer::run() {
  constexpr std::int64_t ir_min = 3;
  constexpr std::int64_t ir_max = 14;
  if (model_.ir_version < ir_min || model_.ir_version > ir_max) {
    problem(Code::unsupported, cat("ONNX IR version ", model_.ir_version, " is not known, only ",
                                   ir_min, " to ", ir_max));
    return std::nullopt;
  }
  check_opsets();
  index_functions();
  Graph graph(ops_);
  model_graph_ = &graph;
  const GraphProto& proto = model_.graph.front();
  graph.name = short_name(proto.name);
  Scope scope(graph, nullptr, environment_, captured_bytes_);
  scope.set_declarations(proto.value_info);
  import_inputs(scope, proto);
  import_initializers(scope, proto);
  import_nodes(scope, proto.nodes);
  import_outputs(scope, proto);
  if (problem_count_ > 0) return std::nullopt;
  if (options_.values) options_.values->insert(scope.names().begin(), scope.names().end());
  return graph;
}

void Importer::define(Scope& scope, std::string_view name, ValueId value) {
  if (name.empty()) return problem(Code::invalid_model, "an input or initializer has no name");
  if (!scope.define(name, value))
    problem(Code::invalid_model, cat("value ", quote(name), " is defined twice"));
}

void Importer::import_inputs(Scope& scope, const GraphProto& proto) {
  const auto defaults = initializer_names(proto);
  for (const ValueInfo& input : proto.inputs) {
    if (defaults.contains(input.name)) continue;
    auto type = input.type.kind == TypeProto::Kind::map ? values_type(scope.graph(), input)
                                                        : value_type(input.type, &scope.graph());
    if (!type) {
      problem(std::move(type).error().in(cat("input ", quote(input.name))));
      define(scope, input.name, poisoned_value);
      continue;
    }
    define(scope, input.name, add_input(scope.graph(), input.name, *type));
  }
  import_map_inputs(scope, proto);
}

// The values of a map that is an input: their number is that of the keys.
Result<ValueType> Importer::values_type(Graph& graph, const ValueInfo& map) {
  QUERN_ASSIGN(const MapTypes types, types_of_map(map.type));
  return ValueType(types.value, Dims{fresh_symbol(graph, cat(map.name.substr(0, 64), "_size"), 1)});
}

// The keys of maps, behind all inputs that the model names.
void Importer::import_map_inputs(Scope& scope, const GraphProto& proto) {
  Graph& graph = scope.graph();
  std::map<ValueId, std::size_t> places;
  for (const ValueId v : graph.inputs()) places.try_emplace(v, places.size());
  const auto taken = names_of(proto.inputs);
  for (const ValueInfo& input : proto.inputs) {
    if (input.type.kind != TypeProto::Kind::map) continue;
    const auto types = types_of_map(input.type);
    const auto values = scope.find(input.name);
    if (!types || !values || *values == poisoned_value) continue;
    const Dims dims = *graph.type(*values).dims;
    keys_[*values] = graph.add_input(keys_name(taken, input.name), {types->key, dims});
    graph.add_input_map({places.at(*values), graph.inputs().size() - 1});
  }
}

// The equality of dimensions of one name is only a claim, and often wrong: exporters use one name
// for all unknown dimensions. So each dimension gets a symbol of its own; dimensions of a
// sequence's elements get none, since the elements may differ.
ValueId Importer::add_input(Graph& graph, std::string_view name, ValueType type) {
  const std::optional<Dims> declared = type.dims;
  if (type.dims)
    for (Dim& d : *type.dims) {
      if (!d.is_symbol()) continue;
      if (type.is_sequence()) {
        d = Dim();
      } else if (!input_symbols_.insert(d.symbol_id()).second) {
        d = fresh_symbol(graph, graph.symbols()[d.symbol_id()], input_symbols_.size() + 1);
        input_symbols_.insert(d.symbol_id());
      }
    }
  const bool is_claimed = type.dims != declared;
  const ValueId value = graph.add_input(std::string(name), std::move(type));
  if (is_claimed) graph.set_claim(value, *declared);
  return value;
}

void Importer::import_initializers(Scope& scope, const GraphProto& proto) {
  const auto add = [&](std::string_view name, Result<Tensor> tensor) {
    if (!tensor) {
      problem(tensor.error());
      return define(scope, name, poisoned_value);
    }
    if (gave_up_) return;
    if (Status room = budget_.charge(value_cost); !room.ok()) {
      problem(std::move(room).in(cat("initializer ", quote(name))));
      return define(scope, name, poisoned_value);
    }
    define(scope, name, scope.graph().add_constant(std::move(tensor).value(), short_name(name)));
  };
  for (const TensorProto& t : proto.initializers) add(t.name, decoder_.decode(t));
  for (const SparseTensorProto& t : proto.sparse_initializers)
    add(t.values.name, decoder_.decode(t));
}

void Importer::import_outputs(Scope& scope, const GraphProto& proto) {
  for (const ValueInfo& output : proto.outputs) {
    const auto value = scope.find(output.name);
    if (!value || *value == no_value) {
      problem(Code::invalid_model, cat("output ", quote(output.name), " is never computed"));
      continue;
    }
    if (*value == poisoned_value) continue;
    claim_output(scope.graph(), *value, output);
    scope.graph().add_output(*value, std::string(output.name));
  }
  if (problem_count_ == 0) add_map_outputs(scope.graph(), proto.outputs);
}

// The keys of maps, behind all outputs that the model names. One that the model does not declare a
// map is its values alone.
void Importer::add_map_outputs(Graph& graph, std::span<const ValueInfo> declared) {
  const auto taken = names_of(declared);
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const auto keys = keys_.find(graph.outputs()[i]);
    if (keys == keys_.end() || !map_type(declared[i].type)) continue;
    graph.add_output(keys->second, keys_name(taken, declared[i].name));
    graph.add_output_map({i, graph.outputs().size() - 1});
  }
}

// The types of keys and values must be those that the model declares.
Status Importer::check_map(const Graph& graph, ValueId value, const TypeProto& declared) const {
  const auto keys = keys_.find(value);
  if (keys == keys_.end())
    return {Code::unsupported,
            cat("is declared a map, but is ", type_text(graph.type(value), &graph))};
  QUERN_ASSIGN(const MapTypes types, types_of_map(declared));
  const MapTypes is = {graph.type(keys->second).dtype, graph.type(value).dtype};
  if (is.key == types.key && is.value == types.value) return {};
  return {Code::invalid_model,
          cat("is declared a map from ", name_of(types.key), " to ", name_of(types.value),
              ", but is one from ", name_of(is.key), " to ", name_of(is.value))};
}

// The declared kind and element type of an output must be right. Its dimensions are used where
// inference leaves them open; if they contradict inference, they are ignored with a warning, as in
// ONNX Runtime.
void Importer::claim_output(Graph& graph, ValueId value, const ValueInfo& declared) {
  if (declared.type.kind == TypeProto::Kind::none) return;
  if (const TypeProto* map = map_type(declared.type)) {
    Status is_map = check_map(graph, value, *map);
    if (!is_map.ok()) problem(std::move(is_map).in(cat("output ", quote(declared.name))));
    return;
  }
  auto type = value_type(declared.type, &graph);
  if (!type) return problem(std::move(type).error().in(cat("output ", quote(declared.name))));
  const ValueType& is = graph.type(value);
  if (type->dtype != is.dtype || type->kind != is.kind)
    return problem(Code::invalid_model,
                   cat("output ", quote(declared.name), " is declared ", type_text(*type, &graph),
                       ", but is ", type_text(is, &graph)));
  if (!type->dims) return;
  if (is.dims && !meet(*is.dims, *type->dims)) {
    warn(cat("output ", quote(declared.name), " is declared ", type_text(*type, &graph),
             ", but is ", type_text(is, &graph)));
  } else if (graph.value(value).producer != no_node) {
    graph.set_claim(value, *type->dims);  // an input has its declaration as an input
  }
}

// If inference does not know the rank, it is taken from value_info. The dimensions there are
// ignored, since tools leave outdated ones.
void Importer::claim_rank(Scope& scope, ValueId value, std::string_view name) {
  const ValueType& type = scope.graph().type(value);
  const ValueInfo* declared = type.dims ? nullptr : scope.declaration(name);
  if (!declared || declared->type.kind != TypeProto::Kind::tensor || !type.is_tensor()) return;
  if (!declared->type.has_shape || declared->type.dims.size() > Shape::max_rank) return;
  scope.graph().set_claim(value, Dims(declared->type.dims.size()));
}

Result<ValueType> Importer::value_type(const TypeProto& proto, Graph* symbols) const {
  using Kind = TypeProto::Kind;
  const TypeProto* t = &proto;
  const bool optional = t->kind == Kind::optional;
  if (optional && !t->element.empty()) t = &t->element.front();
  const bool sequence = t->kind == Kind::sequence;
  if (sequence && !t->element.empty()) t = &t->element.front();
  if (t->kind == Kind::none) return Status(Code::invalid_model, "its type is not given");
  if (t->kind != Kind::tensor)
    return Status(Code::unsupported, "its type is neither a tensor nor a sequence or optional");
  QUERN_ASSIGN(const DType dtype, dtype_of(t->elem_type));
  ValueType type(dtype, std::nullopt);
  if (optional) {
    type.kind = sequence ? ValueType::Kind::optional_sequence : ValueType::Kind::optional_tensor;
  } else if (sequence) {
    type.kind = ValueType::Kind::sequence;
  }
  if (!t->has_shape) return type;
  if (t->dims.size() > Shape::max_rank)
    return Status(Code::unsupported,
                  cat("rank ", t->dims.size(), ", the most is ", Shape::max_rank));
  type.dims = Dims();
  for (const Dimension& d : t->dims) {
    // A longer name would be stored again in every body that reads the value.
    const bool named =
        !d.has_value && !d.param.empty() && d.param.size() <= symbol_name_max && symbols;
    type.dims->push_back(named ? symbols->symbol(d.param) : Dim(d.has_value ? d.value : -1));
  }
  return type;
}

// ---- nodes -------------------------------------------------------------------------------------

void Importer::import_nodes(Scope& scope, std::span<const NodeProto> nodes) {
  const auto order = execution_order(nodes);
  if (!order) return problem(order.error());
  for (std::uint32_t i : *order) {
    if (gave_up_) return;
    import_node(scope, nodes[i]);
  }
}

void Importer::import_node(Scope& scope, const NodeProto& proto) {
  const Environment& environment = scope.environment();
  const std::string_view domain = domain_of(proto.domain);
  const auto version = environment.opsets.find(domain);
  NodeImport n(*this, scope, proto, version == environment.opsets.end() ? 0 : version->second);
  const auto custom = proto.overload.empty()
                          ? find_custom(ops_.custom.get(), domain, proto.op_type, n.version())
                          : nullptr;
  const OpLookup op =
      proto.overload.empty() ? find_op(domain, proto.op_type, n.version()) : OpLookup();
  const FunctionProto* function = op.row || custom ? nullptr : find_function(proto);
  n.charge(node_cost);
  if (function == nullptr && op.row == nullptr && !custom) {
    const std::string opsets = custom_opsets(ops_.custom.get(), domain, proto.op_type);
    if (!opsets.empty()) {
      n.unsupported(
          cat("is registered for opsets ", opsets, ", the model uses opset ", n.version()));
    } else if (n.version() == 0 && newest_opset(domain)) {
      n.fail(cat("the model does not say which opset of ",
                 domain.empty() ? "ai.onnx" : printable(domain), " it uses"));
    } else if (op.since > n.version()) {
      n.unsupported(cat("exists since opset ", op.since, ", the model uses opset ", n.version()));
    } else {
      n.unsupported("this operator is not supported");
    }
  }
  if (n.ok() && resolve_inputs(n) && resolve_attributes(n)) {
    if (custom) {
      import_custom(n, *custom, *ops_.custom);
      check_attributes(n);
    } else if (function) {
      call(n, *function);
    } else {
      import_with(n, *op.row);
    }
  }
  finish(n);
}

bool Importer::resolve_inputs(NodeImport& n) {
  std::size_t count = n.proto_.inputs.size();
  while (count > 0 && n.proto_.inputs[count - 1].empty()) --count;
  if (!n.charge(count * name_cost)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view name = n.proto_.inputs[i];
    const auto value = name.empty() ? no_value : n.scope_.find(name);
    if (!value) n.fail(cat("input ", i, " ", quote(name), " is not defined"));
    if (value && *value == poisoned_value) n.poison();
    n.inputs_.push_back(value.value_or(no_value));
  }
  n.charge(std::exchange(captured_bytes_, 0));
  return n.ok();
}

// Collects the node's attributes. In a function body, references to attributes of the call are
// replaced by those.
bool Importer::resolve_attributes(NodeImport& n) {
  const auto& given = n.scope_.environment().attributes;
  if (n.proto_.attributes.size() > attributes_max)
    n.unsupported(
        cat("has ", n.proto_.attributes.size(), " attributes, the most is ", attributes_max));
  if (!n.charge(n.proto_.attributes.size() * name_cost)) return false;
  for (const AttributeProto& a : n.proto_.attributes) {
    const AttributeProto* value = &a;
    if (!a.ref_name.empty()) {
      const auto it = given.find(a.ref_name);
      if (it == given.end()) continue;  // absent in the call: absent here
      value = it->second;
      if (!value->g.empty()) n.unsupported("a graph as argument of a function is not supported");
    }
    if (n.has_attribute(a.name)) n.fail(cat("attribute ", quote(a.name), " is given twice"));
    n.attributes_.push_back({a.name, value});
  }
  return n.ok();
}

void Importer::import_with(NodeImport& n, const OpRow& row) {
  const auto inputs = n.inputs_.size();
  if (inputs < row.inputs.min || inputs > row.inputs.max)
    return n.fail(cat("has ", inputs, " inputs, wants ", count_text(row.inputs)));
  if (n.results_.size() > row.outputs.max)
    return n.fail(cat("has ", n.results_.size(), " outputs, wants ", count_text(row.outputs)));
  for (std::size_t i = 0; i < row.inputs.min; ++i)
    if (!n.has(i)) return n.fail(cat("input ", i, " is left out, but it is not optional"));
  if (row.same) {
    import_same(n, *row.same);
  } else {
    row.import(n);
    if (n.wants_rank_ && claim_ranks(n)) row.import(n);
  }
  check_attributes(n);
}

// Called if an import depends on a rank that inference does not know. If the model declares the
// rank, the import restarts with an input that is checked to have that rank. Returns false if the
// model declares none.
bool Importer::claim_ranks(NodeImport& n) {
  Graph& graph = n.scope_.graph();
  const auto is_open = [&](ValueId v) {
    return v != no_value && !graph.type(v).dims && graph.value(v).claim;
  };
  if (std::ranges::none_of(n.inputs_, is_open)) return false;
  n.restart();
  for (ValueId& v : n.inputs_) {
    if (!is_open(v) || !n.charge(node_cost)) continue;
    const auto rank = static_cast<std::int64_t>(graph.value(v).claim->size());
    if (auto checked = graph.add(Identity{.rank = rank}, {v}, graph.value(v).name)) v = *checked;
  }
  return n.ok();
}

void Importer::check_attributes(NodeImport& n) {
  for (const NodeImport::Attribute& a : n.attributes_)
    if (!a.read && !is_harmless(a.name))
      n.fail(cat("attribute ", quote(a.name), " is not known at opset ", n.version()));
}

// Binds the outputs; after a problem, to poisoned values.
void Importer::finish(NodeImport& n) {
  for (std::size_t i = 0; i < n.results_.size() && n.ok(); ++i)
    if (n.wants(i) && n.results_[i] == no_value)
      n.unsupported(cat("output ", i, " is not supported"));
  if (!n.status_.ok()) problem(n.status_);
  Graph& graph = n.scope_.graph();
  for (std::size_t i = 0; i < n.results_.size(); ++i) {
    const std::string_view name = n.proto_.outputs[i];
    if (name.empty()) continue;
    const ValueId value = n.ok() ? n.results_[i] : poisoned_value;
    if (n.ok()) {
      claim_rank(n.scope_, value, name);
      if (graph.value(value).name.empty())
        graph.set_name(value, n.scope_.environment().prefix + short_name(name));
    }
    define(n.scope_, name, value);
  }
}

// ---- bodies and functions ----------------------------------------------------------------------

std::optional<Graph> Importer::import_body(Scope& outer, const GraphProto& proto,
                                           std::span<const ValueType> inputs,
                                           std::vector<ValueId>& captures) {
  const std::size_t problems_before = problem_count_;
  Graph graph(ops_);
  graph.name = short_name(proto.name);
  Scope scope(graph, &outer, outer.environment(), captured_bytes_);
  const auto defaults = initializer_names(proto);
  std::size_t formal = 0;
  for (const ValueInfo& input : proto.inputs) {
    if (defaults.contains(input.name)) continue;
    if (formal < inputs.size()) {
      const ValueId value =
          graph.add_input(short_name(input.name), graph.adopt(inputs[formal], outer.graph()));
      define(scope, input.name, value);
      const TypeProto& declared = input.type;
      if (!inputs[formal].dims && inputs[formal].is_tensor() && declared.has_shape &&
          declared.kind == TypeProto::Kind::tensor && declared.dims.size() <= Shape::max_rank)
        graph.set_claim(value, Dims(declared.dims.size()));
    }
    ++formal;
  }
  if (formal != inputs.size())
    problem(Code::invalid_model, cat("body ", quote(proto.name), " has ", formal,
                                     " inputs, its node wants ", inputs.size()));
  for (ValueId v : captures) scope.capture(v);
  const auto outputs = import_contents(scope, proto);
  captures = scope.captures();
  if (!outputs || problem_count_ != problems_before) return std::nullopt;
  for (std::size_t i = 0; i < outputs->size(); ++i)
    graph.add_output((*outputs)[i], short_name(proto.outputs[i].name));
  return graph;
}

// Everything but the inputs, which the scope has; nullopt if there was a problem.
std::optional<std::vector<ValueId>> Importer::import_contents(Scope& scope,
                                                              const GraphProto& proto) {
  const std::size_t problems_before = problem_count_;
  scope.set_declarations(proto.value_info);
  import_initializers(scope, proto);
  if (++depth_ > options_.max_depth) {
    problem(Code::unsupported, cat("bodies and functions nest deeper than ", options_.max_depth));
  } else {
    import_nodes(scope, proto.nodes);
  }
  --depth_;
  std::vector<ValueId> outputs;
  for (const ValueInfo& output : proto.outputs) {
    const auto value = scope.find(output.name);
    if (!value || *value == no_value) {
      problem(Code::invalid_model, cat("output ", quote(output.name), " of body ",
                                       quote(proto.name), " is never computed"));
    } else if (*value == poisoned_value) {
      return std::nullopt;
    } else {
      outputs.push_back(*value);
    }
  }
  if (problem_count_ != problems_before) return std::nullopt;
  return outputs;
}

// The inputs that a body wants: those that are no initializers.
std::vector<std::string_view> Importer::formal_inputs(const GraphProto& proto) {
  const auto defaults = initializer_names(proto);
  std::vector<std::string_view> names;
  for (const ValueInfo& input : proto.inputs)
    if (!defaults.contains(input.name)) names.push_back(input.name);
  return names;
}

std::optional<std::vector<ValueId>> Importer::import_in_place(const NodeImport& n,
                                                              const GraphProto& proto,
                                                              std::span<const ValueId> inputs) {
  const std::size_t problems_before = problem_count_;
  Environment environment = n.scope_.environment();
  environment.prefix = short_name(n.name_) + "/";
  Scope scope(n.scope_.graph(), &n.scope_, environment, captured_bytes_);
  const auto names = formal_inputs(proto);
  if (names.size() != inputs.size())
    problem(Code::invalid_model, cat("body ", quote(proto.name), " has ", names.size(),
                                     " inputs, its node wants ", inputs.size()));
  for (std::size_t i = 0; i < std::min(names.size(), inputs.size()); ++i)
    define(scope, names[i], inputs[i]);
  auto outputs = import_contents(scope, proto);
  if (problem_count_ != problems_before) return std::nullopt;
  return outputs;
}

void Importer::index_functions() {
  for (const FunctionProto& f : model_.functions) {
    if (!functions_.emplace(FunctionKey(domain_of(f.domain), f.name, f.overload), &f).second)
      problem(Code::invalid_model, cat("function ", quote(f.name), " is defined twice"));
    if (f.opsets.size() > opsets_max)
      problem(Code::unsupported, cat("function ", quote(f.name), " uses ", f.opsets.size(),
                                     " operator sets, the most is ", opsets_max));
  }
}

const FunctionProto* Importer::find_function(const NodeProto& proto) const {
  const auto it =
      functions_.find(FunctionKey(domain_of(proto.domain), proto.op_type, proto.overload));
  return it == functions_.end() ? nullptr : it->second;
}

Environment Importer::call_environment(const NodeImport& n, const FunctionProto& function) const {
  Environment e;
  e.function = &function;
  e.caller = &n.scope_.environment();
  e.prefix = short_name(n.name_) + "/";
  e.opsets = environment_.opsets;
  for (const OperatorSetId& set : function.opsets) e.opsets[domain_of(set.domain)] = set.version;
  for (const AttributeProto& a : function.default_attributes) e.attributes[a.name] = &a;
  for (const NodeImport::Attribute& a : n.attributes_) e.attributes[a.name] = a.value;
  return e;
}

// Imports the body of the function in place of the node.
void Importer::call(NodeImport& n, const FunctionProto& function) {
  for (const Environment* e = &n.scope_.environment(); e; e = e->caller)
    if (e->function == &function) return n.fail("the function calls itself");
  if (n.inputs_.size() > function.inputs.size() || n.results_.size() > function.outputs.size())
    return n.fail(cat("has ", n.inputs_.size(), " inputs and ", n.results_.size(),
                      " outputs, the function takes ", function.inputs.size(), " and gives ",
                      function.outputs.size()));
  if (!n.charge(name_cost * (environment_.opsets.size() + function.opsets.size() +
                             function.default_attributes.size() + function.inputs.size())))
    return;
  const Environment environment = call_environment(n, function);
  Scope scope(n.scope_.graph(), nullptr, environment, captured_bytes_);
  for (std::size_t i = 0; i < function.inputs.size(); ++i)
    define(scope, function.inputs[i], n.in(i));
  if (++depth_ > options_.max_depth) {
    n.unsupported(cat("bodies and functions nest deeper than ", options_.max_depth));
  } else {
    import_nodes(scope, function.nodes);
  }
  --depth_;
  for (std::size_t i = 0; i < n.results_.size() && n.ok(); ++i) {
    const auto value = scope.find(function.outputs[i]);
    if (!value) {
      n.fail(cat("the function never computes its output ", quote(function.outputs[i])));
    } else if (*value == poisoned_value) {
      n.poison();
    } else {
      n.set(i, *value);
    }
  }
}

}  // namespace quern::onnx
