// SPDX-License-Identifier: Apache-2.0
// A model in other dress: what it computes is the same, what the passes, the memory plan and the
// kernels see is not. A case that fails in one dress only has found a mistake of theirs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/graph.h"
#include "tools/inputs.h"

namespace quern::tools {

// A graph with inputs, and the types of its outputs for them: nullopt if the output is no tensor or
// its type is not given.
struct Plain {
  const Graph& graph;
  std::span<const InputValue> inputs;
  std::span<const std::optional<TensorType>> outputs;
};

// The contents of an output of a dressed graph.
struct DressedOutput {
  // The output of the plain graph; nullopt if the plain graph does not output the value.
  std::optional<std::size_t> plain;
  // The arrangement of its elements here; null if unchanged.
  std::function<Result<Tensor>(const TensorView&)> rearranged;
};

struct Dressed {
  Graph graph;
  std::vector<InputValue> inputs;
  std::vector<DressedOutput> outputs;  // one an output of `graph`
  // Bound for a run between two runs with `inputs` in one session; empty: there is none.
  std::vector<InputValue> between;
};

struct Dress {
  std::string_view name;
  std::string_view sentence;
  // nullopt if this dress changes nothing in such a graph.
  Result<std::optional<Dressed>> (*put_on)(const Plain&);
};

// The table, in the order in which they are tried.
std::span<const Dress> dresses();
// "all", "none", or names with commas between. Errors: invalid_argument, with the names there are.
Result<std::vector<const Dress*>> dresses_named(std::string_view list);

// ---- the families of the table
Result<std::optional<Dressed>> dress_constants(const Plain& plain);
Result<std::optional<Dressed>> dress_weights(const Plain& plain);
Result<std::optional<Dressed>> dress_symbols(const Plain& plain);
Result<std::optional<Dressed>> dress_unknown_dims(const Plain& plain);
Result<std::optional<Dressed>> dress_unknown_ranks(const Plain& plain);
Result<std::optional<Dressed>> dress_handed_out(const Plain& plain);
Result<std::optional<Dressed>> dress_concat(const Plain& plain);
Result<std::optional<Dressed>> dress_concat_handed_out(const Plain& plain);
Result<std::optional<Dressed>> dress_named_twice(const Plain& plain);
Result<std::optional<Dressed>> dress_transposed_in(const Plain& plain);
Result<std::optional<Dressed>> dress_sliced_in(const Plain& plain);
Result<std::optional<Dressed>> dress_stepped_in(const Plain& plain);
Result<std::optional<Dressed>> dress_squeezed_in(const Plain& plain);
Result<std::optional<Dressed>> dress_reshaped_in(const Plain& plain);
Result<std::optional<Dressed>> dress_transposed_out(const Plain& plain);
Result<std::optional<Dressed>> dress_sliced_out(const Plain& plain);
Result<std::optional<Dressed>> dress_stepped_out(const Plain& plain);
Result<std::optional<Dressed>> dress_reshaped_out(const Plain& plain);
Result<std::optional<Dressed>> dress_other_values(const Plain& plain);
Result<std::optional<Dressed>> dress_other_shapes(const Plain& plain);

// One output each, as the plain graph has them.
std::vector<DressedOutput> plain_outputs(const Graph& graph);
std::vector<InputValue> copied(std::span<const InputValue> inputs);

}  // namespace quern::tools
