// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"
#include "tests/onnx-parser/onnx_writer.h"

namespace quern::onnx {
namespace {

using namespace onnx_test;  // NOLINT: a writer's vocabulary
using ::testing::ElementsAre;

constexpr ProtoLimits limits{.memory_bytes = 1 << 20, .graph_depth = 4};

Result<ModelProto> read(const std::string& bytes) {
  return read_model(bytes, limits);
}

// The attribute of the only node of a model, which lives as long as the caller's bytes.
AttributeProto attribute_of(const std::string& bytes) {
  auto model = read(bytes);
  EXPECT_TRUE(model) << model.error().message();
  return model->graph.at(0).nodes.at(0).attributes.at(0);
}
std::string model_with(const Message& attribute) {
  return make_model(GraphParts{.nodes = {node("Op", {}, {"y"}, {attribute})}});
}

TEST(Proto, ReadsWhatAModelSaysAboutItself) {
  const std::string bytes = Message()
                                .number(1, 9)
                                .text(2, "producer")
                                .text(3, "1.2")
                                .text(4, "domain")
                                .number(5, 3)
                                .text(6, "doc")
                                .message(7, make_graph({}))
                                .message(8, opset("", 17))
                                .message(8, opset("com.microsoft", 1))
                                .message(14, Message().text(1, "key").text(2, "value"))
                                .bytes();
  const auto m = read(bytes);
  ASSERT_TRUE(m) << m.error().message();
  EXPECT_EQ(m->ir_version, 9);
  EXPECT_EQ(m->producer_name, "producer");
  EXPECT_EQ(m->producer_version, "1.2");
  EXPECT_EQ(m->domain, "domain");
  EXPECT_EQ(m->model_version, 3);
  EXPECT_EQ(m->doc_string, "doc");
  ASSERT_EQ(m->opsets.size(), 2u);
  EXPECT_EQ(m->opsets[1].domain, "com.microsoft");
  EXPECT_EQ(m->opsets[0].version, 17);
  EXPECT_EQ(m->metadata.at(0).key, "key");
  EXPECT_EQ(m->metadata.at(0).value, "value");
}

TEST(Proto, ReadsEveryKindOfAttribute) {
  std::string bytes = model_with(number("a", 2.5f));
  AttributeProto a = attribute_of(bytes);
  EXPECT_EQ(a.kind, AttributeKind::number);
  EXPECT_EQ(a.f, 2.5f);
  bytes = model_with(integer("a", -4));
  EXPECT_EQ(attribute_of(bytes).i, -4);
  bytes = model_with(word("a", "w"));
  EXPECT_EQ(attribute_of(bytes).s, "w");
  bytes = model_with(tensor("a", floats("t", {1}, {1})));
  EXPECT_EQ(attribute_of(bytes).t.at(0).name, "t");
  bytes = model_with(graph("a", make_graph({.name = "inner"})));
  EXPECT_EQ(attribute_of(bytes).g.at(0).name, "inner");
  bytes = model_with(numbers("a", {1, 2}));
  EXPECT_THAT(attribute_of(bytes).floats, ElementsAre(1, 2));
  bytes = model_with(integers("a", {3, -4}));
  EXPECT_THAT(attribute_of(bytes).ints, ElementsAre(3, -4));
  bytes = model_with(words("a", {"x", ""}));
  EXPECT_THAT(attribute_of(bytes).strings, ElementsAre("x", ""));
  bytes = model_with(type_of("a", sequence_of(tensor_type(f32, {}))));
  EXPECT_EQ(attribute_of(bytes).type.at(0).kind, TypeProto::Kind::sequence);
  bytes = model_with(attribute("a", 9).message(10, floats("t", {1}, {1})).message(10, Message()));
  EXPECT_EQ(attribute_of(bytes).tensors.size(), 2u);
  bytes = model_with(attribute("a", 10).message(11, make_graph({})));
  EXPECT_EQ(attribute_of(bytes).graphs.size(), 1u);
  bytes = model_with(attribute("a", 11).message(22, Message().number(3, 6)));
  EXPECT_THAT(attribute_of(bytes).sparse.at(0).dims, ElementsAre(6));
  bytes = model_with(attribute("a", 12).message(23, Message()));
  EXPECT_EQ(attribute_of(bytes).sparse_tensors.size(), 1u);
  bytes = model_with(attribute("a", 14).message(15, tensor_type(f32, {})));
  EXPECT_EQ(attribute_of(bytes).types.at(0).elem_type, 1);
  bytes = model_with(reference("a", 2, "outer"));
  EXPECT_EQ(attribute_of(bytes).ref_name, "outer");
}

TEST(Proto, AnAttributeWithoutATypeIsWhatItHolds) {
  std::string bytes = model_with(Message().text(1, "a").number(3, 5));
  EXPECT_EQ(attribute_of(bytes).kind, AttributeKind::integer);
  bytes = model_with(Message().text(1, "a").packed(8, {5, 6}));
  EXPECT_EQ(attribute_of(bytes).kind, AttributeKind::integers);
  bytes = model_with(Message().text(1, "a").number(20, 77));
  EXPECT_EQ(attribute_of(bytes).kind, AttributeKind::undefined);
}

TEST(Proto, RepeatedSubMessagesOfASingleFieldAreMerged) {
  const std::string bytes =
      Message()
          .message(7, make_graph({.name = "one", .nodes = {node("A", {}, {})}}))
          .message(7, make_graph({.name = "two", .nodes = {node("B", {}, {})}}))
          .bytes();
  const auto m = read(bytes);
  ASSERT_TRUE(m);
  ASSERT_EQ(m->graph.size(), 1u);
  EXPECT_EQ(m->graph[0].name, "two");
  EXPECT_EQ(m->graph[0].nodes.size(), 2u);
}

TEST(Proto, OfADimensionsValueAndNameTheLaterCounts) {
  const auto dims_of = [](const Message& dim) {
    const Message type =
        Message().message(1, Message().number(1, f32).message(2, Message().message(1, dim)));
    static std::string bytes;
    bytes = make_model(GraphParts{.inputs = {value("x", type)}});
    return read(bytes)->graph[0].inputs[0].type.dims.at(0);
  };
  const auto number_last = dims_of(Message().text(2, "N").number(1, 4));
  EXPECT_TRUE(number_last.has_value);
  EXPECT_EQ(number_last.value, 4);
  const auto name_last = dims_of(Message().number(1, 4).text(2, "N"));
  EXPECT_FALSE(name_last.has_value);
  EXPECT_EQ(name_last.param, "N");
}

TEST(Proto, OfATypesKindsTheLaterCounts) {
  const Message both =
      Message(tensor_type(f32, {2}).bytes() + sequence_of(tensor_type(i64, {})).bytes());
  const std::string bytes = make_model(GraphParts{.inputs = {value("x", both)}});
  const auto m = read(bytes);
  ASSERT_TRUE(m);
  const TypeProto& type = m->graph[0].inputs[0].type;
  EXPECT_EQ(type.kind, TypeProto::Kind::sequence);
  EXPECT_EQ(type.elem_type, 0);
  EXPECT_EQ(type.element.at(0).elem_type, i64);
}

TEST(Proto, GraphsNestOnlySoDeep) {
  Message g = make_graph({});
  for (int i = 0; i < 3; ++i)
    g = make_graph({.nodes = {node("If", {}, {}, {graph("then_branch", g)})}});
  EXPECT_TRUE(read(make_model(g)));
  g = make_graph({.nodes = {node("If", {}, {}, {graph("then_branch", g)})}});
  const auto m = read(make_model(g));
  ASSERT_FALSE(m);
  EXPECT_CONTAINS(std::string(m.error().message()), "graphs nest deeper");
}

TEST(Proto, TypesNestOnlySoDeep) {
  Message t = tensor_type(f32, {});
  for (int i = 0; i < 8; ++i) t = sequence_of(t);
  const auto m = read(make_model(GraphParts{.inputs = {value("x", t)}}));
  ASSERT_FALSE(m);
  EXPECT_CONTAINS(std::string(m.error().message()), "types nest deeper than 8");
}

TEST(Proto, EachElementIsChargedBeforeItIsMade) {
  const Message g = make_graph({.nodes = Messages(1000, node("Op", {}, {}))});
  const std::string bytes = make_model(g);
  const auto m = read_model(bytes, {.memory_bytes = 100000, .graph_depth = 4});
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().code(), Code::out_of_memory);
  EXPECT_CONTAINS(std::string(m.error().message()),
                  "1000 more elements here pass the memory budget of 100000 bytes");
}

TEST(Proto, UnknownFieldsAreSkipped) {
  const std::string bytes = Message()
                                .number(1, 8)
                                .message(7, Message().text(2, "g").text(99, "?"))
                                .text(1000, "x")
                                .bytes();
  const auto m = read(bytes);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->graph.at(0).name, "g");
}

TEST(Proto, SequencesAndOptionalsOfOtherThingsAreRefused) {
  EXPECT_TRUE(read_sequence(Message().text(1, "s").message(3, Message()).bytes(), limits));
  const auto maps = read_sequence(Message().message(6, Message()).bytes(), limits);
  ASSERT_FALSE(maps);
  EXPECT_EQ(maps.error().code(), Code::unsupported);
  const auto optional = read_optional(Message().message(5, Message()).bytes(), limits);
  ASSERT_TRUE(optional);
  EXPECT_EQ(optional->sequence.size(), 1u);
  EXPECT_FALSE(read_optional(Message().message(7, Message()).bytes(), limits));
}

}  // namespace
}  // namespace quern::onnx
