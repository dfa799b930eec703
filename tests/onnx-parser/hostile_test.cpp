// SPDX-License-Identifier: Apache-2.0
// Files that mean harm: an error, in bounded time and memory, and nothing worse.
#include <ctime>
#include <random>
#include <sys/resource.h>

#include "graph/passes/pipeline.h"
#include "tests/expect.h"
#include "tests/onnx-parser/import_test.h"
#include "tests/sanitized.h"

namespace quern::onnx_test {
namespace {

// A model with a bit of everything.
std::string sample() {
  const Message branch = make_graph(
      {.name = "b", .nodes = {node("Neg", {"h"}, {"t"})}, .outputs = {Message().text(1, "t")}});
  const Message f =
      make_function({.name = "F",
                     .inputs = {"a"},
                     .outputs = {"b"},
                     .default_attributes = {number("slope", 0.25f)},
                     .nodes = {node("LeakyRelu", {"a"}, {"b"}, {reference("alpha", 1, "slope")})}});
  const Message g = make_graph(
      {.name = "net",
       .nodes = {node("Constant", {}, {"c"},
                      {tensor("value", tensor_header("", i64, {2}).packed(7, {1, 2}))}),
                 node("MatMul", {"x", "w"}, {"m"}), node("F", {"m"}, {"h"}, {}, {.domain = "own"}),
                 node("If", {"p"}, {"i"},
                      {graph("then_branch", branch), graph("else_branch", branch)}),
                 node("Reshape", {"i", "c"}, {"y"}, {integer("allowzero", 0)})},
       .inputs = {value("x", f32, {1, 2}), value("p", boolean, {}),
                  value("s", sequence_of(tensor_type(f32, {"N"})))},
       .outputs = {value("y", f32, {1, 2})},
       .initializers = {floats("w", {2, 2}, {1, 2, 3, 4}),
                        tensor_header("text", onnx_test::text, {1}).text(6, "t"),
                        tensor_header("half", f16, {2}).packed(5, {0x3c00, 0})},
       .sparse_initializers = {Message()
                                   .message(1, floats("sp", {1}, {1}))
                                   .message(2, ints("", {1}, {1}))
                                   .number(3, 2)},
       .value_info = {value("m", f32, {1, 2})}});
  return make_model(g, {.opsets = {opset("", 17), opset("own", 1)}, .functions = {f}});
}

TEST(Hostile, TheSampleItselfIsFine) {
  const auto m = import(sample());
  EXPECT_TRUE(m) << m.error().message();
}

// Refused with a code and a sentence, or imported and sound before and after the passes.
void expect_answer(std::string_view bytes) {
  auto m = import(bytes, {.max_import_bytes = 1 << 20});
  if (!m) {
    const Code code = m.error().code();
    EXPECT_TRUE(code == Code::invalid_model || code == Code::unsupported ||
                code == Code::out_of_memory)
        << m.error().message();
    EXPECT_GE(m.error().message().size(), 20U);
    return;
  }
  (void)run_passes(m->graph);
  const Status sound = verify(m->graph);
  EXPECT_TRUE(sound.ok()) << sound.message();
}

TEST(Hostile, CutOffAtEveryByte) {
  const std::string bytes = sample();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto m = import(bytes.substr(0, i));
    ASSERT_FALSE(m) << "cut off at " << i;
    EXPECT_GE(m.error().message().size(), 20U);
  }
}

TEST(Hostile, EveryBitFlipped) {
  std::string bytes = sample();
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ 1 << i % 8);
    expect_answer(bytes);
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ 1 << i % 8);
  }
}

TEST(Hostile, BytesChangedAtRandom) {
  const std::string bytes = sample();
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = bytes;
    for (int k = 0; k < 4; ++k) changed[random() % changed.size()] = static_cast<char>(random());
    expect_answer(changed);
  }
}

std::size_t peak_rss_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

// 20 million nodes of two bytes each.
TEST(Hostile, MillionsOfEmptyNodesAreRefusedCheaply) {
  constexpr std::size_t count = 20'000'000;
  std::string nodes(2 * count, '\0');
  for (std::size_t i = 0; i < count; ++i) nodes[2 * i] = 0x0a;  // field 1, no bytes
  const std::string bytes = Message().number(1, 8).text(7, nodes).bytes();
  const std::size_t rss_before = peak_rss_bytes();
  const std::clock_t start = std::clock();
  const auto m = parse_onnx(as_bytes(bytes), nullptr, "", builtin_ops());
  const std::clock_t took = std::clock() - start;
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().code(), Code::out_of_memory);
  EXPECT_CONTAINS(std::string(m.error().message()), "20000000 more elements here");
  // The limit is processor time; a release build takes 0.1 s.
  EXPECT_LT(took, (quern::testing::sanitized ? 20 : 1) * CLOCKS_PER_SEC);
  EXPECT_LT(peak_rss_bytes(), rss_before + (std::size_t{64} << 20));
}

// The same with names, which the budget lets begin.
TEST(Hostile, ManySmallNodesStayWithinTheBudget) {
  const Message relu = node("Relu", {"a"}, {"a"});
  std::string nodes;
  for (int i = 0; i < 400'000; ++i) nodes += Message().message(1, relu).bytes();
  const std::string bytes = Message().number(1, 8).text(7, nodes).bytes();
  const auto m = parse_onnx(as_bytes(bytes), nullptr, "", builtin_ops());
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().code(), Code::out_of_memory);
}

TEST(Hostile, AttributesPerNodeAreBounded) {
  Messages attributes;
  static std::vector<std::string> names;
  for (int i = 0; i < 1001; ++i) names.push_back("a" + std::to_string(i));
  for (const std::string& name : names) attributes.push_back(integer(name, 1));
  EXPECT_CONTAINS(error_of(model_of({"Relu", {tensor_type(f32, {2})}, attributes})),
                  "has 1001 attributes, the most is 1000");
}

TEST(Hostile, PromisesOfElementsTakeNoMemory) {
  const std::size_t rss_before = peak_rss_bytes();
  for (const std::int64_t dtype : {f32, i64, boolean, u4, i2, onnx_test::text}) {
    const Message tensor = tensor_header("w", dtype, {std::int64_t{1} << 36});
    EXPECT_FALSE(import(make_model(GraphParts{.initializers = {tensor}})));
  }
  EXPECT_LT(peak_rss_bytes(), rss_before + (std::size_t{64} << 20));
}

TEST(Hostile, LongNamesAreNotCopiedWithEachUse) {
  const std::string long_name(1 << 14, 'n');
  Messages nodes;
  static std::vector<std::string> names;
  names.clear();
  for (int i = 0; i < 100; ++i) names.push_back("v" + std::to_string(i));
  const Message branch = make_graph(
      {.nodes = {node("Identity", {long_name}, {"t"})}, .outputs = {Message().text(1, "t")}});
  for (const std::string& name : names)
    nodes.push_back(
        node("If", {"p"}, {name}, {graph("then_branch", branch), graph("else_branch", branch)}));
  const std::string bytes = make_model(
      GraphParts{.nodes = nodes, .inputs = {value("p", boolean, {}), value(long_name, f32, {2})}});
  const auto m = import(bytes);
  ASSERT_TRUE(m) << m.error().message();
  std::size_t kept = 0;
  for (NodeId id : m->graph.order())
    for (const Graph& body : m->graph.node(id).bodies)
      for (ValueId v : body.inputs()) kept += body.value(v).name.size();
  EXPECT_LE(kept, 2u * 100 * 256);
}

// Message `inner` in `depth` messages, each the field `path` of the one around it, from the outside
// in: m.path[0].path[1] ... . Each byte is written once.
std::string nested(std::string inner, std::span<const std::uint32_t> path, int depth) {
  std::string reversed(inner.rbegin(), inner.rend());
  for (int i = 0; i < depth; ++i)
    for (auto field = path.rbegin(); field != path.rend(); ++field) {
      std::string head = Message().key(*field, 2).varint(reversed.size()).bytes();
      reversed.append(head.rbegin(), head.rend());
    }
  return {reversed.rbegin(), reversed.rend()};
}

TEST(Hostile, BodiesNested200000Deep) {
  constexpr std::uint32_t node_attribute_graph[] = {1, 5, 6};
  const std::string bytes =
      Message().number(1, 8).text(7, nested("", node_attribute_graph, 200'000)).bytes();
  EXPECT_CONTAINS(error_of(bytes), "graphs nest deeper");
}

TEST(Hostile, TypesNested200000Deep) {
  constexpr std::uint32_t sequence_element[] = {4, 1};
  const Message input = Message().text(1, "x").text(2, nested("", sequence_element, 200'000));
  EXPECT_CONTAINS(error_of(make_model(GraphParts{.inputs = {input}})), "types nest deeper than 8");
}

TEST(Hostile, NodesInACircleOf100000) {
  std::vector<std::string> names;
  for (int i = 0; i < 100'000; ++i) names.push_back(std::to_string(i));
  Messages nodes;
  for (std::size_t i = 0; i < names.size(); ++i)
    nodes.push_back(node("Neg", {names[i]}, {names[(i + 1) % names.size()]}));
  const std::string bytes = make_model(GraphParts{.nodes = nodes});
  const auto m = import(bytes, {.max_message_bytes = 256 << 20});
  ASSERT_FALSE(m);
  EXPECT_CONTAINS(std::string(m.error().message()),
                  "100000 nodes depend on each other in a circle");
}

TEST(Hostile, RanksAndTypesThatDoNotFit) {
  const Message x = tensor_type(f32, {2, 3});
  const Message integer_x = tensor_type(i64, {2, 3});
  const Message image = tensor_type(f32, {1, 3, 8, 8});
  const auto says = [](const OneNode& one, std::string_view text) {
    EXPECT_CONTAINS(error_of(model_of(one)), "node 'n' (" + std::string(one.op) + "): ");
    EXPECT_CONTAINS(error_of(model_of(one)), std::string(text));
  };
  says({"Add", {x, integer_x}}, "must have one element type");
  says({"Add", {x, tensor_type(f32, {4})}}, "does not broadcast with f32[2,3]");
  says({"MatMul", {x, x}}, "input 0 (f32[2,3]) has 3 columns, input 1 (f32[2,3]) has 2 rows");
  says({"Conv", {image, tensor_type(f32, {4, 5, 1, 1})}}, "input channels");
  says({"Conv", {image, tensor_type(f32, {4, 3, 1})}}, "rank");
  says({"Reshape", {x, x}}, "input 1 (f32[2,3])");
  says({"Gather", {x, x}}, "input 1 (f32[2,3])");
  says({"Concat", {x, image}, {integer("axis", 0)}}, "rank");
  says({"Transpose", {x}, {integers("perm", {0, 2})}}, "perm");
  says({"Softmax", {integer_x}}, "i64");
  says({"Where", {x, x, x}}, "input 0 (f32[2,3])");
  says({"Relu", {tensor_type(boolean, {2})}}, "bool");
  says({"LSTM", {x, x, x}, {integer("hidden_size", 3)}}, "rank");
}

TEST(Hostile, NamesOfDimensionsAreNotCopiedIntoEachBody) {
  const std::string long_name(1 << 14, 'n');
  const Message branch =
      make_graph({.nodes = {node("Identity", {"x"}, {"t"})}, .outputs = {Message().text(1, "t")}});
  const auto m = import(make_model(
      GraphParts{.nodes = {node("If", {"p"}, {"y"},
                                {graph("then_branch", branch), graph("else_branch", branch)})},
                 .inputs = {value("p", boolean, {}), value("x", f32, {long_name, "short"})}}));
  ASSERT_TRUE(m) << m.error().message();
  EXPECT_EQ(type_text(m->graph.type(m->graph.inputs()[1]), &m->graph), "f32[?,short]");
}

// A name that the innermost of 30 bodies reads is an input of each.
TEST(Hostile, CapturesThroughManyBodiesAreCharged) {
  std::vector<std::string> names;
  for (int i = 0; i < 2000; ++i) names.push_back("v" + std::to_string(i));
  Messages nodes;
  Messages reads;
  for (const std::string& name : names) {
    nodes.push_back(node("Relu", {"x"}, {name}));
    reads.push_back(node("Relu", {name}, {"t" + name}));
  }
  Message body = make_graph({.nodes = reads, .outputs = {Message().text(1, "tv0")}});
  const Message other =
      make_graph({.nodes = {node("Relu", {"x"}, {"t"})}, .outputs = {Message().text(1, "t")}});
  for (int i = 0; i < 30; ++i)
    body = make_graph({.nodes = {node("If", {"p"}, {"t"},
                                      {graph("then_branch", body), graph("else_branch", other)})},
                       .outputs = {Message().text(1, "t")}});
  nodes.push_back(
      node("If", {"p"}, {"y"}, {graph("then_branch", body), graph("else_branch", other)}));
  const std::string bytes = make_model(
      GraphParts{.nodes = nodes, .inputs = {value("x", f32, {2}), value("p", boolean, {})}});
  const auto m = import(bytes, {.max_import_bytes = 8 << 20});
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().code(), Code::out_of_memory);
}

// What a node takes is many times its bytes in the file; the usual limit leaves room for that.
TEST(Limits, ASmallFileOfManyNodesIsRead) {
  constexpr int count = 15'000;
  std::vector<Message> nodes;
  const auto name = [](int i) { return "v" + std::to_string(i); };
  for (int i = 0; i < count; ++i) nodes.push_back(node("Neg", {name(i)}, {name(i + 1)}));
  const std::string bytes = make_model(make_graph({.name = "chain",
                                                   .nodes = nodes,
                                                   .inputs = {value(name(0), f32, {1})},
                                                   .outputs = {value(name(count), f32, {1})}}));
  EXPECT_LT(bytes.size(), std::size_t{1} << 20);
  const auto m = import(bytes);
  ASSERT_TRUE(m) << m.error().message();
  EXPECT_EQ(m->graph.order().size(), std::size_t{count});
}

}  // namespace
}  // namespace quern::onnx_test
