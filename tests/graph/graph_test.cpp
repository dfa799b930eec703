// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph/ops/control_flow.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "tests/graph/named_op.h"

namespace quern {
namespace {

using testing::named;

TEST(Graph, IsAsBeforeWhereANodeIsRefused) {
  Graph g(builtin_ops());
  const ValueId x = g.add_input("x", {DType::f32, Dims{2, 3}});
  const ValueId y = g.add_input("y", {DType::f32, Dims{3, 2}});
  const std::string before = to_text(g);
  EXPECT_FALSE(g.add_node(named("Binary", "kind=add"), {x, y}));
  EXPECT_EQ(to_text(g), before);
  EXPECT_EQ(g.value_count(), 2U);
  EXPECT_TRUE(g.value(x).uses.empty());
  const auto node = g.add_node(named("Binary", "kind=add"), {x, x});
  ASSERT_TRUE(node);
  EXPECT_EQ(index(*node), 0U) << "the number of the refused one";
  EXPECT_EQ(g.node(*node).outputs, (std::vector<ValueId>{ValueId{2}}));
}

TEST(Graph, LosesAnOutput) {
  Graph g(builtin_ops());
  const ValueId x = g.add_input("x", {DType::f32, Dims{2, 3}});
  const ValueId y = g.add_input("y", {DType::f32, Dims{2, 3}});
  const ValueId sum = g.node(*g.add_node(named("Binary", "kind=add"), {x, y})).outputs[0];
  const ValueId product = g.node(*g.add_node(named("Binary", "kind=mul"), {x, y})).outputs[0];
  g.add_output(sum, "sum");
  g.add_output(product, "product");
  g.erase_output(0);
  ASSERT_EQ(g.outputs().size(), 1U);
  EXPECT_EQ(g.outputs()[0], product);
  ASSERT_EQ(g.output_names().size(), 1U);
  EXPECT_EQ(g.output_names()[0], "product");
  EXPECT_FALSE(g.is_output(sum));
  EXPECT_EQ(g.erase_dead(), 1U);
  EXPECT_EQ(g.order().size(), 1U);
}

TEST(Graph, DropsAResultOnce) {
  Graph g(builtin_ops());
  const ValueId x = g.add_input("x", {DType::f32, Dims{2, 3}});
  const NodeId id = *g.add_node(named("Unary", "kind=tanh"), {x});
  for (int time = 0; time < 2; ++time) {
    g.drop_output(id, 0);
    EXPECT_EQ(g.node(id).outputs[0], no_value);
  }
}

TEST(Graph, ForgetsWhatNothingReads) {
  Graph g(builtin_ops());
  const ValueId x = g.add_input("x", {DType::f32, Dims{2, 3}});
  g.add_input("unread", {DType::f32, Dims{2, 3}});
  g.add_constant(*Tensor::zeros({DType::f32, {3}}), "nobody's");
  const ValueId dead = *g.add(named("Unary", "kind=tanh"), {x});
  EXPECT_NE(dead, no_value);
  const ValueId one = g.add_constant(*Tensor::zeros({DType::f32, {3}}), "one");
  const ValueId sum = *g.add(named("Binary", "kind=add"), {x, one}, "sum");
  const ValueId twice = *g.add(named("Binary", "kind=mul"), {sum, sum}, "twice");
  const ValueId handed_on = g.add_constant(*Tensor::zeros({DType::f32, {3}}), "handed on");
  g.add_output(twice, "twice");
  g.add_output(handed_on, "handed on");
  EXPECT_EQ(g.erase_dead(), 1U);
  const std::string text = to_text(g);

  g.compact();
  EXPECT_TRUE(verify(g).ok());
  EXPECT_EQ(to_text(g), text);
  EXPECT_EQ(g.value_count(), 6U);
  ASSERT_EQ(g.inputs().size(), 2U);
  EXPECT_EQ(g.value(g.inputs()[1]).name, "unread");
  EXPECT_EQ(g.value(g.outputs()[1]).name, "handed on");
  EXPECT_EQ(g.position(g.value(g.outputs()[0]).producer), 1U);
  // What is added since is as in any other graph.
  const ValueId more = *g.add(named("Unary", "kind=neg"), {g.outputs()[0]});
  g.add_output(more, "more");
  EXPECT_TRUE(verify(g).ok());
}

TEST(Graph, ForgetsInBodiesToo) {
  Graph body(builtin_ops());
  const ValueId x = body.add_input("x", {DType::f32, Dims{2}});
  EXPECT_NE(*body.add(named("Unary", "kind=tanh"), {x}), no_value);
  body.add_output(*body.add(named("Unary", "kind=neg"), {x}), "y");
  EXPECT_EQ(body.erase_dead(), 1U);
  Graph g(builtin_ops());
  const ValueId condition = g.add_input("condition", {DType::boolean, Dims{}});
  const ValueId outer = g.add_input("x", {DType::f32, Dims{2}});
  std::vector<Graph> bodies;
  bodies.push_back(body.clone());
  bodies.push_back(std::move(body));
  const NodeId id = *g.add_node(If{}, {condition, outer}, "choice", 1, std::move(bodies));
  g.add_output(g.node(id).outputs[0], "y");
  g.compact();
  EXPECT_TRUE(verify(g).ok());
  for (const Graph& b : g.node(id).bodies) EXPECT_EQ(b.value_count(), 2U);
}

}  // namespace
}  // namespace quern
