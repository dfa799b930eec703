// SPDX-License-Identifier: Apache-2.0
// Converts messages to a graph: scopes of names, bodies, functions, and the list of problems.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <quern/status.h>

#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/onnx_parser.h"
#include "frontends/onnx-parser/op_table.h"
#include "frontends/onnx-parser/proto.h"
#include "frontends/onnx-parser/tensor.h"
#include "graph/graph.h"

namespace quern::onnx {

// Marks a value that could not be imported: nodes that read it are skipped without another message.
inline constexpr ValueId poisoned_value{index(no_value) - 1};

// "" and "ai.onnx" are the same domain.
inline std::string_view domain_of(std::string_view name) {
  return name == "ai.onnx" ? "" : name;
}

// Names are truncated for the graph: a model may use one long name often, but stores it only once.
inline std::string short_name(std::string_view name) {
  return std::string(name.substr(0, 256));
}

// The state shared by the nodes of a model or of one function call; bodies share that of their
// node.
struct Environment {
  std::map<std::string_view, std::int64_t> opsets;               // by domain
  std::map<std::string_view, const AttributeProto*> attributes;  // of the call
  std::string prefix;                                            // for names within the call
  const FunctionProto* function = nullptr;
  const Environment* caller = nullptr;
};

// The names visible to the nodes of one graph or one function call.
class Scope {
 public:
  // `outer` is the scope of the node whose body this is: with another graph, or with the same one
  // where the body is imported in place. `captured_bytes` grows by the bytes that captures take.
  Scope(Graph& graph, Scope* outer, const Environment& environment, std::size_t& captured_bytes)
      : graph_(graph), outer_(outer), environment_(environment), captured_bytes_(captured_bytes) {}

  Graph& graph() { return graph_; }
  Scope* outer() { return outer_; }
  const Environment& environment() const { return environment_; }

  // Returns false if the name is already defined.
  bool define(std::string_view name, ValueId value) { return names_.emplace(name, value).second; }
  // Returns no_value for a function input that the call leaves out, and nullopt for an undefined
  // name.
  std::optional<ValueId> find(std::string_view name);
  // Makes a value of the outer graph available here: as an input, or as the same constant.
  ValueId capture(ValueId outer);
  const std::map<std::string_view, ValueId>& names() const { return names_; }
  const std::vector<ValueId>& captures() const { return captures_; }
  // Sets the declared types of values inside; the span must live as long as the scope.
  void set_declarations(std::span<const ValueInfo> values) { declarations_ = values; }
  const ValueInfo* declaration(std::string_view name);

 private:
  Graph& graph_;
  Scope* outer_;
  const Environment& environment_;
  std::size_t& captured_bytes_;
  std::map<std::string_view, ValueId> names_;
  std::map<ValueId, ValueId> captured_;
  std::vector<ValueId> captures_;  // captured values that became inputs, in order
  std::span<const ValueInfo> declarations_;
  std::map<std::string_view, const ValueInfo*> declarations_by_name_;  // filled on first use
};

// A stable topological order: each node comes after the nodes that it reads from. An error names a
// value that is defined twice or nodes that form a cycle.
Result<std::vector<std::uint32_t>> execution_order(std::span<const NodeProto> nodes);
// The names that the node and its bodies read from the graph that contains the node.
std::set<std::string_view> names_read(const NodeProto& node);

class Importer {
 public:
  Importer(const OpSet& ops, const ModelProto& model, TensorDecoder& decoder, MemoryBudget& budget,
           const ImportOptions& options);

  // Returns nullopt if there were problems.
  std::optional<Graph> run();
  // Returns ok, or the first problem and the number of problems.
  Status status() const;

 private:
  friend class NodeImport;

  void problem(const Status& status);
  void problem(Code code, std::string message) { problem(Status(code, std::move(message))); }
  void warn(std::string text);
  void define(Scope& scope, std::string_view name, ValueId value);

  void check_opsets();
  void index_functions();
  void import_inputs(Scope& scope, const GraphProto& proto);
  ValueId add_input(Graph& graph, std::string_view name, ValueType type);
  void import_initializers(Scope& scope, const GraphProto& proto);
  void import_nodes(Scope& scope, std::span<const NodeProto> nodes);
  void import_outputs(Scope& scope, const GraphProto& proto);
  static Result<ValueType> values_type(Graph& graph, const ValueInfo& map);
  void import_map_inputs(Scope& scope, const GraphProto& proto);
  void add_map_outputs(Graph& graph, std::span<const ValueInfo> declared);
  Status check_map(const Graph& graph, ValueId value, const TypeProto& declared) const;
  void claim_output(Graph& graph, ValueId value, const ValueInfo& declared);
  void claim_rank(Scope& scope, ValueId value, std::string_view name);
  bool claim_ranks(NodeImport& n);

  void import_node(Scope& scope, const NodeProto& proto);
  bool resolve_inputs(NodeImport& n);
  bool resolve_attributes(NodeImport& n);
  void import_with(NodeImport& n, const OpRow& row);
  void check_attributes(NodeImport& n);
  void finish(NodeImport& n);
  void call(NodeImport& n, const FunctionProto& function);
  const FunctionProto* find_function(const NodeProto& proto) const;
  Environment call_environment(const NodeImport& n, const FunctionProto& function) const;

  std::optional<Graph> import_body(Scope& outer, const GraphProto& proto,
                                   std::span<const ValueType> inputs,
                                   std::vector<ValueId>& captures);
  std::optional<std::vector<ValueId>> import_contents(Scope& scope, const GraphProto& proto);
  static std::vector<std::string_view> formal_inputs(const GraphProto& proto);
  // Imports the graph into that of the node; the values of its outputs.
  std::optional<std::vector<ValueId>> import_in_place(const NodeImport& n, const GraphProto& proto,
                                                      std::span<const ValueId> inputs);
  Result<ValueType> value_type(const TypeProto& proto, Graph* symbols) const;

  using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;

  OpSet ops_;
  const ModelProto& model_;
  TensorDecoder& decoder_;
  MemoryBudget& budget_;
  const ImportOptions& options_;
  Environment environment_;
  std::map<FunctionKey, const FunctionProto*> functions_;  // by domain, name, overload
  std::size_t problem_count_ = 0;
  Status first_problem_;
  bool gave_up_ = false;
  int depth_ = 0;
  std::uint64_t random_seeds_ = 0;  // handed out so far
  std::size_t captured_bytes_ = 0;  // not charged yet
  std::set<std::uint32_t> input_symbols_;
  std::map<ValueId, ValueId> keys_;  // of maps, by their values: of the model's graph
  const Graph* model_graph_ = nullptr;
};

}  // namespace quern::onnx
