// SPDX-License-Identifier: Apache-2.0
// What `quern diff` finds between two messages.
#include <deque>
#include <functional>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/onnx-parser/write.h"
#include "tools/diff/model_diff.h"

namespace quern::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

onnx::NodeProto diffed_node(std::string_view type, std::string_view name,
                            std::vector<std::string_view> inputs, std::string_view output) {
  onnx::NodeProto n;
  n.op_type = type;
  n.name = name;
  n.inputs = std::move(inputs);
  n.outputs = {output};
  return n;
}

onnx::ValueInfo diffed_value(std::string_view name, std::int64_t size) {
  onnx::ValueInfo v;
  v.name = name;
  v.type.kind = onnx::TypeProto::Kind::tensor;
  v.type.has_shape = true;
  v.type.elem_type = 1;
  v.type.dims = {{.has_value = true, .value = size, .param = {}}};
  return v;
}

// y = relu(x * w + b), twice over.
class Diff : public ::testing::Test {
 protected:
  using Change = std::function<void(onnx::ModelProto&)>;

  EditedModel model(const Change& change = {}) {
    onnx::ModelProto m;
    m.ir_version = 8;
    m.opsets = {{"", 13}};
    m.metadata = {{"key", "one"}};
    m.graph.emplace_back();
    onnx::GraphProto& g = m.graph[0];
    g.name = "net";
    g.inputs = {diffed_value("x", 3)};
    g.outputs = {diffed_value("y", 3)};
    g.initializers = {floats("w", {1, 2, 3}), floats("b", {4, 5, 6})};
    g.nodes = {diffed_node("Mul", "scale", {"x", "w"}, "s"),
               diffed_node("Add", "shift", {"s", "b"}, "t"),
               diffed_node("Relu", "cut", {"t"}, "y")};
    if (change) change(m);
    auto read = EditedModel::parse(std::make_shared<const std::string>(onnx::write_model(m)), "");
    EXPECT_TRUE(read) << read.error().message();
    return *std::move(read);
  }
  static onnx::GraphProto& graph(onnx::ModelProto& m) { return m.graph[0]; }

  onnx::TensorProto floats(std::string_view name, const std::vector<float>& values) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    tensors_.push_back(Tensor::from_values<float>(DType::f32, shape, values));
    return onnx::tensor_message(tensors_.back(), name, pool_);
  }

  // "part name: what, a -> b" by row.
  std::vector<std::string> rows(const Change& change_a, const Change& change_b) {
    const EditedModel a = model(change_a);
    const EditedModel b = model(change_b);
    auto diff = diff_models(a, b);
    EXPECT_TRUE(diff) << diff.error().message();
    found_ = *std::move(diff);
    std::vector<std::string> texts;
    for (const DiffRow& r : found_.rows)
      texts.push_back(std::string(name_of(r.part)) + " " + r.name + ": " + r.what + ", " + r.a +
                      " -> " + r.b);
    return texts;
  }
  std::vector<std::string> rows(const Change& change_b) { return rows({}, change_b); }

  ModelDiff found_;
  std::deque<Tensor> tensors_;
  onnx::TextPool pool_;
};

TEST_F(Diff, AModelIsEqualToItself) {
  EXPECT_THAT(rows({}), IsEmpty());
  EXPECT_TRUE(found_.is_equal());
  EXPECT_EQ(found_.equal_nodes, 3U);
  EXPECT_EQ(found_.equal_constants, 2U);
}

TEST_F(Diff, WhatTheModelSaysOfItselfIsCompared) {
  const auto changed = rows([](onnx::ModelProto& m) {
    m.ir_version = 9;
    m.producer_name = "b";
    m.opsets = {{"ai.onnx", 14}, {"com.microsoft", 1}};
    m.metadata = {{"key", "two"}, {"more", "3"}};
    graph(m).inputs[0] = diffed_value("x", 4);
    graph(m).outputs[0].type.elem_type = 10;
  });
  EXPECT_THAT(
      changed,
      ElementsAre("model IR version: value, 8 -> 9", "model producer: value,   -> b ",
                  "opset ai.onnx: version, 13 -> 14", "opset com.microsoft: only in B,  -> 1",
                  "metadata key: value, one -> two", "metadata more: only in B,  -> 3",
                  "input x: type, f32[3] -> f32[4]", "output y: type, f32[3] -> f16[3]"));
}

TEST_F(Diff, ConstantsDifferByNameTypeAndValue) {
  const auto values = rows([&](onnx::ModelProto& m) {
    graph(m).initializers[0] = floats("w", {1, 2, 7});
  });
  EXPECT_THAT(values, ElementsAre("constant w: values, f32[3] -> f32[3]"));
  EXPECT_EQ(found_.rows[0].max_difference, 4);
  EXPECT_NEAR(found_.rows[0].mean_difference, 4.0 / 3, 1e-9);
  EXPECT_EQ(found_.equal_constants, 1U);
  EXPECT_EQ(found_.equal_nodes, 3U);

  const auto types = rows([&](onnx::ModelProto& m) {
    graph(m).initializers[0] = floats("w", {1});
    graph(m).initializers.push_back(floats("more", {9}));
  });
  EXPECT_THAT(types, ElementsAre("constant w: type, f32[3] -> f32[1]",
                                 "constant more: only in B,  -> f32[1]"));
}

// Its readers read the same.
TEST_F(Diff, ARenamedConstantIsFoundByItsElements) {
  const auto renamed = rows([&](onnx::ModelProto& m) {
    graph(m).initializers[0].name = "weight";
    graph(m).nodes[0].inputs[1] = "weight";
  });
  EXPECT_THAT(renamed, ElementsAre("constant w: renamed, w -> weight"));
  EXPECT_EQ(found_.equal_nodes, 3U);
}

TEST_F(Diff, ARenamedNodeIsFoundByWhatItComputes) {
  const auto renamed = rows([](onnx::ModelProto& m) {
    graph(m).nodes[1].name = "moved";
    graph(m).nodes[1].outputs[0] = "other";
    graph(m).nodes[2].inputs[0] = "other";
  });
  EXPECT_THAT(renamed, ElementsAre("node shift: renamed, shift -> moved"));
  EXPECT_EQ(found_.equal_nodes, 2U);
}

TEST_F(Diff, NodesDifferByOperatorInputsOutputsAndAttributes) {
  const Change with_axis = [](onnx::ModelProto& m) {
    graph(m).nodes[2].op_type = "Softmax";
    graph(m).nodes[2].attributes = {onnx::integer_attribute("axis", 0)};
  };
  const auto attribute = rows(with_axis, [&](onnx::ModelProto& m) {
    with_axis(m);
    graph(m).nodes[2].attributes = {onnx::integer_attribute("axis", -1),
                                    onnx::text_attribute("mode", "fast")};
  });
  EXPECT_THAT(attribute, ElementsAre("node cut: attribute axis, 0 -> -1",
                                     "node cut: attribute mode,  -> 'fast'"));
  const auto inputs = rows([](onnx::ModelProto& m) {
    graph(m).nodes[0].inputs = {"w", "x"};
    graph(m).nodes[2].op_type = "Abs";
    graph(m).nodes[2].domain = "com.microsoft";
    graph(m).nodes[2].outputs.push_back("extra");
  });
  EXPECT_THAT(inputs, ElementsAre("node scale: inputs, x, w -> w, x",
                                  "node cut: operator, Relu -> com.microsoft.Abs",
                                  "node cut: outputs, 1 -> 2"));
}

// Inputs that are left out at the end are no difference.
TEST_F(Diff, EmptyInputsAtTheEndAreNone) {
  EXPECT_THAT(rows([](onnx::ModelProto& m) {
                graph(m).nodes[2].inputs = {"t", "", ""};
              }),
              IsEmpty());
}

TEST_F(Diff, NodesOfOneModelAloneAreNamed) {
  const auto more = rows([](onnx::ModelProto& m) {
    graph(m).nodes[2].outputs[0] = "r";
    graph(m).nodes.push_back(diffed_node("Neg", "", {"r"}, "y"));
  });
  EXPECT_THAT(more, ElementsAre("node y: only in B,  -> Neg"));
  const auto fewer = rows([](onnx::ModelProto& m) {
    graph(m).nodes.pop_back();
    graph(m).nodes[1].outputs[0] = "y";
  });
  EXPECT_THAT(fewer, ElementsAre("node cut: only in A, Relu -> "));
}

TEST_F(Diff, EqualNodesArePairedInTheirOrder) {
  const Change twins = [](onnx::ModelProto& m) {
    graph(m).nodes.insert(graph(m).nodes.begin() + 1, diffed_node("Mul", "twin", {"x", "w"}, "q"));
  };
  EXPECT_THAT(rows(twins, twins), IsEmpty());
  EXPECT_THAT(
      rows(twins,
           [&](onnx::ModelProto& m) {
             twins(m);
             graph(m).nodes[0].name = "first";
             graph(m).nodes[1].name = "second";
           }),
      ElementsAre("node scale: renamed, scale -> first", "node twin: renamed, twin -> second"));
}

TEST_F(Diff, ACircleIsAnErrorThatSaysWhere) {
  const EditedModel a = model();
  const EditedModel b = model([](onnx::ModelProto& m) { graph(m).nodes[0].inputs[1] = "t"; });
  const auto diff = diff_models(a, b);
  ASSERT_FALSE(diff);
  EXPECT_EQ(diff.error().code(), Code::invalid_model);
  EXPECT_EQ(std::string(diff.error().message()).rfind("B", 0), 0U) << diff.error().message();
}

}  // namespace
}  // namespace quern::tools
