// SPDX-License-Identifier: Apache-2.0
// Families x devices x strategies: what any device has to give, whatever the memory plan. Vulkan is
// held to the same in tests/engine/vulkan.
#include <string>
#include <vector>

#include "engine/compile/region.h"
#include "graph/memory/problem/plan.h"
#include "tests/engine/every_device.h"
#include "tests/engine/region_device.h"
#include "tests/graph/named_op.h"

namespace quern::testing {
namespace {

// Takes one node in three, another one with each `first`, so that regions are cut by the host.
std::shared_ptr<Device> device_with_gaps(std::uint32_t first) {
  return open_region_device({.takes = [first](NodeId id) { return index(id) % 3 == first; }});
}

std::vector<std::shared_ptr<Device>> devices() {
  return {must(open_device("cpu")), must(open_device("reference")),
          open_region_device(),     device_with_gaps(0),
          device_with_gaps(1),      device_with_gaps(2)};
}

TEST(EveryDevice, GivesTheNumbersOfTheCpu) {
  for (const auto& device : devices())
    for (const Family& family : all_families()) {
      expect_like_cpu(family, device);
      expect_like_cpu(family, device, {.order = false, .alias = false});
    }
}

TEST(EveryDevice, GivesTheSameUnderEveryStrategy) {
  for (const Strategy& s : strategies())
    for (const Family& family : all_families())
      for (const auto& device : {must(open_device("cpu")), device_with_gaps(1)})
        expect_like_cpu(family, device, {.strategy = std::string(s.name)});
}

// The reference, which other devices are compared with, shares no code with them.
TEST(EveryDevice, TheReferenceRunsReferencesAlone) {
  const auto device = must(open_device("reference"));
  for (const Family& family : all_families()) {
    const auto executable = must(Executable::compile(family.make(), device));
    const auto session = session_of(executable);
    run(*session, inputs_of(*executable));
    for (const StepInfo& step : session->plan_info().steps)
      EXPECT_TRUE(step.implementation == "reference" || step.implementation == "copy")
          << family.name << ": " << step.node << " by " << step.implementation;
  }
}

// ---- regions -----------------------------------------------------------------------------------

// Constants are computed once, before any device is asked.
TEST(Regions, OfConstantsAloneReachNoDevice) {
  GraphBuilder g("constants");
  const Operand x = g.input("x", DType::f32, {2});
  g.output("y", g.add(x, g.neg(g.constant(tensor<float>({2}, {1, 2})))));
  const auto first = open_region_device({.takes = [](NodeId id) { return index(id) == 0; }});
  const auto executable = must(Executable::compile(must(g.build()), first, {.optimize = false}));
  const auto session = session_of(executable);
  EXPECT_THAT(run(*session, {tensor<float>({2}, {5, 5})}), ::testing::Not(::testing::IsEmpty()));
  EXPECT_EQ(values<float>(must(session->output(0))), (std::vector<float>{4, 3}));
}

// a -> b -> c -> d, and a -> d besides.
struct Chain {
  Chain() : graph(builtin_ops()) {
    const ValueId x = graph.add_input("x", ValueType(DType::f32, Dims{2}));
    nodes.push_back(unary("a", x));
    for (const char* name : {"b", "c"}) nodes.push_back(unary(name, result(nodes.back())));
    nodes.push_back(must(
        graph.add_node(named("Binary", "kind=add"), {result(nodes[0]), result(nodes[2])}, "d")));
    graph.add_output(result(nodes[3]), "y");
  }
  NodeId unary(const char* name, ValueId x) {
    return must(graph.add_node(named("Unary", "kind=relu"), {x}, name));
  }
  ValueId result(NodeId id) const { return graph.node(id).outputs[0]; }

  Graph graph;
  std::vector<NodeId> nodes;
};

TEST(Regions, EndWhereAResultComesBackFromOutside) {
  const Chain c;
  const auto without_b = convex_regions(c.graph, [&](NodeId id) { return id != c.nodes[1]; });
  ASSERT_EQ(without_b.size(), 2U);
  EXPECT_EQ(without_b[0].nodes, (std::vector{c.nodes[0]}));
  EXPECT_EQ(without_b[1].nodes, (std::vector{c.nodes[2], c.nodes[3]}));
  EXPECT_EQ(convex_regions(c.graph, [](NodeId) { return true; }).size(), 1U);
  EXPECT_TRUE(convex_regions(c.graph, [](NodeId) { return false; }).empty());
}

TEST(Regions, KnowWhatTheyReadAndHandOut) {
  const Chain c;
  const auto v = [&](std::size_t i) { return c.result(c.nodes[i]); };
  const RegionOperands middle = operands_of(c.graph, {{c.nodes[1], c.nodes[2]}});
  EXPECT_EQ(middle.inputs, (std::vector{v(0)}));
  EXPECT_EQ(middle.outputs, (std::vector{v(2)}));
  const RegionOperands ends = operands_of(c.graph, {{c.nodes[0], c.nodes[3]}});
  EXPECT_EQ(ends.inputs, (std::vector{c.graph.inputs()[0], v(2)}));
  EXPECT_EQ(ends.outputs, (std::vector{v(0), v(3)}));
}

TEST(Regions, ComeInAnOrderInWhichEachIsWhole) {
  const Chain c;
  const auto pieces = must(pieces_in_order(c.graph, {{{c.nodes[2], c.nodes[3]}}}));
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0].region.nodes, (std::vector{c.nodes[0]}));
  EXPECT_FALSE(pieces[1].is_region);
  EXPECT_TRUE(pieces[2].is_region);
}

TEST(Regions, ThatAreNotConvexOrShareANodeAreRefused) {
  const Chain c;
  const auto hollow = pieces_in_order(c.graph, {{{c.nodes[0], c.nodes[3]}}});
  EXPECT_EQ(hollow.error().code(), Code::internal);
  const auto twice = pieces_in_order(c.graph, {{{c.nodes[0]}}, {{c.nodes[0], c.nodes[1]}}});
  EXPECT_EQ(twice.error().code(), Code::internal);
  EXPECT_EQ(twice.error().message(), "node 'a' is in two regions");
}

TEST(Regions, AreOneStepEach) {
  GraphBuilder g("two branches");
  const Operand x = floats(g, "x", {4, 6});
  const Operand left = g.relu(g.matmul(x, weights(g, {6, 5}, 1)));
  const Operand right = g.tanh(g.matmul(x, weights(g, {6, 5}, 2)));
  g.output("y", g.softmax(g.add(left, right)));
  const auto session = session_of(must(Executable::compile(must(g.build()), open_region_device())));
  run(*session, {pattern({4, 6})});
  std::vector<std::string> steps;
  for (const StepInfo& s : session->plan_info().steps) steps.push_back(s.op);
  EXPECT_EQ(steps, (std::vector<std::string>{"Upload", "Region", "Download"}));
}

TEST(Regions, OfAStrictDeviceLeaveNothingOutside) {
  GraphBuilder g("data");
  g.output("y", g.non_zero(floats(g, "x", {4, 6})));
  const auto refused =
      Executable::compile(must(g.build()), open_region_device({.is_strict = true}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
}

}  // namespace
}  // namespace quern::testing
