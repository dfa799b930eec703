// SPDX-License-Identifier: Apache-2.0
// From messages to a graph: scopes of names, bodies, functions, and the list of problems.
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

// Stands for a value that could not be imported: what reads it is skipped without another message.
inline constexpr ValueId poisoned_value{index(no_value) - 1};

// "" and "ai.onnx" are one.
inline std::string_view domain_of(std::string_view name) {
  return name == "ai.onnx" ? "" : name;
}

// Names go into the graph cut: one long name may stand in a model often, but is stored there once.
inline std::string short_name(std::string_view name) {
  return std::string(name.substr(0, 256));
}

// What the nodes of a model, or of one call of a function, share; bodies share their node's.
struct Environment {
  std::map<std::string_view, std::int64_t> opsets;               // by domain
  std::map<std::string_view, const AttributeProto*> attributes;  // of the call
  std::string prefix;                                            // of names inside of the call
  const FunctionProto* function = nullptr;
  const Environment* caller = nullptr;
};

// The names that the nodes of one graph or one function call see.
class Scope {
 public:
  // `outer`: of the node whose body this is; its graph is another one. `captured_bytes` grows by
  // what captures take.
  Scope(Graph& graph, Scope* outer, const Environment& environment, std::size_t& captured_bytes)
      : graph_(graph), outer_(outer), environment_(environment), captured_bytes_(captured_bytes) {}

  Graph& graph() { return graph_; }
  Scope* outer() { return outer_; }
  const Environment& environment() const { return environment_; }

  // False when the name is taken.
  bool define(std::string_view name, ValueId value) { return names_.emplace(name, value).second; }
  // no_value: an input of a function that its call leaves out. Nothing: not defined.
  std::optional<ValueId> find(std::string_view name);
  // A value of the outer graph as one of this: an input, or the same constant.
  ValueId capture(ValueId outer);
  const std::vector<ValueId>& captures() const { return captures_; }
  // What the message says of the types of values inside; the span must live as long as the scope.
  void set_declarations(std::span<const ValueInfo> values) { declarations_ = values; }
  const ValueInfo* declaration(std::string_view name);

 private:
  Graph& graph_;
  Scope* outer_;
  const Environment& environment_;
  std::size_t& captured_bytes_;
  std::map<std::string_view, ValueId> names_;
  std::map<ValueId, ValueId> captured_;
  std::vector<ValueId> captures_;  // the inputs among them, in order
  std::span<const ValueInfo> declarations_;
  std::map<std::string_view, const ValueInfo*> declarations_by_name_;  // made when first asked
};

// Nodes so that each stands after what it reads, else as they stood. An error names a value that is
// defined twice or nodes that depend on each other in a circle.
Result<std::vector<std::uint32_t>> execution_order(std::span<const NodeProto> nodes);
// Names that the node reads of the graph in which it stands, those that its bodies read among them.
std::set<std::string_view> names_read(const NodeProto& node);

class Importer {
 public:
  Importer(OpSet ops, const ModelProto& model, TensorDecoder& decoder, MemoryBudget& budget,
           const ImportOptions& options);

  // Nothing when there were problems.
  std::optional<Graph> run();
  // ok, or the first problem and the number of them.
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
};

}  // namespace quern::onnx
