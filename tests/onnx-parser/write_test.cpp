// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/write.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/onnx-parser/import_test.h"

namespace quern::onnx {
namespace {

using namespace onnx_test;  // NOLINT: a writer's vocabulary

constexpr ProtoLimits write_limits{.memory_bytes = 64 << 20};

std::string rewritten(const std::string& bytes) {
  const auto model = read_model(bytes, write_limits);
  EXPECT_TRUE(model) << model.error().message();
  return model ? write_model(*model) : std::string();
}
std::string rewritten_node(const Message& n) {
  return rewritten(make_model(GraphParts{.nodes = {n}}));
}

// onnx_writer.h writes fields in the order that write.h promises, so bytes can be compared.

TEST(Write, WhatAModelSaysAboutItself) {
  const std::string bytes = Message()
                                .number(1, 9)
                                .text(2, "producer")
                                .text(3, "1.2")
                                .text(4, "domain")
                                .number(5, -3)
                                .text(6, "doc")
                                .message(7, make_graph({}))
                                .message(8, opset("", 17))
                                .message(8, opset("com.microsoft", 1))
                                .message(14, Message().text(1, "key").text(2, ""))
                                .message(25, make_function({.name = "f",
                                                            .overload = "o",
                                                            .inputs = {"a", ""},
                                                            .outputs = {"b"},
                                                            .default_attributes = {integer("i", 7)},
                                                            .nodes = {node("Op", {"a"}, {"b"})}}))
                                .bytes();
  EXPECT_EQ(rewritten(bytes), bytes);
}

TEST(Write, EveryKindOfAttribute) {
  const Message inner = make_graph({.name = "inner", .nodes = {node("Op", {"outer"}, {"y"})}});
  const Messages attributes = {
      number("f", 0.0F),
      number("g", -1.5F),
      integer("i", 0),
      integer("j", INT64_MIN),
      word("s", ""),
      word("t", std::string_view("a\0b", 3)),
      tensor("tensor", floats("", {2, 0}, {})),
      graph("graph", inner),
      numbers("floats", {1.0F, -0.0F}),
      integers("ints", {0, -1, INT64_MAX}),
      words("strings", {"", "x"}),
      type_of("type", optional_of(sequence_of(tensor_type(f16, {2, "n", ""})))),
      reference("ref", 2, "alpha"),
      attribute("tensors", 9).message(10, floats("", {1}, {1})).message(10, floats("", {}, {2})),
      attribute("graphs", 10).message(11, inner).message(11, inner),
      attribute("types", 14).message(15, unranked_type(i8)),
      attribute("none", 0),
  };
  for (const Message& a : attributes) {
    // An attribute without a kind has no field for it.
    const Message n =
        node("Op", {"x", "", "z"}, {"", "y"}, {a}, {.name = "n", .domain = "d", .overload = "o"});
    const std::string bytes = make_model(GraphParts{.nodes = {n}});
    if (a.bytes() == attribute("none", 0).bytes()) {
      EXPECT_EQ(rewritten(bytes),
                rewritten_node(node("Op", {"x", "", "z"}, {"", "y"}, {Message().text(1, "none")},
                                    {.name = "n", .domain = "d", .overload = "o"})));
    } else {
      EXPECT_EQ(rewritten(bytes), bytes) << ::testing::PrintToString(a.bytes());
    }
  }
}

TEST(Write, GraphsWithAllTheirParts) {
  const Message sparse =
      Message().message(1, floats("v", {2}, {1, 2})).message(2, ints("", {2}, {0, 3})).number(3, 5);
  const std::string bytes =
      make_model(GraphParts{.nodes = {node("Op", {}, {"y"})},
                            .inputs = {value("a", f32, {2, "n"}), value("b", unranked_type(i64)),
                                       value("c", sequence_of(tensor_type(text, {})))},
                            .outputs = {value("y", f32, {0})},
                            .initializers = {floats("w", {1, 2}, {1, 2})},
                            .sparse_initializers = {sparse},
                            .value_info = {value("t", boolean, {})}});
  EXPECT_EQ(rewritten(bytes), bytes);
}

TEST(Write, TypedFieldsOfTensorsKeepTheirEncoding) {
  const Message external = Message().number(1, 4).number(2, f32).text(8, "e").message(
      13, Message().text(1, "location").text(2, "weights"));
  const Messages tensors = {
      Message().number(1, 2).number(2, f32).packed_fixed<float>(4, {1.5F, -2}).text(8, "packed"),
      Message().number(1, 2).number(2, f32).real(4, 1.5F).real(4, -2.0F).text(8, "single"),
      Message().number(1, 2).number(2, i32).packed(5, {1, -1}).text(8, "i"),
      Message().number(1, 1).number(2, i32).number(5, -7).text(8, "j"),
      Message().number(1, 2).number(2, text).text(6, "").text(6, "word").text(8, "s"),
      Message().number(1, 1).number(2, i64).packed(7, {INT64_MIN}).text(8, "k"),
      Message().number(1, 1).number(2, f64).real(10, 2.5).text(8, "d"),
      Message().number(1, 1).number(2, u64).number(11, -1).text(8, "u"),
      Message(external).number(14, 1),
  };
  for (const Message& t : tensors) {
    const std::string bytes = make_model(GraphParts{.initializers = {t}});
    EXPECT_EQ(rewritten(bytes), bytes);
  }
}

TEST(Write, TensorsMadeOnTheFlyAreReadBack) {
  TextPool pool;
  const std::uint8_t nibbles[] = {1, 15, 7};
  const std::int8_t pairs[] = {1, -2, 0, -1, 1};
  const std::uint8_t powers[] = {0, 127, 255};
  const StringRef words[] = {{"", 0}, {"ab", 2}};
  const float numbers[] = {1, -2};
  const auto check = [&](const TensorType& type, const void* data) {
    const auto made = Tensor::copy_of(type, {static_cast<const std::byte*>(data), type.bytes()});
    ASSERT_TRUE(made) << made.error().message();
    const std::string bytes = write_tensor(tensor_message(*made, "name", pool));
    const auto read = parse_tensor_file(as_bytes(bytes), nullptr, {type.dtype, std::nullopt});
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->name, "name");
    ASSERT_EQ(read->tensors.at(0).type(), type);
    if (type.dtype == DType::string) {
      EXPECT_EQ(read->tensors[0].span<StringRef>()[1].view(), "ab");
    } else {
      EXPECT_EQ(std::memcmp(read->tensors[0].data(), data, type.bytes()), 0);
    }
  };
  check({DType::u4, Shape{3}}, nibbles);
  check({DType::f4e2m1, Shape{3}}, nibbles);
  check({DType::i2, Shape{5}}, pairs);
  check({DType::f8e8m0, Shape{3}}, powers);
  check({DType::f32, Shape{1, 2}}, numbers);
  check({DType::f32, Shape{0, 2}}, numbers);
  check({DType::string, Shape{2}}, words);
}

TEST(Write, BuildersMakeWhatReadersRead) {
  NodeProto n;
  n.op_type = "Op";
  n.outputs = {"y"};
  const std::int64_t ints[] = {1, -2};
  const float floats_of[] = {0.5F};
  const std::string_view words_of[] = {"a", ""};
  n.attributes = {number_attribute("f", 0),           integer_attribute("i", -1),
                  text_attribute("s", "text"),        integers_attribute("is", ints),
                  numbers_attribute("fs", floats_of), texts_attribute("ss", words_of)};
  ModelProto m;
  m.ir_version = 8;
  m.opsets.push_back({"", 17});
  m.graph.emplace_back().nodes.push_back(n);
  m.graph[0].name = "g";
  EXPECT_EQ(
      write_model(m),
      make_model(GraphParts{.nodes = {node("Op", {}, {"y"},
                                           {number("f", 0), integer("i", -1), word("s", "text"),
                                            integers("is", {1, -2}), numbers("fs", {0.5F}),
                                            words("ss", {"a", ""})})}}));
}

// Every model of the fuzzers' corpus that can be read is the same after it is written.
TEST(Write, IsTheIdentityOnWhatItWrote) {
  const std::filesystem::path corpus = QUERN_SOURCE_DIR "/tests/fuzz/corpus/onnx";
  int read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const auto model = read_model(bytes, write_limits);
    if (!model) continue;
    ++read;
    const std::string once = write_model(*model);
    const auto again = read_model(once, write_limits);
    ASSERT_TRUE(again) << entry.path() << ": " << again.error().message();
    EXPECT_EQ(write_model(*again), once) << entry.path();
    const auto direct = import(bytes);
    const auto written = import(once);
    ASSERT_EQ(direct.has_value(), written.has_value()) << entry.path();
    if (!direct) continue;
    EXPECT_EQ(to_text(direct->graph), to_text(written->graph)) << entry.path();
  }
  EXPECT_GT(read, 20);
}

}  // namespace
}  // namespace quern::onnx
