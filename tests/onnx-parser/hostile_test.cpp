// SPDX-License-Identifier: Apache-2.0
// Files that mean harm: an error, in bounded time and memory, and nothing worse.
#include <sys/resource.h>

#include <chrono>
#include <random>

#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

using ::testing::HasSubstr;

// A model with a bit of everything.
std::string sample() {
  const Message branch = make_graph({.name = "b",
                                     .nodes = {node("Neg", {"h"}, {"t"})},
                                     .outputs = {Message().text(1, "t")}});
  const Message f = make_function({.name = "F",
                                   .inputs = {"a"},
                                   .outputs = {"b"},
                                   .default_attributes = {number("slope", 0.25f)},
                                   .nodes = {node("LeakyRelu", {"a"}, {"b"}, {reference("alpha", 1, "slope")})}});
  const Message g = make_graph(
      {.name = "net",
       .nodes = {node("Constant", {}, {"c"}, {tensor("value", tensor_header("", i64, {2}).packed(7, {1, 2}))}),
                 node("MatMul", {"x", "w"}, {"m"}), node("F", {"m"}, {"h"}, {}, {.domain = "own"}),
                 node("If", {"p"}, {"i"}, {graph("then_branch", branch), graph("else_branch", branch)}),
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

TEST(Hostile, CutOffAtEveryByte) {
  const std::string bytes = sample();
  for (std::size_t i = 0; i < bytes.size(); ++i) (void)import(bytes.substr(0, i));
}

TEST(Hostile, EveryBitFlipped) {
  std::string bytes = sample();
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ 1 << i % 8);
    (void)import(bytes, {.max_import_bytes = 1 << 20});
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ 1 << i % 8);
  }
}

TEST(Hostile, BytesChangedAtRandom) {
  const std::string bytes = sample();
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = bytes;
    for (int k = 0; k < 4; ++k) changed[random() % changed.size()] = static_cast<char>(random());
    (void)import(changed, {.max_import_bytes = 1 << 20});
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
  const auto start = std::chrono::steady_clock::now();
  const auto m = parse_onnx(as_bytes(bytes), nullptr, "", builtin_ops());
  const auto took = std::chrono::steady_clock::now() - start;
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().code(), Code::out_of_memory);
  EXPECT_THAT(std::string(m.error().message()), HasSubstr("20000000 more elements here"));
  EXPECT_LT(took, std::chrono::seconds(3));  // 0.2 s in a release build
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
  EXPECT_THAT(error_of(model_of({"Relu", {tensor_type(f32, {2})}, attributes})),
              HasSubstr("has 1001 attributes, the most is 1000"));
}

TEST(Hostile, PromisesOfElementsTakeNoMemory) {
  const std::size_t rss_before = peak_rss_bytes();
  for (const std::int64_t dtype : {f32, i64, boolean, u4, onnx_test::text}) {
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
  const Message branch = make_graph({.nodes = {node("Identity", {long_name}, {"t"})},
                                     .outputs = {Message().text(1, "t")}});
  for (const std::string& name : names)
    nodes.push_back(node("If", {"p"}, {name}, {graph("then_branch", branch), graph("else_branch", branch)}));
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

}  // namespace
}  // namespace quern::onnx_test
