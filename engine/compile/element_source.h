// SPDX-License-Identifier: Apache-2.0
// Finds the elements of a static graph that are copies of other elements, and the positions of
// elements in a layout. This is all that the program checker knows about operators.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "kernels/contract/layout.h"

namespace quern {

// An element of a value, by its index in row-major order.
struct Element {
  ValueId value = no_value;
  std::int64_t index = 0;

  bool operator==(const Element&) const = default;
};

// All dimensions of the graph must be numbers, and the graph must outlive this object.
class ElementSources {
 public:
  explicit ElementSources(const Graph& graph) : graph_(graph) {}

  // Returns the element that `e` is a copy of, according to the operator that makes its value
  // (Reshape and similar operators, Transpose, Slice, Split, Expand, Concat); nullopt if `e` is
  // computed, an input or a constant.
  std::optional<Element> source(const Element& e);
  // Follows source() to the first element of the chain.
  Element origin(Element e);

 private:
  Shape shape(ValueId v) const { return *graph_.type(v).shape(); }
  std::optional<Element> of_slice(const Node& node, const Element& e);
  std::optional<Element> of_split(const Node& node, const Element& e);
  std::optional<Element> of_concat(const Node& node, const Element& e) const;

  struct Steps {
    std::vector<std::int64_t> start, step;  // by dimension; empty: unknown
  };
  const Graph& graph_;
  std::map<ValueId, Steps> slices_;                    // by result
  std::map<NodeId, std::vector<std::int64_t>> parts_;  // by Split: the start of each part
};

// The offset of this element in bytes from the first element of the tensor.
std::uint64_t byte_of(const TensorDesc& desc, std::int64_t index);
// Returns the element that begins at this byte; nullopt for padding and for the middle of an
// element. Only for layouts in which no two elements share a position.
std::optional<std::int64_t> element_at(const TensorDesc& desc, std::uint64_t byte);

}  // namespace quern
