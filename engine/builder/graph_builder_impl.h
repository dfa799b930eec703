// SPDX-License-Identifier: Apache-2.0
// What graph_builder.cpp (the builder itself) and the files of its operators share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/graph_builder.h>

#include "graph/graph.h"

namespace quern {

// The bytes of one element with this value, in the low ones of the result; 0 for strings.
std::uint64_t element_bits(double value, DType dtype);

struct GraphBuilder::Impl {
  explicit Impl(std::string name);

  std::uint64_t number;  // of this builder, in its operands
  Graph graph;
  Status error;  // the first one

  void fail(Status status);
  void fail(std::string_view operation, std::string_view what);

  Operand operand(ValueId id) const { return {number, index(id)}; }
  // no_value for one that is left out; nothing, and an error, for another builder's.
  std::optional<ValueId> value(std::string_view operation, Operand operand);
  Operand constant(Tensor tensor);
  Operand integers(const IntList& list);
  // The operand, or the numbers as a constant; left out stays left out.
  Operand integers(const Integers& integers);

  Operands emit(Op op, const Operands& operands, std::size_t outputs,
                std::vector<Graph> bodies = {});
  Operand emit(Op op, const Operands& operands);
  // The body's graph over inputs of these types. Nothing after an error.
  std::optional<Graph> body(std::string_view operation, const Body& body,
                            std::span<const ValueType> inputs);
  // The types of operands, as far as they are this builder's.
  std::vector<ValueType> types(std::string_view operation, std::span<const Operand> operands);
};

}  // namespace quern
