// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph/ops/binary.h"
#include "graph/ops/unary.h"
#include "graph/text.h"

namespace quern {
namespace {

TEST(Graph, IsAsBeforeWhereANodeIsRefused) {
  Graph g(builtin_ops());
  const ValueId x = g.add_input("x", {DType::f32, Dims{2, 3}});
  const ValueId y = g.add_input("y", {DType::f32, Dims{3, 2}});
  const std::string before = to_text(g);
  EXPECT_FALSE(g.add_node(Binary{BinaryKind::add}, {x, y}));
  EXPECT_EQ(to_text(g), before);
  EXPECT_EQ(g.value_count(), 2U);
  EXPECT_TRUE(g.value(x).uses.empty());
  const auto node = g.add_node(Binary{BinaryKind::add}, {x, x});
  ASSERT_TRUE(node);
  EXPECT_EQ(index(*node), 0U) << "the number of the refused one";
  EXPECT_EQ(g.node(*node).outputs, (std::vector<ValueId>{ValueId{2}}));
}

TEST(Graph, LosesAnOutput) {
  Graph g(builtin_ops());
  const ValueId x = g.add_input("x", {DType::f32, Dims{2, 3}});
  const ValueId y = g.add_input("y", {DType::f32, Dims{2, 3}});
  const ValueId sum = g.node(*g.add_node(Binary{BinaryKind::add}, {x, y})).outputs[0];
  const ValueId product = g.node(*g.add_node(Binary{BinaryKind::mul}, {x, y})).outputs[0];
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
  const NodeId id = *g.add_node(Unary{UnaryKind::tanh}, {x});
  for (int time = 0; time < 2; ++time) {
    g.drop_output(id, 0);
    EXPECT_EQ(g.node(id).outputs[0], no_value);
  }
}

}  // namespace
}  // namespace quern
