// SPDX-License-Identifier: Apache-2.0
#include "tools/picture/drawing.h"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "graph/ops/control_flow.h"
#include "graph/text.h"
#include "tests/graph/named_op.h"
#include "tools/picture/graph_page.h"

namespace quern::tools {
namespace {

Graph graph_of(std::string_view text) {
  auto graph = parse_text(text, OpSet());
  if (!graph) throw std::runtime_error(std::string(graph.error().message()));
  return *std::move(graph);
}

Json parsed(std::string_view text) {
  auto json = parse_json(text);
  if (!json) throw std::runtime_error(std::string(json.error().message()));
  return *std::move(json);
}

const char* const two_branches = R"(
  graph "g" {
    input %0 "x": f32[2,3]
    const %1 "w": f32[3] = {1, 2, 3}
    %2 "a": f32[2,3] = Unary(%0) kind=tanh @"/one/left/tanh"
    %3 "b": f32[2,3] = Unary(%0) kind=sin @"/one/right/sin"
    %4 "d": f32[3] = Binary(%1, %1) kind=add @"/one/both"
    %5 "c": f32[2,3] = Binary(%2, %3) kind=add | add(%4) | relu @"/one/left/sum"
    output %5 "y"
  })";

TEST(Drawing, NodesWiresAndGroups) {
  const Drawing d = draw_graph(graph_of(two_branches), nullptr, ConstantNodes::hidden);
  ASSERT_EQ(d.scenes.size(), 1U);
  const Scene& s = d.scenes[0];
  ASSERT_EQ(s.nodes.size(), 5U);  // the sum of two constants is hidden
  EXPECT_EQ(d.constants, 1U);
  EXPECT_EQ(s.nodes[0].kind, DrawnNode::Kind::input);
  EXPECT_EQ(s.nodes[1].op, "Unary.tanh");
  EXPECT_EQ(s.nodes[3].post_ops, (std::vector<std::string>{"add(d)", "relu"}));
  EXPECT_EQ(s.nodes[3].inputs[0].maker, 1);
  EXPECT_NE(s.nodes[3].inputs[2].text.find("computed from constants"), std::string::npos);
  EXPECT_EQ(s.nodes[4].kind, DrawnNode::Kind::output);
  ASSERT_EQ(s.wires.size(), 4U);
  EXPECT_EQ(s.wires[0].to, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(s.wire_texts[0], "f32[2,3]");
  ASSERT_EQ(s.groups.size(), 2U);  // /one/right has one node
  EXPECT_EQ(s.groups[0].name, "one");
  EXPECT_EQ(s.groups[1].name, "left");
  EXPECT_EQ(s.groups[1].outer, 0);
  EXPECT_EQ(s.nodes[1].group, 1);
  EXPECT_EQ(s.nodes[2].group, 0);
  EXPECT_EQ(
      draw_graph(graph_of(two_branches), nullptr, ConstantNodes::drawn).scenes[0].nodes.size(), 6U);
}

TEST(Drawing, LimitsAreKept) {
  const Drawing d = draw_graph(graph_of(two_branches), nullptr, ConstantNodes::drawn,
                               {.nodes = 3, .text = 0, .groups = 1});
  EXPECT_EQ(d.scenes[0].nodes.size(), 3U);
  EXPECT_EQ(d.left_out, 2U);
  EXPECT_EQ(d.scenes[0].groups.size(), 1U);
  EXPECT_TRUE(d.scenes[0].nodes[1].inputs.empty());
}

TEST(Drawing, EveryOperatorHasAFamily) {
  std::vector<std::size_t> sizes(family_names().size(), 0);
  for (const OpDef* def : all_ops()) {
    ASSERT_LT(family_of(*def), sizes.size());
    ++sizes[family_of(*def)];
  }
  for (const std::size_t size : sizes) EXPECT_GT(size, 0U);
  const auto family = [](std::string_view op) { return family_of(testing::named(op, "").def()); };
  EXPECT_EQ(family("Conv"), family("MatMul"));
  EXPECT_NE(family("Conv"), family("Transpose"));
  EXPECT_EQ(family_of(If::def()), family_of(Loop::def()));
}

TEST(Drawing, HiddenLettersAreShown) {
  EXPECT_EQ(visible_text("plain, grün, 漢字 🜁"), "plain, grün, 漢字 🜁");
  EXPECT_EQ(visible_text("a\u202eb\u2066c"), "a\\u202eb\\u2066c");
  EXPECT_EQ(visible_text(std::string_view("a\0b\n\x7f", 5)), "a\\u0000b\\u000a\\u007f");
  EXPECT_EQ(visible_text("a\xff\xc3"), "a??");
  EXPECT_EQ(visible_text("\U000e0041"), "\\u{0e0041}");
  EXPECT_EQ(visible_text("abcdef", 4), "abc…");
  EXPECT_EQ(visible_text(std::string(1'000'000, 'x')).size(), 119 + std::string("…").size());
}

StepInfo step(std::string node, std::string op, std::string kernel, double flops) {
  StepInfo s;
  s.node = std::move(node);
  s.op = std::move(op);
  s.implementation = std::move(kernel);
  s.flops = flops;
  return s;
}

TEST(NodeCosts, OfPlansAndProfiles) {
  PlanInfo plan;
  plan.steps = {step("conv", "Conv", "fast", 100), step("conv", "Reorder", "copy", 0),
                step("", "Unary.relu", "loop", 5), step("", "Unary.tanh", "loop", 7)};
  plan.buffers = {{"a", 64, 1, 0, 0, 2, 0, {}}, {"b", 16, 1, 64, 1, 4, 0, {{2, 3, 0, 8}}}};
  NodeCosts costs(plan);
  const NodeCost* conv = costs.find("conv", "Conv", 0, 1);
  ASSERT_NE(conv, nullptr);
  EXPECT_EQ(conv->kernel, "fast");
  EXPECT_EQ(conv->flops, 100);
  EXPECT_EQ(conv->live, 64);
  EXPECT_EQ(costs.find("conv", "Reorder", 0, 1)->live, 80);
  EXPECT_EQ(costs.find("", "Unary", 0, 2)->live, 8);
  EXPECT_EQ(costs.find("", "Unary", 1, 2)->flops, 7);
  EXPECT_EQ(costs.find("", "Unary", 0, 3), nullptr);  // nobody knows which has no kernel
  EXPECT_EQ(costs.find("other", "Conv", 0, 1), nullptr);
  ASSERT_TRUE(costs
                  .add_profile(parsed(R"({"run_ms": 3, "steps": [
    {"node": "conv", "op": "Conv", "ms": 2, "calls": 1}, {"node": "", "op": "Unary.relu", "ms": 0.25},
    {"node": "", "op": "Unary.tanh", "ms": 0.5}]})"))
                  .ok());
  EXPECT_EQ(costs.run_ms(), 3);
  EXPECT_EQ(costs.steps_ms(), 2.75);
  EXPECT_EQ(costs.find("conv", "Conv", 0, 1)->ms, 2);
  EXPECT_EQ(costs.find("", "Unary", 1, 2)->ms, 0.5);
}

TEST(NodeCosts, OtherDocumentsAreRefused) {
  for (const char* text : {"{}", "[]", "3", R"({"run_ms": 1})", R"({"run_ms": 1, "steps": 2})"})
    EXPECT_EQ(NodeCosts().add_profile(parsed(text)).code(), Code::invalid_argument) << text;
  NodeCosts costs;
  ASSERT_TRUE(
      costs
          .add_profile(parsed(R"({"run_ms": -1, "steps": [3, {"node": 4, "op": [], "ms": -5},
    {"node": "n", "op": "Conv", "ms": "x", "flops": null}]})"))
          .ok());
  EXPECT_EQ(costs.run_ms(), 0);
  EXPECT_EQ(costs.steps_ms(), 0);
}

TEST(GraphPage, NoTextClosesItsElement) {
  Graph g{OpSet()};
  const ValueId x = g.add_input("</script><b>", ValueType(DType::f32, Dims{2}));
  g.add_output(x, "\"'<!--&");
  GraphPage page{.title = "<t>&\u202e", .notes = {"</script>"}, .views = {}};
  page.views.push_back({"before", "<i>", draw_graph(g, nullptr, ConstantNodes::drawn)});
  const std::string html = graph_page(page);
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_EQ(html.find("<!--"), std::string::npos);
  EXPECT_EQ(html.find("<i>"), std::string::npos);
  EXPECT_NE(html.find("<title>&lt;t&gt;&amp;\\u202e</title>"), std::string::npos);
  std::size_t ends = 0;
  for (std::size_t at = 0; (at = html.find("</script>", at)) != std::string::npos; ++at) ++ends;
  EXPECT_EQ(ends, 2U);
}

}  // namespace
}  // namespace quern::tools
