// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/described_model.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/import.h"
#include "frontends/onnx-parser/tensor.h"
#include "frontends/onnx-parser/write.h"
#include "graph/type.h"

namespace quern::tools {
namespace {

using Hash = std::uint64_t;

Hash mixed(Hash hash, Hash more) {
  hash ^= more + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdULL;
}
Hash hash_of(std::string_view text) {
  return std::hash<std::string_view>{}(text);
}

Hash hash_of(const Tensor& t) {
  Hash hash = static_cast<Hash>(t.dtype());
  for (const std::int64_t d : t.shape()) hash = mixed(hash, static_cast<Hash>(d));
  if (t.dtype() == DType::string) {
    for (const StringRef& s : t.span<StringRef>()) hash = mixed(hash, hash_of(s.view()));
    return hash;
  }
  return mixed(hash, hash_of({reinterpret_cast<const char*>(t.data()), t.bytes()}));
}

template <class T>
std::string list_text(const std::vector<T>& values) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), most); ++i)
    text += cat(i == 0 ? "" : ", ", values[i]);
  return cat("[", text, values.size() > most ? ", ...]" : "]");
}

std::string shape_text(const std::vector<onnx::Dimension>& dims) {
  std::string text;
  for (const onnx::Dimension& d : dims)
    text += cat(text.empty() ? "" : ",", d.has_value       ? cat(d.value)
                                         : d.param.empty() ? "?"
                                                           : std::string(d.param));
  return cat("[", text, "]");
}

std::string dtype_text(std::int64_t onnx_type) {
  const auto dtype = onnx::dtype_of(onnx_type);
  return dtype ? std::string(name_of(*dtype)) : cat("type ", onnx_type);
}

// The attributes in the order of their names, which means nothing.
Hash hash_of_attributes(const onnx::NodeProto& node) {
  std::vector<Hash> all;
  for (const onnx::AttributeProto& a : node.attributes) all.push_back(hash_of(attribute_bytes(a)));
  std::ranges::sort(all);
  Hash hash = all.size();
  for (const Hash h : all) hash = mixed(hash, h);
  return hash;
}

bool is_body(const onnx::AttributeProto& a) {
  return !a.g.empty() || !a.graphs.empty();
}

}  // namespace

std::string attribute_bytes(const onnx::AttributeProto& attribute) {
  onnx::NodeProto node;
  node.attributes = {attribute};
  onnx::GraphProto graph;
  graph.nodes = {std::move(node)};
  onnx::ModelProto model;
  model.graph = {std::move(graph)};
  return onnx::write_model(model);
}

std::string attribute_text(const onnx::AttributeProto& a) {
  using K = onnx::AttributeKind;
  if (!a.ref_name.empty()) return cat("of the call: ", a.ref_name);
  switch (a.kind) {
    case K::number: return number_text(a.f);
    case K::integer: return cat(a.i);
    case K::text: return cat("'", shown(a.s), "'");
    case K::numbers: return list_text(a.floats);
    case K::integers: return list_text(a.ints);
    case K::texts: return cat(a.strings.size(), " texts");
    case K::graph:
      return a.g.empty() ? "no graph" : cat("graph of ", a.g[0].nodes.size(), " nodes");
    case K::tensor:
      return a.t.empty() ? "no tensor" : cat(dtype_text(a.t[0].data_type), list_text(a.t[0].dims));
    default: return "set";
  }
}

std::string type_text(const onnx::TypeProto& type) {
  using K = onnx::TypeProto::Kind;
  const auto element = [&] { return type.element.empty() ? "?" : type_text(type.element[0]); };
  switch (type.kind) {
    case K::tensor:
      return dtype_text(type.elem_type) + (type.has_shape ? shape_text(type.dims) : "");
    case K::sequence: return "sequence of " + element();
    case K::optional: return "optional " + element();
    case K::none: return "no type";
    default: return "no tensor";
  }
}

Result<DescribedModel> DescribedModel::of(const EditedModel& model) {
  DescribedModel d;
  std::unordered_map<std::string_view, Hash> values;
  const onnx::GraphProto& graph = model.graph();
  for (const onnx::ValueInfo& input : graph.inputs)
    values[input.name] = mixed(1, hash_of(input.name));
  const auto add_constant = [&](std::string_view name) {
    const Tensor* tensor = model.constant(name);
    if (!tensor || !d.constant_at.emplace(name, d.constants.size()).second) return false;
    d.constants.push_back({name, tensor, hash_of(*tensor)});
    values[name] = mixed(2, d.constants.back().hash);
    return true;
  };
  for (const onnx::TensorProto& t : graph.initializers) add_constant(t.name);
  QUERN_ASSIGN(const auto order, onnx::execution_order(graph.nodes));
  for (const std::uint32_t i : order) {
    const onnx::NodeProto& node = graph.nodes[i];
    if (node.op_type == "Constant" && node.outputs.size() == 1 && add_constant(node.outputs[0]))
      continue;
    Hash hash = mixed(hash_of(node.op_type), hash_of(node.domain == "ai.onnx" ? "" : node.domain));
    hash = mixed(hash, hash_of_attributes(node));
    const auto read = [&](std::string_view name) {
      const auto at = values.find(name);
      hash = mixed(hash, at == values.end() ? hash_of(name) : at->second);
    };
    for (const std::string_view name : node.inputs) read(name);
    if (std::ranges::any_of(node.attributes, is_body))
      for (const std::string_view name : onnx::names_read(node)) read(name);
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      values[node.outputs[k]] = mixed(hash, node.outputs[k].empty() ? 0 : k + 1);
    const DescribedNode described{&node, node_name(node), hash};
    d.node_at.emplace(described.name, d.nodes.size());
    d.nodes.push_back(described);
  }
  return d;
}

}  // namespace quern::tools
