// SPDX-License-Identifier: Apache-2.0
#include <quern/model.h>

#include "graph/graph.h"
#include "graph/text.h"

namespace quern {

Model::Model(std::unique_ptr<Graph> graph, ModelMetadata metadata, std::size_t bytes)
    : graph_(std::move(graph)), metadata_(std::move(metadata)), bytes_(bytes) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

namespace {

// With what the model claims where no number is known: its names are those that users know.
ValueType shown_type(const Value& v) {
  ValueType type = v.type;
  if (!v.claim) return type;
  if (!type.dims) {
    type.dims = v.claim;
  } else if (auto both = meet(*v.claim, *type.dims)) {
    type.dims = std::move(both);
  }
  return type;
}

ValueSpec spec_of(const Graph& g, ValueId id, std::string name) {
  const ValueType type = shown_type(g.value(id));
  ValueSpec spec;
  spec.name = std::move(name);
  spec.kind = static_cast<ValueSpec::Kind>(type.kind);
  spec.dtype = type.dtype;
  spec.has_rank = type.has_rank();
  if (!type.dims) return spec;
  for (Dim d : *type.dims) {
    spec.dims.push_back(d.or_minus_one());
    spec.symbols.push_back(d.is_symbol() ? g.symbols()[d.symbol_id()] : std::string());
  }
  return spec;
}

}  // namespace

std::vector<ValueSpec> Model::inputs() const {
  std::vector<ValueSpec> specs;
  for (ValueId v : graph_->inputs()) specs.push_back(spec_of(*graph_, v, graph_->value(v).name));
  for (const MapParts& map : graph_->input_maps()) specs[map.values].keys = map.keys;
  return specs;
}

std::vector<ValueSpec> Model::outputs() const {
  std::vector<ValueSpec> specs;
  for (std::size_t i = 0; i < graph_->outputs().size(); ++i)
    specs.push_back(spec_of(*graph_, graph_->outputs()[i], graph_->output_names()[i]));
  for (const MapParts& map : graph_->output_maps()) specs[map.values].keys = map.keys;
  return specs;
}

std::string Model::text(std::size_t max_elements) const {
  return to_text(*graph_, {.max_elements = max_elements});
}

Model Model::clone() const {
  return Model(std::make_unique<Graph>(graph_->clone()), metadata_, bytes_);
}

}  // namespace quern
