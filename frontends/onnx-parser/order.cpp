// SPDX-License-Identifier: Apache-2.0
// The order of nodes: the format requires a topological order, but some exporters violate that.
#include <functional>
#include <map>
#include <queue>
#include <set>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/import.h"

namespace quern::onnx {
namespace {

using Names = std::set<std::string_view>;

void add_free_names(const GraphProto& graph, Names& names);

// Adds the names that a node reads: its inputs, and the names that graphs in its attributes read
// from outer scopes.
void add_names_read(const NodeProto& node, Names& names) {
  for (std::string_view name : node.inputs)
    if (!name.empty()) names.insert(name);
  for (const AttributeProto& a : node.attributes)
    for (const GraphProto& g : a.g) add_free_names(g, names);
}

void add_free_names(const GraphProto& graph, Names& names) {
  Names read;
  for (const NodeProto& node : graph.nodes) add_names_read(node, read);
  for (const ValueInfo& output : graph.outputs) read.insert(output.name);
  for (const NodeProto& node : graph.nodes)
    for (std::string_view name : node.outputs) read.erase(name);
  for (const ValueInfo& input : graph.inputs) read.erase(input.name);
  for (const TensorProto& t : graph.initializers) read.erase(t.name);
  for (const SparseTensorProto& t : graph.sparse_initializers) read.erase(t.values.name);
  names.merge(read);
}

}  // namespace

std::set<std::string_view> names_read(const NodeProto& node) {
  Names names;
  add_names_read(node, names);
  return names;
}

namespace {

std::string label(const NodeProto& node) {
  std::string_view name = node.name;
  for (std::string_view output : node.outputs)
    if (name.empty()) name = output;
  return cat("'", printable(name), "' (", printable(node.op_type), ")");
}

Status circle(std::span<const NodeProto> nodes, const std::vector<std::uint32_t>& missing) {
  constexpr std::size_t named_max = 5;
  std::string names;
  std::size_t count = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (missing[i] == 0) continue;
    if (++count <= named_max) names += (names.empty() ? "" : ", ") + label(nodes[i]);
  }
  return {Code::invalid_model,
          cat(count, " nodes depend on each other in a circle, or on one that does: ", names,
              count > named_max ? ", ..." : "")};
}

}  // namespace

Result<std::vector<std::uint32_t>> execution_order(std::span<const NodeProto> nodes) {
  const auto count = static_cast<std::uint32_t>(nodes.size());
  std::map<std::string_view, std::uint32_t> producers;
  for (std::uint32_t i = 0; i < count; ++i)
    for (std::string_view name : nodes[i].outputs)
      if (!name.empty() && !producers.emplace(name, i).second)
        return Status(Code::invalid_model, cat("node ", label(nodes[i]), ": output '",
                                               printable(name), "' is defined twice"));
  std::vector<std::vector<std::uint32_t>> readers(count);
  std::vector<std::uint32_t> missing(count, 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    Names names;
    add_names_read(nodes[i], names);
    for (std::string_view name : names) {
      const auto producer = producers.find(name);
      if (producer == producers.end()) continue;
      readers[producer->second].push_back(i);
      ++missing[i];
    }
  }
  // Always takes the earliest ready node, so that a correct order does not change.
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < count; ++i)
    if (missing[i] == 0) ready.push(i);
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::uint32_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (std::uint32_t reader : readers[i])
      if (--missing[reader] == 0) ready.push(reader);
  }
  if (order.size() != count) return circle(nodes, missing);
  return order;
}

}  // namespace quern::onnx
