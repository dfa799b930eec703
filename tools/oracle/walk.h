// SPDX-License-Identifier: Apache-2.0
// The walk over a graph and the bodies of its nodes.
#pragma once

#include <string_view>
#include <vector>

#include "tools/oracle/values.h"

namespace quern::tools {

class Walk {
 public:
  Walk(const OpSet& ops, const BoundOptions& options) : ops_(ops), options_(options) {}

  // One value for each output; one for each input is given.
  Result<std::vector<Traces>> run(const Graph& graph, std::vector<Traces> inputs);

 private:
  Result<std::vector<Traces>> node(const Graph& graph, const Node& node,
                                   const std::vector<Traces>& in);
  Result<std::vector<Traces>> plain(const Op& op, std::span<const Traces> in,
                                    std::span<const DType> types, std::string_view name);
  Result<std::vector<Tensor>> evaluate_op(const Op& op, std::span<const Tensor> operands,
                                          std::size_t outputs, std::string_view name);
  // `x` through an op of one data operand that moves elements; `more` are exact operands.
  Result<Traces> moved(const Op& op, const Traces& x, const std::vector<Tensor>& more);

  // control_flow.cpp
  Result<std::vector<Traces>> structural(const Node& node, const std::vector<Traces>& in);
  Result<std::vector<Traces>> run_if(const Node& node, const std::vector<Traces>& in);
  Result<std::vector<Traces>> run_loop(const Node& node, const std::vector<Traces>& in);
  Result<std::vector<Traces>> run_scan(const Node& node, const std::vector<Traces>& in);
  Result<std::vector<Traces>> run_map(const Node& node, const std::vector<Traces>& in);
  // sequences.cpp
  Result<Traces> run_sequence(const Node& node, const std::vector<Traces>& in);
  Result<Traces> run_split(const Node& node, const std::vector<Traces>& in);
  Result<Traces> run_concat(const Node& node, const std::vector<Traces>& in);
  Result<Traces> run_optional(const Node& node, const std::vector<Traces>& in);
  // Stacks the outputs of iterations along a new axis. `type`: that of one output, for the case of
  // no iterations.
  Result<Traces> stacked(const std::vector<Traces>& parts, std::int64_t axis,
                         const ValueType& type);
  // Element `i` along `axis`, which is removed.
  Result<Traces> element(const Traces& x, std::int64_t axis, std::int64_t i);

  OpSet ops_;
  BoundOptions options_;
  std::int64_t iterations_ = 0;
};

// The error of a node that the oracle does not judge.
Status refused(const Node& n, std::string_view why);

// The values of small exact operands.
std::optional<std::int64_t> whole_number(const Traces& t);
std::optional<bool> condition(const Traces& t);
bool is_undetermined(const Traces& t);
bool any_undetermined(const std::vector<Traces>& all);
Traces tensor_of(Tensor exact, DType type);

}  // namespace quern::tools
