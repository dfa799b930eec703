// SPDX-License-Identifier: Apache-2.0
// A model may declare things about its values that the graph does not confirm. Right or
// wrong, the answer comes from the values: it is the same on every device, with and without passes.
#include "tests/engine/engine_test.h"
#include "tests/engine/onnx_run.h"

namespace quern::onnx_test {
namespace {

using quern::testing::expect_everywhere;
using quern::testing::tensor;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Message y_any = Message().text(1, "y");

// y = op(x, operand), x and the operand given by the run or, in `constants`, by the model.
std::string declared(std::string_view op, const Message& y, const Messages& inputs,
                     const Messages& constants = {}, std::int64_t version = 17) {
  return make_model(GraphParts{.nodes = {node(op, {"x", "operand"}, {"y"})},
                               .inputs = inputs,
                               .outputs = {y},
                               .initializers = constants},
                    version);
}

Tensor count_to(std::int64_t n) {
  Tensor t = testing::must(Tensor::zeros({DType::f32, {n}}));
  for (std::int64_t i = 0; i < n; ++i)
    reinterpret_cast<float*>(t.mutable_data())[i] = static_cast<float>(i);
  return t;
}

// ---- outputs -----------------------------------------------------------------------------------

TEST(DeclaredOutput, DoesNotMakeATensorLarger) {
  const Messages axes = {value("operand", i64, {1})};
  const Messages x = {floats("x", {1, 4}, {1, 2, 3, 4})};
  const std::string model = declared("Squeeze", value("y", f32, {2, 3, 70, 5}), axes, x);
  expect_everywhere(model, {tensor<std::int64_t>({1}, {0})}, ::testing::StrEq("f32[4] 1 2 3 4"));
}

TEST(DeclaredOutput, DoesNotRemoveANode) {
  const Messages inputs = {value("x", f32, {3}), value("operand", i64, {1})};
  const std::vector<Tensor> twice = {count_to(3), tensor<std::int64_t>({1}, {2})};
  expect_everywhere(declared("Tile", value("y", f32, {3}), inputs), twice,
                    ::testing::StrEq("f32[6] 0 1 2 0 1 2"));
  const Messages expand = {value("x", f32, {1}), value("operand", i64, {1})};
  expect_everywhere(declared("Expand", value("y", f32, {1}), expand),
                    {count_to(1), tensor<std::int64_t>({1}, {3})},
                    ::testing::StrEq("f32[3] 0 0 0"));
  const Messages reshape = {value("x", f32, {2, "N"}), value("operand", i64, {2})};
  expect_everywhere(declared("Reshape", value("y", f32, {2, "N"}), reshape),
                    {testing::pattern({2, 3}), tensor<std::int64_t>({2}, {3, 2})},
                    StartsWith("f32[3,2]"));
}

TEST(DeclaredOutput, OfAnotherRankIsNotBelieved) {
  const Messages inputs = {value("x", f32, {6}), value("operand", i64, {2})};
  for (const Dimensions& dims : {Dimensions{6}, Dimensions{1, 1, 6}, Dimensions{7, 7}})
    expect_everywhere(declared("Reshape", value("y", f32, dims), inputs),
                      {count_to(6), tensor<std::int64_t>({2}, {2, 3})},
                      StartsWith("f32[2,3] 0 1 2"));
}

TEST(DeclaredOutput, IsShownWhereNothingBetterIsKnown) {
  const Messages inputs = {value("x", f32, {6}), value("operand", i64, {2})};
  const std::string bytes = declared("Reshape", value("y", f32, {3, "N"}), inputs);
  const Model model = testing::must(parse_onnx(std::as_bytes(std::span(bytes)), nullptr));
  EXPECT_EQ(model.outputs()[0].dims, (std::vector<std::int64_t>{3, -1}));
  EXPECT_EQ(model.outputs()[0].symbols[1], "N");
}

TEST(DeclaredOutput, ThatInferenceContradictsIsAWarning) {
  const Messages inputs = {value("x", f32, {6})};
  const Messages shape = {ints("operand", {2}, {2, 3})};
  const std::string bytes = declared("Reshape", value("y", f32, {3, 2}), inputs, shape);
  std::vector<std::string> warnings;
  const Model model = testing::must(
      parse_onnx(std::as_bytes(std::span(bytes)), nullptr, {}, {.warnings = &warnings}));
  EXPECT_THAT(warnings, ::testing::ElementsAre("output 'y' is declared f32[3,2], but is f32[2,3]"));
  expect_everywhere(bytes, {count_to(6)}, StartsWith("f32[2,3] 0 1 2"));
}

// The input that it is takes what it is declared to take as an input, and is shown as that.
TEST(DeclaredOutput, SaysNothingOfAnInput) {
  const std::string bytes =
      make_model(GraphParts{.inputs = {value("x", f32, {"N"})}, .outputs = {value("x", f32, {3})}});
  expect_everywhere(bytes, {count_to(2)}, ::testing::StrEq("f32[2] 0 1"));
  const Model model = testing::must(parse_onnx(std::as_bytes(std::span(bytes)), nullptr));
  EXPECT_EQ(model.inputs()[0].dims, (std::vector<std::int64_t>{-1}));
  EXPECT_EQ(model.inputs()[0].symbols[0], "N");
}

// ---- inputs ------------------------------------------------------------------------------------

TEST(DeclaredInput, OneNameMayBeTwoNumbers) {
  const std::string model =
      make_model(GraphParts{.nodes = {node("Add", {"a", "b"}, {"y"})},
                            .inputs = {value("a", f32, {"N"}), value("b", f32, {"N"})},
                            .outputs = {y_any}});
  expect_everywhere(model, {count_to(2), count_to(2)}, ::testing::StrEq("f32[2] 0 2"));
  expect_everywhere(model, {count_to(1), count_to(3)}, ::testing::StrEq("f32[3] 0 1 2"));
}

TEST(DeclaredInput, OneNameMayBeTwoNumbersOfOneInput) {
  // Equal, the last two dimensions would make the reshape one that does nothing.
  const std::string model = make_model(GraphParts{
      .nodes = {node("Shape", {"x"}, {"s"}, {integer("start", 1)}),
                node("Gather", {"s", "swap"}, {"t"}), node("Reshape", {"x", "t"}, {"y"}, {})},
      .inputs = {value("x", f32, {1, "N", "N"})},
      .outputs = {y_any},
      .initializers = {ints("swap", {2}, {1, 0})}});
  expect_everywhere(model, {testing::pattern({1, 2, 3})}, StartsWith("f32[3,2]"));
}

TEST(DeclaredInput, NamesAreShownAsTheyAre) {
  const std::string bytes =
      make_model(GraphParts{.nodes = {node("Add", {"a", "b"}, {"y"})},
                            .inputs = {value("a", f32, {"N"}), value("b", f32, {"N"})},
                            .outputs = {value("y", f32, {"N"})}});
  const Model model = testing::must(parse_onnx(std::as_bytes(std::span(bytes)), nullptr));
  EXPECT_EQ(model.inputs()[0].symbols[0], "N");
  EXPECT_EQ(model.inputs()[1].symbols[0], "N");
  EXPECT_EQ(model.outputs()[0].symbols[0], "N");
}

// ---- ranks that an importer needs
// ----------------------------------------------------------------

// y = b + Reshape(x, shape), b aligned as Add of opset 6 does it: what it becomes depends on a
// rank.
std::string with_rank(const Dimensions& dims) {
  return make_model(GraphParts{.nodes = {node("Reshape", {"x", "shape"}, {"r"}),
                                         node("Add", {"r", "b"}, {"y"},
                                              {integer("broadcast", 1), integer("axis", 0)})},
                               .inputs = {value("x", f32, {6}), value("shape", i64, {"K"})},
                               .outputs = {y_any},
                               .initializers = {floats("b", {2}, {10, 20})},
                               .value_info = {value("r", f32, dims)}},
                    6);
}

TEST(DeclaredRank, IsTakenWhereNothingElseIsKnownAndChecked) {
  const std::vector<Tensor> two = {count_to(6), tensor<std::int64_t>({2}, {2, 3})};
  expect_everywhere(with_rank({2, 3}), two, ::testing::StrEq("f32[2,3] 10 11 12 23 24 25"));
  // Its numbers are nobody's business.
  expect_everywhere(with_rank({7, 8}), two, ::testing::StrEq("f32[2,3] 10 11 12 23 24 25"));
  expect_everywhere(
      with_rank({2, 3, 1}), two,
      AllOf(HasSubstr("'r'"), HasSubstr("declares a value of rank 3"), HasSubstr("f32[2,3]")));
}

TEST(DeclaredRank, ThatNobodyNeedsIsNotChecked) {
  const std::string model = make_model(
      GraphParts{.nodes = {node("Reshape", {"x", "shape"}, {"r"}), node("Relu", {"r"}, {"y"})},
                 .inputs = {value("x", f32, {6}), value("shape", i64, {"K"})},
                 .outputs = {y_any},
                 .value_info = {value("r", f32, {1, 2, 3})}});
  expect_everywhere(model, {count_to(6), tensor<std::int64_t>({2}, {2, 3})},
                    StartsWith("f32[2,3] 0 1 2"));
}

// ---- bodies ------------------------------------------------------------------------------------

// Four rounds of v = Concat(v, v) or v = Tile(v, k), the body declaring that v keeps its shape.
std::string growing(const Message& step) {
  const Message body =
      make_graph({.name = "body",
                  .nodes = {step, node("Identity", {"go"}, {"again"})},
                  .inputs = {value("i", i64, {}), value("go", boolean, {}), value("v", f32, {1})},
                  .outputs = {value("again", boolean, {}), value("w", f32, {1})}});
  return make_model(
      GraphParts{.nodes = {node("Loop", {"n", "", "x"}, {"y"}, {graph("body", body)})},
                 .inputs = {value("n", i64, {}), value("x", f32, {1}), value("k", i64, {1})},
                 .outputs = {value("y", f32, {1})}});
}

TEST(DeclaredCarriedValue, MayGrow) {
  const std::vector<Tensor> inputs = {tensor<std::int64_t>({}, {3}), tensor<float>({1}, {7}),
                                      tensor<std::int64_t>({1}, {2})};
  const auto eight = ::testing::StrEq("f32[8] 7 7 7 7 7 7 7 7");
  expect_everywhere(growing(node("Concat", {"v", "v"}, {"w"}, {integer("axis", 0)})), inputs,
                    eight);
  expect_everywhere(growing(node("Tile", {"v", "k"}, {"w"})), inputs, eight);
}

TEST(DeclaredCarriedValue, ThatTheBodyKeepsIsKnown) {
  const std::vector<Tensor> inputs = {tensor<std::int64_t>({}, {3}), tensor<float>({1}, {7}),
                                      tensor<std::int64_t>({1}, {2})};
  expect_everywhere(growing(node("Add", {"v", "v"}, {"w"})), inputs, ::testing::StrEq("f32[1] 56"));
}

TEST(LoopCondition, MayHaveRankOne) {
  const Message body =
      make_graph({.name = "body",
                  .nodes = {node("Add", {"v", "v"}, {"w"}), node("Not", {"go"}, {"again"})},
                  .inputs = {value("i", i64, {}), value("go", boolean, {1}), value("v", f32, {1})},
                  .outputs = {value("again", boolean, {1}), value("w", f32, {1})}});
  const std::string model =
      make_model(GraphParts{.nodes = {node("Loop", {"", "go", "x"}, {"y"}, {graph("body", body)})},
                            .inputs = {value("go", boolean, {1}), value("x", f32, {1})},
                            .outputs = {y_any}});
  expect_everywhere(model, {tensor<bool>({1}, {true}), tensor<float>({1}, {7})},
                    ::testing::StrEq("f32[1] 14"));
}

// More than an address can name.
TEST(Tensors, OfMoreMemoryThanThereIsAreRefused) {
  const auto t = Tensor::zeros({DType::i64, {std::int64_t{1} << 46}});
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().code(), Code::out_of_memory);
}

}  // namespace
}  // namespace quern::onnx_test
