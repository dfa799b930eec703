// SPDX-License-Identifier: Apache-2.0
// Golden tests of rewrites: a graph as text, the rules that may be applied, and what must come out.
// Where all shapes are numbers, both graphs are also computed by the references, and must agree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <quern/tensor.h>

#include "graph/graph.h"
#include "graph/passes/pipeline.h"

namespace quern::testing {

// The graph of these statements (the text form without its first and last line). Fails the test on
// an error.
Graph graph_of(std::string_view statements);
// The text form without names of values and nodes.
std::string plain_text(const Graph& graph);

// All rules, or these alone; the graph is verified after every rewrite.
struct Rules {
  Rules() = default;
  Rules(std::initializer_list<std::string_view> only) : only(only) {}  // NOLINT
  std::vector<std::string_view> only;
  bool fuse = true;
};
// How often each row of the table has fired.
std::vector<PassCount> apply(Graph& graph, const Rules& rules = {});

// `before` becomes `after`.
void expect_becomes(const Rules& rules, std::string_view before, std::string_view after,
                    double tolerance = 1e-5);
// `changed` is a valid graph, that of the statements `after`, and gives what `original` does.
void expect_is(const Graph& changed, const Graph& original, std::string_view after,
               double tolerance);
// Not one of the rules fires.
void expect_stays(const Rules& rules, std::string_view statements);

// ---- references

// Elements of a seed, small enough to keep exp and x^3 in bounds.
Tensor random_tensor(const TensorType& type, std::uint64_t seed);
// The outputs, node by node. If and Loop are run, other control flow is an error.
Result<std::vector<Tensor>> interpret(const Graph& graph, const std::vector<Tensor>& inputs);
// One value for each input of known type; nothing when there is another.
std::vector<Tensor> random_inputs(const Graph& graph, std::uint64_t seed);
// Equal types, and elements that differ by no more than `tolerance` of the greatest.
void expect_close(const Tensor& expected, const Tensor& actual, double tolerance);

}  // namespace quern::testing
