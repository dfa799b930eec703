// SPDX-License-Identifier: Apache-2.0
// Positions in sequences: each that an operator may name, and the first on either side that it may
// not. The position is an input, or a constant that is known when the plan is made.
#include "tests/engine/engine_test.h"
#include "tests/engine/onnx_run.h"

namespace quern::onnx_test {
namespace {

using quern::testing::expect_everywhere;
using quern::testing::tensor;
using ::testing::HasSubstr;

// Over the sequence (x0, x1) of two scalars; an operator that gives a sequence is followed by
// ConcatFromSequence, so that the answer shows all of it.
std::string over_two(std::string_view op, std::int64_t position, bool is_constant) {
  Names inputs = {"s"};
  if (op == "SequenceInsert") inputs.push_back("x2");
  inputs.push_back("p");
  GraphParts g{.nodes = {node("SequenceConstruct", {"x0", "x1"}, {"s"})}};
  if (op == "SequenceAt") {
    g.nodes.push_back(node(op, inputs, {"y"}));
  } else {
    g.nodes.push_back(node(op, inputs, {"t"}));
    g.nodes.push_back(node("ConcatFromSequence", {"t"}, {"y"}, {integer("axis", 0)}));
  }
  for (const char* name : {"x0", "x1", "x2"}) g.inputs.push_back(value(name, f32, {1}));
  if (is_constant) {
    g.initializers = {ints("p", {}, {position})};
  } else {
    g.inputs.push_back(value("p", i64, {}));
  }
  g.outputs = {Message().text(1, "y")};
  return make_model(g);
}

void expect(std::string_view op, std::int64_t position, const std::string& wanted) {
  for (const bool is_constant : {false, true}) {
    std::vector<Tensor> inputs = {tensor<float>({1}, {10}), tensor<float>({1}, {11}),
                                  tensor<float>({1}, {12})};
    if (!is_constant) inputs.push_back(tensor<std::int64_t>({}, {position}));
    expect_everywhere(over_two(op, position, is_constant), inputs, HasSubstr(wanted));
  }
}

std::string outside(std::int64_t position) {
  return "position " + std::to_string(position) + " in a sequence of 2";
}

TEST(SequencePosition, AtNamesAnElement) {
  expect("SequenceAt", 0, "f32[1] 10");
  expect("SequenceAt", 1, "f32[1] 11");
  expect("SequenceAt", -1, "f32[1] 11");
  expect("SequenceAt", -2, "f32[1] 10");
  for (const std::int64_t p : {2, 3, -3}) expect("SequenceAt", p, outside(p));
}

TEST(SequencePosition, EraseNamesAnElement) {
  expect("SequenceErase", 0, "f32[1] 11");
  expect("SequenceErase", 1, "f32[1] 10");
  expect("SequenceErase", -2, "f32[1] 11");
  for (const std::int64_t p : {2, 3, -3}) expect("SequenceErase", p, outside(p));
}

TEST(SequencePosition, InsertMayNameTheEnd) {
  expect("SequenceInsert", 0, "f32[3] 12 10 11");
  expect("SequenceInsert", 2, "f32[3] 10 11 12");
  expect("SequenceInsert", -1, "f32[3] 10 12 11");
  for (const std::int64_t p : {3, -3}) expect("SequenceInsert", p, outside(p));
}

// The size of the parts is a number of an input, which may be anything.
TEST(SequenceSplit, PartsOfNothingAreRefused) {
  const std::string model = make_model({.nodes = {node("SplitToSequence", {"x", "size"}, {"s"}),
                                                  node("SequenceLength", {"s"}, {"y"})},
                                        .inputs = {value("x", f32, {5}), value("size", i64, {})},
                                        .outputs = {Message().text(1, "y")}});
  const Tensor x = tensor<float>({5}, {1, 2, 3, 4, 5});
  const auto expect_of = [&](std::int64_t size, const std::string& wanted) {
    expect_everywhere(model, {x, tensor<std::int64_t>({}, {size})}, HasSubstr(wanted));
  };
  expect_of(2, "i64[] 3");
  expect_of(5, "i64[] 1");
  expect_of(6, "i64[] 1");
  for (const std::int64_t size : {0, -1}) expect_of(size, "split is " + std::to_string(size));
}

TEST(SequenceSplit, AlongTheFirstAxisFromTheEnd) {
  const std::string model =
      make_model({.nodes = {node("SplitToSequence", {"x", "size"}, {"s"}, {integer("axis", -1)}),
                            node("SequenceLength", {"s"}, {"y"})},
                  .inputs = {value("x", f32, {5}), value("size", i64, {})},
                  .outputs = {Message().text(1, "y")}});
  expect_everywhere(model, {tensor<float>({5}, {1, 2, 3, 4, 5}), tensor<std::int64_t>({}, {2})},
                    HasSubstr("i64[] 3"));
}

}  // namespace
}  // namespace quern::onnx_test
