// SPDX-License-Identifier: Apache-2.0
// The text form of a graph: tests compare it, failures print it and `quern inspect --text` shows
// it.
//
//   graph "classifier" {
//     input %0 "image": f32[N,3,224,224]
//     const %1: f32[2,2] = {1, 2, 3, 4}
//     %2 "scores": f32[N,2] = MatMul(%0, %1, %5) transpose_b=true | add #2 | clip(0,6) @"node_7"
//     output %2 "probs"
//   }
//
// `_` stands for an omitted input or an output that is not wanted, `?` for an unknown dimension,
// `[*]` for an unknown rank, `#i` for the node's input i as operand of a post-op. Constants above
// `max_elements` print as `...`, which reads back as zeros. Where constants are kept elsewhere,
// they print as a number there: `= @17`.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <quern/status.h>

#include "graph/graph.h"

namespace quern {

struct TextOptions {
  std::size_t max_elements = 64;  // of a constant
  bool names = true;              // of values and nodes
  // Where a constant is kept; empty, or no number: its elements are printed.
  std::function<std::optional<std::uint64_t>(const Tensor&)> place_of = {};
};

std::string to_text(const Graph& graph, const TextOptions& options = {});
// Reading, for texts that may come from anywhere.
struct ReadTextOptions {
  // The constant of a number; empty: none has one.
  std::function<Result<Tensor>(std::uint64_t number, const TensorType& type)> constant_at = {};
  // The types of results are inferred, and the text may only say the same or less of them: a text
  // that says more is refused. Off: what it says is taken, as tests of refinements want it.
  bool infers = false;
  std::size_t max_constant_bytes = std::numeric_limits<std::size_t>::max();  // of all in the text
};
// Errors name the line.
Result<Graph> parse_text(std::string_view text, const OpSet& ops,
                         const ReadTextOptions& options = {});
// Sets the attributes of `op` from "kind=max kernel=[2,2]"; the others keep their values. Errors:
// invalid_argument.
Status parse_attributes(std::string_view text, Op& op);
// make_op("Unary", "kind=relu"): an operator by its name, with the attributes that the text names.
Result<Op> make_op(std::string_view name, std::string_view attributes);

// "f32[N,3,224,224]", "seq(f32[*])", "opt(i64[])"; symbols by name when the graph is given.
std::string type_text(const ValueType& type, const Graph* graph = nullptr);
// "kind=relu alpha=0.1": the attributes that differ from the default.
std::string attributes_text(const Op& op);
// "relu", "clip(0,6)"
std::string unary_text(const Unary& unary);
// " | relu | add(%2)", with what `operand` gives for each operand.
std::string post_ops_text(const PostOps& post_ops,
                          const std::function<std::string(std::uint32_t)>& operand);

}  // namespace quern
