// SPDX-License-Identifier: Apache-2.0
#include "tools/optimize/opset_change.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/graph.h"
#include "graph/text.h"

namespace quern::tools {
namespace {

// Operators that ONNX has deprecated. The importer reads them in later opsets, too, as exporters
// wrote them there.
struct Deprecated {
  std::string_view type;
  std::int64_t since;
};
constexpr std::array deprecated_operators = {Deprecated{"Upsample", 10}, Deprecated{"Scatter", 11}};

bool is_gone(const onnx::NodeProto& node, std::int64_t opset) {
  return onnx::domain_of(node.domain).empty() &&
         std::ranges::any_of(deprecated_operators, [&](const Deprecated& d) {
           return d.type == node.op_type && opset >= d.since;
         });
}

// Imports one node of the model after the other, alone and in either opset.
class NodeImports {
 public:
  NodeImports(const EditedModel& model, std::int64_t opset, const Graph& graph,
              const ValueNames& values)
      : model_(model), opset_(opset), graph_(graph), values_(values) {
    alone_.ir_version = model.message().ir_version;
    alone_.opsets = model.message().opsets;
    alone_.graph.emplace_back();
    for (const onnx::TensorProto& t : model.graph().initializers) initializers_[t.name] = &t;
    for (const onnx::NodeProto& node : model.graph().nodes)
      if (node.op_type == "Constant" && node.inputs.empty() && node.outputs.size() == 1)
        constant_nodes_[node.outputs[0]] = &node;
  }

  // Why the node cannot stay; "": it can. Functions of the model say for themselves which opset
  // they are of, and other domains have their own.
  std::string reason(const onnx::NodeProto& node) {
    if (!onnx::domain_of(node.domain).empty()) return "";
    if (is_gone(node, opset_)) return cat("opset ", opset_, " has no ", node.op_type);
    if (!take(node)) return "";  // its operands have no type that could be declared
    const auto was = text_in(model_.opset(""));
    const auto is = text_in(opset_);
    if (!is) return std::string(is.error().message());
    if (!was || *was == *is) return "";
    return cat(node.op_type, " means something else in opset ", opset_);
  }

 private:
  // The node as a graph whose inputs are its operands.
  bool take(const onnx::NodeProto& node) {
    onnx::GraphProto& graph = alone_.graph[0];
    graph = {};
    graph.nodes = {node};
    for (const std::string_view name : onnx::names_read(node)) {
      if (name.empty() || add_constant(name)) continue;
      const auto at = values_.find(name);
      if (at == values_.end()) return false;
      onnx::ValueInfo input{.name = name};
      if (!declare(graph_.type(at->second), input.type)) return false;
      graph.inputs.push_back(std::move(input));
    }
    for (const std::string_view name : node.outputs)
      if (!name.empty()) graph.outputs.push_back({.name = name, .type = {}});
    return true;
  }

  bool add_constant(std::string_view name) {
    onnx::GraphProto& graph = alone_.graph[0];
    if (const auto at = initializers_.find(name); at != initializers_.end()) {
      graph.initializers.push_back(*at->second);
      return true;
    }
    const auto node = constant_nodes_.find(name);
    if (node == constant_nodes_.end()) return false;
    graph.nodes.insert(graph.nodes.begin(), *node->second);
    return true;
  }

  static bool declare(const ValueType& type, onnx::TypeProto& declared) {
    if (!type.is_tensor()) return false;
    declared.kind = onnx::TypeProto::Kind::tensor;
    declared.elem_type = onnx::onnx_type_of(type.dtype);
    declared.has_shape = type.dims.has_value();
    if (type.dims)
      for (const Dim d : *type.dims)
        declared.dims.push_back(
            {.has_value = d.known(), .value = d.known() ? d.value() : 0, .param = {}});
    return true;
  }

  // The graph of the node as text.
  Result<std::string> text_in(std::int64_t opset) {
    for (onnx::OperatorSetId& o : alone_.opsets)
      if (onnx::domain_of(o.domain).empty()) o.version = opset;
    QUERN_ASSIGN(const Graph graph, model_.import_other(alone_));
    constexpr std::int64_t most_elements = 1024;
    return to_text(graph, {.max_elements = most_elements});
  }

  const EditedModel& model_;
  std::int64_t opset_;
  const Graph& graph_;
  const ValueNames& values_;
  std::unordered_map<std::string_view, const onnx::TensorProto*> initializers_;
  std::unordered_map<std::string_view, const onnx::NodeProto*> constant_nodes_;
  onnx::ModelProto alone_;
};

}  // namespace

Result<OpsetChange> opset_change(const EditedModel& model, std::int64_t opset) {
  const std::int64_t newest = onnx::newest_opset("").value_or(0);
  if (opset < 1 || opset > newest)
    return Status(Code::invalid_argument,
                  cat("opset ", opset, " is not known, only 1 to ", newest));
  OpsetChange change{.opset = opset, .reasons = {}};
  change.reasons.resize(model.graph().nodes.size());
  if (opset == model.opset("")) return change;
  ValueNames values;
  QUERN_ASSIGN(const Graph graph, model.import(values));
  NodeImports imports(model, opset, graph, values);
  for (std::size_t i = 0; i < change.reasons.size(); ++i)
    change.reasons[i] = imports.reason(model.graph().nodes[i]);
  return change;
}

}  // namespace quern::tools
