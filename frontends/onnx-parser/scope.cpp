// SPDX-License-Identifier: Apache-2.0
// Names and their values, across graphs.
#include "frontends/onnx-parser/import.h"

namespace quern::onnx {
namespace {

constexpr std::size_t capture_cost = sizeof(Value) + 256;

// The bytes that the names of symbols take in a graph that does not have them yet.
std::size_t symbol_bytes(const ValueType& type, const Graph& graph) {
  std::size_t bytes = 0;
  if (type.dims)
    for (Dim d : *type.dims)
      if (d.is_symbol()) bytes += 128 + 2 * graph.symbols()[d.symbol_id()].size();
  return bytes;
}

}  // namespace

std::optional<ValueId> Scope::find(std::string_view name) {
  if (const auto it = names_.find(name); it != names_.end()) return it->second;
  if (!outer_) return std::nullopt;
  const auto found = outer_->find(name);
  if (!found || *found == no_value || *found == poisoned_value) return found;
  if (&outer_->graph() == &graph_) return found;
  return capture(*found);
}

ValueId Scope::capture(ValueId outer) {
  if (const auto it = captured_.find(outer); it != captured_.end()) return it->second;
  const Value& v = outer_->graph().value(outer);
  captured_bytes_ += capture_cost + v.name.size() + symbol_bytes(v.type, outer_->graph());
  ValueId inner = no_value;
  if (v.is_constant()) {
    inner = graph_.add_constant(v.constant, short_name(v.name));
  } else {
    inner = graph_.add_input(short_name(v.name), graph_.adopt(v.type, outer_->graph()));
    if (v.claim) graph_.set_claim(inner, Dims(v.claim->size()));
    captures_.push_back(outer);
  }
  captured_.emplace(outer, inner);
  return inner;
}

const ValueInfo* Scope::declaration(std::string_view name) {
  if (declarations_by_name_.empty())
    for (const ValueInfo& v : declarations_) declarations_by_name_.emplace(v.name, &v);
  const auto it = declarations_by_name_.find(name);
  return it == declarations_by_name_.end() ? nullptr : it->second;
}

}  // namespace quern::onnx
