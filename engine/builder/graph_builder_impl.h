// SPDX-License-Identifier: Apache-2.0
// Definitions shared by graph_builder.cpp (the builder itself) and the files of its operators.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <quern/graph_builder.h>

#include "graph/graph.h"

namespace quern {

// The bytes of one element with this value, in the low bytes of the result; 0 for strings.
std::uint64_t element_bits(double value, DType dtype);

struct GraphBuilder::Impl {
  explicit Impl(std::string name);

  std::uint64_t number;  // of this builder, in its operands
  Graph graph;
  std::unordered_set<std::string> input_names;
  std::unordered_set<std::string> output_names;
  Status error;  // the first one

  void fail(Status status);
  void fail(std::string_view operation, std::string_view what);

  Operand operand(ValueId id) const { return {number, index(id)}; }
  // Returns no_value for an absent operand; sets an error and returns nullopt for an operand of
  // another builder.
  std::optional<ValueId> value(std::string_view operation, Operand operand);
  Operand constant(Tensor tensor);
  Operand integers(const IntList& list);
  // Returns the operand, or a constant of the numbers; absent integers stay absent.
  Operand integers(const Integers& integers);

  Operands emit(Op op, const Operands& operands, std::size_t outputs,
                std::vector<Graph> bodies = {});
  Operand emit(Op op, const Operands& operands);
  // Builds the body's graph with inputs of these types. Returns nullopt after an error.
  std::optional<Graph> body(std::string_view operation, const Body& body,
                            std::span<const ValueType> inputs);
  // The types of those operands that belong to this builder.
  std::vector<ValueType> types(std::string_view operation, std::span<const Operand> operands);
};

}  // namespace quern
