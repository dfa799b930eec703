// SPDX-License-Identifier: Apache-2.0
// Elements of a static graph that are copies of others, and where elements lie in a layout: what a
// checker of programs knows about operators.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "kernels/contract/layout.h"

namespace quern {

// By its place in row-major order.
struct Element {
  ValueId value = no_value;
  std::int64_t index = 0;

  bool operator==(const Element&) const = default;
};

// All dimensions of the graph are numbers; it outlives this.
class ElementSources {
 public:
  explicit ElementSources(const Graph& graph) : graph_(graph) {}

  // The element that it is a copy of, by the operator that makes its value (Reshape and its kin,
  // Transpose, Slice, Split, Expand, Concat); nothing: it is computed, given or constant.
  std::optional<Element> source(const Element& e);
  // The first of the chain.
  Element origin(Element e);

 private:
  Shape shape(ValueId v) const { return *graph_.type(v).shape(); }
  std::optional<Element> of_slice(const Node& node, const Element& e);
  std::optional<Element> of_split(const Node& node, const Element& e);
  std::optional<Element> of_concat(const Node& node, const Element& e) const;

  struct Steps {
    std::vector<std::int64_t> start, step;  // by dimension; empty: not known here
  };
  const Graph& graph_;
  std::map<ValueId, Steps> slices_;                    // by result
  std::map<NodeId, std::vector<std::int64_t>> parts_;  // of Splits: where each begins
};

// Bytes from the first element of the tensor to this one.
std::uint64_t byte_of(const TensorDesc& desc, std::int64_t index);
// The element that begins at this byte; nothing: padding, or the middle of an element. For layouts
// that put no two elements at one place.
std::optional<std::int64_t> element_at(const TensorDesc& desc, std::uint64_t byte);

}  // namespace quern
