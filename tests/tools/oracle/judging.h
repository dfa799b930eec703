// SPDX-License-Identifier: Apache-2.0
// Graphs as text, run by an engine and held to the oracle's bounds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <quern/tensor.h>

#include "graph/graph.h"
#include "tools/oracle/error_bounds.h"

namespace quern::testing {

using tools::BoundedTensor;
using tools::BoundedValue;
using tools::OracleInput;

// The graph of these statements (the text form without its first and last line).
Graph graph_of(std::string_view statements);

// How random floats are drawn: uniformly from [low, high), rounded to multiples of `grid` if that
// is not 0 (so that there are ties).
struct Draw {
  double low = -2;
  double high = 2;
  double grid = 0;
};
// One tensor for each input of `graph`, whose types are fully known. Integers are drawn from
// [low, high) too; bool is even.
std::vector<Tensor> random_inputs(const Graph& graph, std::uint64_t seed, const Draw& draw = {});

// Constants of floats and 8-bit integers that hold nothing but zeros, as those that the text leaves
// out do, become random numbers in [-1, 1] and [-100, 100].
void fill_constants(Graph& graph);

struct Judged {
  std::vector<std::string> failures;  // a sentence for each output that is wrong
  std::string refusal;                // why the engine did not run it
  tools::Share share;
  // Over determined float elements: the greatest of |got - wanted| / bound.
  double worst_ratio = 0;
  double oracle_ms = 0;
  std::vector<std::string> kernels;  // the implementation of each step
};
std::vector<BoundedValue> bounds_of(const Graph& graph, const std::vector<Tensor>& inputs);
// Runs `graph` on `device`, with the passes and where it can be by this implementation, and
// compares.
Judged judge(const Graph& graph, const std::vector<Tensor>& inputs, std::string_view device,
             std::string_view implementation = {});
Judged judge(const Graph& graph, const std::vector<OracleInput>& inputs, std::string_view device,
             std::string_view implementation = {});

}  // namespace quern::testing
