// SPDX-License-Identifier: Apache-2.0
// Cases at the edge of what operators take, on which all devices must agree: found by changing
// attributes, dimensions and edges of ONNX's own cases one by one.
#include "tests/engine/engine_test.h"
#include "tests/engine/onnx_run.h"

namespace quern::onnx_test {
namespace {

using quern::testing::expect_everywhere;
using quern::testing::tensor;
using ::testing::HasSubstr;
using ::testing::StrEq;

const Message edge_y = Message().text(1, "y");

std::string max_pool(std::int64_t kernel, std::initializer_list<std::int64_t> pads,
                     std::int64_t dilation = 1) {
  return make_model(
      GraphParts{.nodes = {node("MaxPool", {"x"}, {"y"},
                                {integers("kernel_shape", {kernel}), integers("pads", pads),
                                 integers("dilations", {dilation})})},
                 .inputs = {value("x", f32, {1, 1, "W"})},
                 .outputs = {edge_y}});
}

TEST(MaxPoolEdge, AWindowOfPaddingAloneIsMinusInfinity) {
  const Tensor x = tensor<float>({1, 1, 3}, {1, 2, 3});
  expect_everywhere(max_pool(1, {1, 1}), {x}, StrEq("f32[1,1,5] -inf 1 2 3 -inf"));
  expect_everywhere(max_pool(2, {2, 0}), {x}, StrEq("f32[1,1,4] -inf 1 2 3"));
  // Between the taps.
  const Tensor one = tensor<float>({1, 1, 1}, {7});
  expect_everywhere(max_pool(2, {1, 1}, 2), {one}, StrEq("f32[1,1,1] -inf"));
}

// ---- sequences and optionals
// ---------------------------------------------------------------------

TEST(IdentityEdge, HandsOnSequences) {
  const std::string model = make_model(GraphParts{
      .nodes = {node("SequenceConstruct", {"x", "x"}, {"s"}), node("Identity", {"s"}, {"t"}),
                node("ConcatFromSequence", {"t"}, {"y"}, {integer("axis", 0)})},
      .inputs = {value("x", f32, {1})},
      .outputs = {edge_y}});
  expect_everywhere(model, {tensor<float>({1}, {5})}, StrEq("f32[2] 5 5"));
}

TEST(IdentityEdge, HandsOnOptionals) {
  const std::string model = make_model(
      GraphParts{.nodes = {node("Optional", {"x"}, {"o"}), node("Identity", {"o"}, {"p"}),
                           node("OptionalGetElement", {"p"}, {"y"}),
                           node("OptionalHasElement", {"p"}, {"has"})},
                 .inputs = {value("x", f32, {1})},
                 .outputs = {edge_y, Message().text(1, "has")}},
      18);
  expect_everywhere(model, {tensor<float>({1}, {5})}, StrEq("f32[1] 5; bool[] 1"));
}

// ---- axes
// ----------------------------------------------------------------------------------------

std::string unsqueeze(const Message& y) {
  return make_model(GraphParts{.nodes = {node("Unsqueeze", {"x", "axes"}, {"y"})},
                               .inputs = {value("x", f32, {2}), value("axes", i64, {2})},
                               .outputs = {y}});
}

TEST(AxesEdge, ThatAreGivenTwiceAreRefused) {
  const Tensor x = tensor<float>({2}, {1, 2});
  const Message declared = value("y", f32, {1, 1, 2});
  for (const Message& y : {edge_y, declared}) {
    expect_everywhere(unsqueeze(y), {x, tensor<std::int64_t>({2}, {0, 0})},
                      HasSubstr("axis 0 is given twice"));
    expect_everywhere(unsqueeze(y), {x, tensor<std::int64_t>({2}, {0, -3})},
                      HasSubstr("axis -3 is given twice"));
    expect_everywhere(unsqueeze(y), {x, tensor<std::int64_t>({2}, {0, 3})},
                      HasSubstr("axis 3 is outside of rank 3"));
    expect_everywhere(unsqueeze(y), {x, tensor<std::int64_t>({2}, {0, 2})},
                      StrEq("f32[1,2,1] 1 2"));
  }
}

// The rank of what the body gives is known when it has run.
TEST(AxesEdge, OfStackedResultsAreChecked) {
  const auto scan = [](std::int64_t axis) {
    const GraphParts body{
        .nodes = {node("NonZero", {"t"}, {"places"}), node("Reshape", {"places", "all"}, {"list"}),
                  node("Add", {"list", "one"}, {"shape"}), node("Reshape", {"t", "shape"}, {"r"})},
        .inputs = {value("t", f32, {2})},
        .outputs = {Message().text(1, "r")},
        .initializers = {ints("all", {1}, {-1}), ints("one", {1}, {1})}};
    return make_model(
        GraphParts{.nodes = {node("Scan", {"x"}, {"y"},
                                  {graph("body", make_graph(body)), integer("num_scan_inputs", 1),
                                   integers("scan_output_axes", {axis})})},
                   .inputs = {value("x", f32, {"T", 2})},
                   .outputs = {edge_y}});
  };
  const Tensor x = tensor<float>({2, 2}, {1, 2, 3, 4});
  expect_everywhere(scan(0), {x}, StrEq("f32[2,1,2] 1 2 3 4"));
  expect_everywhere(scan(2), {x}, StrEq("f32[1,2,2] 1 3 2 4"));
  expect_everywhere(scan(3), {x}, HasSubstr("axis 3 is outside of rank 3"));
  expect_everywhere(scan(-4), {x}, HasSubstr("axis -4 is outside of rank 3"));
}

// The values of Unique are left out, or nothing reads them.
TEST(OutputsEdge, UniqueWithoutItsValues) {
  const auto unique = [](const char* values, std::int64_t axis) {
    return make_model(
        GraphParts{.nodes = {node("Unique", {"x"}, {values, "", "", "y"}, {integer("axis", axis)})},
                   .inputs = {value("x", f32, {2, 3})},
                   .outputs = {edge_y}});
  };
  const Tensor x = tensor<float>({2, 3}, {1, 2, 1, 3, 4, 3});
  for (const char* values : {"", "values"}) {
    expect_everywhere(unique(values, 1), {x}, StrEq("i64[2] 2 1"));
    expect_everywhere(unique(values, -1), {x}, StrEq("i64[2] 2 1"));
    expect_everywhere(unique(values, -2), {x}, StrEq("i64[2] 1 1"));
  }
}

// Of operators with several outputs the first is left out: what that gives is the same everywhere.
TEST(OutputsEdge, TheFirstIsLeftOut) {
  const auto model = [](const char* op, const Names& inputs, std::size_t outputs,
                        Messages attributes) {
    Names names(outputs);
    names.back() = "y";
    return make_model(GraphParts{.nodes = {node(op, inputs, names, std::move(attributes))},
                                 .inputs = {value("x", f32, {1, 2, 4})},
                                 .outputs = {edge_y},
                                 .initializers = {ints("two", {1}, {2})}});
  };
  const Tensor x = tensor<float>({1, 2, 4}, {1, 2, 3, 4, 8, 7, 6, 5});
  expect_everywhere(model("TopK", {"x", "two"}, 2, {}), {x}, StrEq("i64[1,2,2] 3 2 0 1"));
  expect_everywhere(model("MaxPool", {"x"}, 2, {integers("kernel_shape", {4})}), {x},
                    StrEq("i64[1,2,1] 3 4"));
  expect_everywhere(model("Split", {"x"}, 2, {integer("axis", 1)}), {x},
                    StrEq("f32[1,1,4] 8 7 6 5"));
  expect_everywhere(model("DynamicQuantizeLinear", {"x"}, 3, {}), {x}, StrEq("u8[] 0"));
}

// Query and key are parts of the rows of one tensor, with one head: matrices of a batch whose
// second dimension is 1, read where they lie.
TEST(MatMulEdge, OfOneHeadInSeveralBatches) {
  const std::string model = make_model(GraphParts{
      .nodes = {node("Slice", {"x", "zero", "four", "last"}, {"q3"}),
                node("Slice", {"x", "four", "eight", "last"}, {"k3"}),
                node("Unsqueeze", {"q3", "one"}, {"q"}), node("Unsqueeze", {"k3", "one"}, {"k"}),
                node("Transpose", {"k"}, {"kt"}, {integers("perm", {0, 1, 3, 2})}),
                node("MatMul", {"q", "kt"}, {"y"})},
      .inputs = {value("x", f32, {2, 2, 12})},
      .outputs = {edge_y},
      .initializers = {ints("zero", {1}, {0}), ints("four", {1}, {4}), ints("eight", {1}, {8}),
                       ints("last", {1}, {-1}), ints("one", {1}, {1})}});
  const Tensor x =
      tensor<float>({2, 2, 12}, {-3, -2, -1, 0,  1,  2,  3,  -3, -2, -1, 0,  1,  2,  3,  -3, -2,
                                 -1, 0,  1,  2,  3,  -3, -2, -1, 0,  1,  2,  3,  -3, -2, -1, 0,
                                 1,  2,  3,  -3, -2, -1, 0,  1,  2,  3,  -3, -2, -1, 0,  1,  2});
  expect_everywhere(model, {x}, StrEq(quern::testing::answer(model, {x}, {.device = "reference"})));
}

}  // namespace
}  // namespace quern::onnx_test
