// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <gtest/gtest.h>

#include "frontends/onnx-parser/write.h"
#include "graph/passes/pipeline.h"
#include "tests/expect.h"
#include "tools/optimize/check.h"
#include "tools/optimize/model_file.h"
#include "tools/optimize/rewriting.h"
#include "tools/quantize/edited_model.h"

namespace quern::tools {
namespace {

namespace fs = std::filesystem;
using Attributes = std::vector<onnx::AttributeProto>;

constexpr Criterion close{.rtol = 1e-4, .atol = 1e-6, .of_largest = 1e-6};

onnx::NodeProto rewritten_node(std::string_view type, std::vector<std::string_view> inputs,
                               std::string_view output, Attributes attributes = {}) {
  onnx::NodeProto n;
  n.op_type = type;
  n.name = output;
  n.inputs = std::move(inputs);
  n.outputs = {output};
  n.attributes = std::move(attributes);
  return n;
}

onnx::ValueInfo rewritten_value(std::string_view name, const std::vector<std::int64_t>& dims,
                                std::int32_t type = 1) {
  onnx::ValueInfo v;
  v.name = name;
  v.type.kind = onnx::TypeProto::Kind::tensor;
  v.type.has_shape = true;
  v.type.elem_type = type;
  for (const std::int64_t d : dims)
    v.type.dims.push_back(
        {.has_value = d >= 0, .value = std::max<std::int64_t>(d, 0), .param = {}});
  return v;
}

class Optimize : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "quern-optimize-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    graph_.name = "net";
  }
  void TearDown() override { fs::remove_all(folder_); }

  void constant(std::string_view name, Tensor tensor) {
    tensors_.push_back(std::move(tensor));
    graph_.initializers.push_back(onnx::tensor_message(tensors_.back(), name, pool_));
  }
  // Numbers from `first` on, a quarter apart.
  void floats(std::string_view name, const Shape& shape, float first) {
    std::vector<float> values(static_cast<std::size_t>(shape.elements()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = first + 0.25F * static_cast<float>(i % 7);
    constant(name, Tensor::from_values<float>(DType::f32, shape, values));
  }
  void number(std::string_view name, float value) {
    constant(name, Tensor::from_values<float>(DType::f32, {}, std::vector<float>{value}));
  }
  void ints(std::string_view name, const std::vector<std::int64_t>& values) {
    constant(name, Tensor::from_values<std::int64_t>(
                       DType::i64, {static_cast<std::int64_t>(values.size())}, values));
  }

  EditedModel written(std::int64_t opset) {
    onnx::ModelProto model;
    model.ir_version = 8;
    model.producer_name = "a test";
    model.opsets = {{"", opset}};
    model.graph = {graph_};
    model.metadata = {{"key", "value"}};
    const std::string path = (folder_ / "net.onnx").string();
    std::ofstream(path, std::ios::binary) << onnx::write_model(model);
    auto read = EditedModel::open(path);
    EXPECT_TRUE(read) << read.error().message();
    return *std::move(read);
  }

  // Rewritten, and checked against what it was.
  EditedModel rewritten(std::int64_t opset, RewriteOptions options = {}) {
    EditedModel model = written(opset);
    Model before = *model.model();
    const auto passes = rewrite_model(model, options);
    EXPECT_TRUE(passes) << passes.error().message();
    auto after = model.model();
    EXPECT_TRUE(after) << after.error().message();
    if (!after) return model;
    const auto check = check_model(std::move(before), *std::move(after), {}, {.threads = 1}, close);
    EXPECT_TRUE(check) << check.error().message();
    if (check && check->mismatch()) ADD_FAILURE() << check->mismatch()->mismatch;
    return model;
  }

  static std::vector<std::string> types(const EditedModel& model) {
    std::vector<std::string> all;
    for (const onnx::NodeProto& n : model.graph().nodes)
      all.push_back(n.domain.empty() ? std::string(n.op_type)
                                     : std::string(n.domain) + "." + std::string(n.op_type));
    return all;
  }
  using Types = std::vector<std::string>;

  void image_net() {
    graph_.inputs = {rewritten_value("x", {1, 3, 6, 6})};
    graph_.outputs = {rewritten_value("y", {1, 4, 6, 6})};
    floats("w", {4, 3, 3, 3}, -0.5F);
    for (const char* name : {"gamma", "beta", "mean", "variance"}) floats(name, {4}, 0.5F);
    const std::array<std::int64_t, 4> pads = {1, 1, 1, 1};
    graph_.nodes = {
        rewritten_node("Identity", {"x"}, "same"),
        rewritten_node("Conv", {"same", "w"}, "conv", {onnx::integers_attribute("pads", pads)}),
        rewritten_node("BatchNormalization", {"conv", "gamma", "beta", "mean", "variance"}, "norm"),
        rewritten_node("Relu", {"norm"}, "y"), rewritten_node("Neg", {"norm"}, "unread")};
  }

  fs::path folder_;
  onnx::GraphProto graph_;
  onnx::TextPool pool_;
  std::deque<Tensor> tensors_;
};

TEST_F(Optimize, EveryPassOfALevelExists) {
  const auto all = pass_names();
  for (const RewriteLevel level : {RewriteLevel::basic, RewriteLevel::all})
    for (const std::string_view name : passes_of(level))
      EXPECT_NE(std::ranges::find(all, name), all.end()) << name;
}

TEST_F(Optimize, BatchNormsGoIntoWeights) {
  image_net();
  const EditedModel model = rewritten(13);
  EXPECT_EQ(types(model), (Types{"Conv", "Relu"}));
  EXPECT_EQ(model.graph().nodes[0].inputs[0], "x");
  EXPECT_EQ(model.graph().nodes[0].inputs.size(), 3);
  EXPECT_EQ(model.graph().outputs[0].name, "y");
  EXPECT_EQ(model.graph().initializers.size(), 2);
  EXPECT_EQ(model.message().producer_name, "a test");
  EXPECT_EQ(model.message().metadata.at(0).value, "value");
  EXPECT_EQ(model.opset(""), 13);
}

TEST_F(Optimize, TheBasicLevelChangesNoNumber) {
  image_net();
  EditedModel model = written(13);
  Model before = *model.model();
  ASSERT_TRUE(rewrite_model(model, {.level = RewriteLevel::basic}));
  EXPECT_EQ(types(model), (Types{"Conv", "BatchNormalization", "Relu"}));
  const auto check = check_model(std::move(before), *model.model(), {}, {.threads = 1}, {});
  ASSERT_TRUE(check);
  EXPECT_EQ(check->largest_difference(), 0);
}

// What is known without data becomes a constant: shape arithmetic of a reshape.
TEST_F(Optimize, ShapesThatAreKnownAreFolded) {
  graph_.inputs = {rewritten_value("x", {2, 3, 4})};
  graph_.outputs = {rewritten_value("y", {2, 12})};
  ints("zero", {0});
  ints("rest", {-1});
  graph_.nodes = {
      rewritten_node("Shape", {"x"}, "shape"), rewritten_node("Gather", {"shape", "zero"}, "first"),
      rewritten_node("Concat", {"first", "rest"}, "target", {onnx::integer_attribute("axis", 0)}),
      rewritten_node("Reshape", {"x", "target"}, "y")};
  const EditedModel model = rewritten(13);
  EXPECT_EQ(types(model), Types{"Reshape"});
  EXPECT_EQ(model.graph().initializers.size(), 1);
}

TEST_F(Optimize, WhatIsComputedTwiceIsComputedOnce) {
  graph_.inputs = {rewritten_value("x", {2, 3})};
  graph_.outputs = {rewritten_value("y", {2, 3}), rewritten_value("z", {2, 3}),
                    rewritten_value("again", {2, 3})};
  graph_.nodes = {rewritten_node("Exp", {"x"}, "a"), rewritten_node("Exp", {"x"}, "b"),
                  rewritten_node("Mul", {"a", "b"}, "y"), rewritten_node("Exp", {"x"}, "z"),
                  rewritten_node("Identity", {"z"}, "again")};
  const EditedModel model = rewritten(13);
  EXPECT_EQ(types(model), (Types{"Exp", "Mul", "Identity"}));
}

// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + e) * s + b
void spell_out_layer_norm(onnx::GraphProto& graph) {
  const std::array<std::int64_t, 1> last = {-1};
  const Attributes axes = {onnx::integers_attribute("axes", last)};
  graph.nodes = {rewritten_node("ReduceMean", {"x"}, "mean", axes),
                 rewritten_node("Sub", {"x", "mean"}, "d"),
                 rewritten_node("Pow", {"d", "two"}, "square"),
                 rewritten_node("ReduceMean", {"square"}, "variance", axes),
                 rewritten_node("Add", {"variance", "epsilon"}, "above"),
                 rewritten_node("Sqrt", {"above"}, "root"),
                 rewritten_node("Div", {"d", "root"}, "normal"),
                 rewritten_node("Mul", {"normal", "s"}, "scaled"),
                 rewritten_node("Add", {"scaled", "b"}, "y")};
}

TEST_F(Optimize, LayerNormsAreRecognisedWhereTheOpsetHasThem) {
  graph_.inputs = {rewritten_value("x", {2, 5, 8})};
  graph_.outputs = {rewritten_value("y", {2, 5, 8})};
  number("two", 2);
  number("epsilon", 1e-5F);
  floats("s", {8}, 0.5F);
  floats("b", {8}, -0.5F);
  spell_out_layer_norm(graph_);
  const EditedModel late = rewritten(17);
  EXPECT_EQ(types(late), Types{"LayerNormalization"});
  EXPECT_EQ(late.graph().nodes[0].inputs.size(), 3);
  const EditedModel early = rewritten(13);
  EXPECT_EQ(early.graph().nodes.size(), 9);
  EXPECT_EQ(types(early).back(), "Add");
}

TEST_F(Optimize, GelusAreThoseOfTheOpsetOrOfMicrosoft) {
  graph_.inputs = {rewritten_value("x", {2, 8})};
  graph_.outputs = {rewritten_value("y", {2, 8})};
  number("root", 1.4142135F);
  number("one", 1);
  number("half", 0.5F);
  graph_.nodes = {rewritten_node("Div", {"x", "root"}, "a"), rewritten_node("Erf", {"a"}, "b"),
                  rewritten_node("Add", {"b", "one"}, "c"), rewritten_node("Mul", {"x", "c"}, "d"),
                  rewritten_node("Mul", {"d", "half"}, "y")};
  EXPECT_EQ(types(rewritten(20)), Types{"Gelu"});
  const EditedModel early = rewritten(13);
  EXPECT_EQ(types(early), Types{"com.microsoft.Gelu"});
  EXPECT_EQ(early.opset("com.microsoft"), 1);
}

// Other engines look for these nodes.
TEST_F(Optimize, QuantisedWeightsStay) {
  graph_.inputs = {rewritten_value("x", {1, 3, 6, 6})};
  graph_.outputs = {rewritten_value("y", {1, 4, 4, 4})};
  std::vector<std::int8_t> weights(108);
  std::iota(weights.begin(), weights.end(), std::int8_t{-50});
  constant("w", Tensor::from_values<std::int8_t>(DType::i8, {4, 3, 3, 3}, weights));
  constant("b", Tensor::from_values<std::int32_t>(DType::i32, {4},
                                                  std::vector<std::int32_t>{1, 2, 3, 4}));
  number("scale", 0.02F);
  graph_.nodes = {rewritten_node("DequantizeLinear", {"w", "scale"}, "wf"),
                  rewritten_node("DequantizeLinear", {"b", "scale"}, "bf"),
                  rewritten_node("Conv", {"x", "wf", "bf"}, "y")};
  EXPECT_EQ(types(rewritten(13)), (Types{"DequantizeLinear", "DequantizeLinear", "Conv"}));
}

// A body reads values around it by their names.
TEST_F(Optimize, BodiesFindWhatTheyRead) {
  graph_.inputs = {rewritten_value("x", {2, 3}), rewritten_value("take", {}, 9)};
  graph_.outputs = {rewritten_value("y", {2, 3})};
  onnx::GraphProto yes;
  yes.name = "yes";
  yes.nodes = {rewritten_node("Neg", {"copy"}, "n")};
  yes.outputs = {rewritten_value("n", {2, 3})};
  onnx::GraphProto no;
  no.name = "no";
  no.nodes = {rewritten_node("Abs", {"twin"}, "p")};
  no.outputs = {rewritten_value("p", {2, 3})};
  graph_.nodes = {rewritten_node("Identity", {"x"}, "copy"), rewritten_node("Exp", {"copy"}, "e"),
                  rewritten_node("Exp", {"x"}, "twin"),
                  rewritten_node("If", {"take"}, "chosen",
                                 {onnx::graph_attribute("then_branch", yes),
                                  onnx::graph_attribute("else_branch", no)}),
                  rewritten_node("Add", {"chosen", "e"}, "y")};
  rewritten(13);
}

TEST_F(Optimize, OutputsMayBeInputsAndConstants) {
  graph_.inputs = {rewritten_value("x", {2, 3})};
  graph_.outputs = {rewritten_value("x", {2, 3}), rewritten_value("c", {2}),
                    rewritten_value("d", {2, 3})};
  floats("c", {2}, 1);
  graph_.nodes = {rewritten_node("Dropout", {"x"}, "d")};
  const EditedModel model = rewritten(13);
  EXPECT_LE(model.graph().nodes.size(), 1);
}

TEST_F(Optimize, LargeResultsOfConstantsAreNotWritten) {
  graph_.inputs = {rewritten_value("x", {64, 64})};
  graph_.outputs = {rewritten_value("y", {64, 64})};
  floats("row", {64, 1}, 0);
  ints("repeats", {1, 64});
  graph_.nodes = {rewritten_node("Tile", {"row", "repeats"}, "all"),
                  rewritten_node("Pow", {"all", "x"}, "y")};
  EXPECT_EQ(types(rewritten(13, {.most_constant_bytes = 1024})), (Types{"Tile", "Pow"}));
  EXPECT_EQ(types(rewritten(13)), Types{"Pow"});
}

TEST_F(Optimize, ConstantsMayLieInAFileOfTheirOwn) {
  image_net();
  floats("large", {4, 3, 16, 16}, 0);
  graph_.initializers[0] = graph_.initializers.back();  // weights of 3 kB
  graph_.initializers.pop_back();
  graph_.initializers[0].name = "w";
  graph_.inputs = {rewritten_value("x", {1, 3, 16, 16})};
  graph_.outputs = {rewritten_value("y", {1, 4, -1, -1})};
  EditedModel model = rewritten(13);
  const std::string path = (folder_ / "out.onnx").string();
  const auto file = write_model_file(model, path, 100);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->external_bytes, 4 * 3 * 16 * 16 * 4);
  EXPECT_EQ(fs::file_size(path + ".data"), file->external_bytes);
  EXPECT_LT(file->bytes, 2000);
  const auto again = EditedModel::open(path);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->bytes(), model.bytes());
}

// ---- what became of each node

// "name: fate into (operator)" by node.
std::vector<std::string> fates_of(const NodeFates& fates) {
  std::vector<std::string> texts;
  for (const NodeFate& f : fates)
    texts.push_back(f.name + ": " + std::string(fate_name(f.kind)) +
                    (f.into.empty() ? "" : " " + f.into) +
                    (f.into_type.empty() ? "" : " (" + f.into_type + ")"));
  return texts;
}
using Fates = std::vector<std::string>;

TEST_F(Optimize, EachNodeHasAFate) {
  image_net();
  EditedModel model = written(13);
  const auto all = rewrite_model(model, {});
  ASSERT_TRUE(all);
  EXPECT_EQ(fates_of(all->nodes), (Fates{"same: fused norm (Conv)", "conv: fused norm (Conv)",
                                         "norm: rewritten (Conv)", "y: kept", "unread: removed"}));
  EditedModel again = written(13);
  const auto basic = rewrite_model(again, {.level = RewriteLevel::basic});
  ASSERT_TRUE(basic);
  EXPECT_EQ(fates_of(basic->nodes),
            (Fates{"same: replaced x", "conv: kept", "norm: kept", "y: kept", "unread: removed"}));
}

TEST_F(Optimize, NodesOfConstantsAreFoldedAndTwinsReplaced) {
  graph_.inputs = {rewritten_value("x", {2, 3, 4})};
  graph_.outputs = {rewritten_value("y", {2, 12}), rewritten_value("z", {2, 12})};
  ints("zero", {0});
  ints("rest", {-1});
  graph_.nodes = {
      rewritten_node("Shape", {"x"}, "shape"),
      rewritten_node("Gather", {"shape", "zero"}, "first"),
      rewritten_node("Concat", {"first", "rest"}, "target", {onnx::integer_attribute("axis", 0)}),
      rewritten_node("Reshape", {"x", "target"}, "flat"),
      rewritten_node("Exp", {"flat"}, "a"),
      rewritten_node("Exp", {"flat"}, "b"),
      rewritten_node("Neg", {"a"}, "y"),
      rewritten_node("Tanh", {"b"}, "z")};
  EditedModel model = written(13);
  const auto done = rewrite_model(model, {});
  ASSERT_TRUE(done);
  EXPECT_EQ(fates_of(done->nodes),
            (Fates{"shape: folded", "first: folded", "target: folded", "flat: kept", "a: kept",
                   "b: replaced a", "y: kept", "z: kept"}));
}

TEST_F(Optimize, PassesMayBeSkippedByName) {
  image_net();
  const EditedModel model = rewritten(13, {.skipped = {"expand_batch_norm"}});
  EXPECT_EQ(types(model), (Types{"Conv", "BatchNormalization", "Relu"}));
  EditedModel other = written(13);
  const auto wrong = rewrite_model(other, {.skipped = {"expand_batchnorm"}});
  ASSERT_FALSE(wrong);
  EXPECT_CONTAINS(std::string(wrong.error().message()), "did you mean 'expand_batch_norm'?");
  const auto further =
      rewrite_model(other, {.level = RewriteLevel::basic, .skipped = {"recognise_gated"}});
  EXPECT_FALSE(further);
}

// ---- another opset

std::string opset_refusal(EditedModel model, std::int64_t opset) {
  const auto done = rewrite_model(model, {.opset = opset});
  return done ? "" : std::string(done.error().message());
}

TEST_F(Optimize, NodesHaveTheFormOfTheOpsetThatIsWritten) {
  graph_.inputs = {rewritten_value("x", {2, 1, 3})};
  graph_.outputs = {rewritten_value("y", {2, 3})};
  const std::array<std::int64_t, 1> one = {1};
  graph_.nodes = {
      rewritten_node("Squeeze", {"x"}, "s", {onnx::integers_attribute("axes", one)}),
      rewritten_node("Clip", {"s"}, "c",
                     {onnx::number_attribute("min", -1), onnx::number_attribute("max", 2)}),
      rewritten_node("Softmax", {"c"}, "p", {onnx::integer_attribute("axis", 1)}),
      rewritten_node("Tanh", {"p"}, "y")};
  const EditedModel model = rewritten(9, {.opset = 13});
  EXPECT_EQ(model.opset(""), 13);
  EXPECT_EQ(types(model), (Types{"Squeeze", "Clip", "Softmax", "Tanh"}));
  EXPECT_EQ(model.graph().nodes[0].inputs.size(), 2);
  EXPECT_EQ(model.graph().nodes[1].inputs.size(), 3);
  EXPECT_TRUE(model.graph().nodes[1].attributes.empty());
  const EditedModel back = rewritten(9, {.opset = 11});
  EXPECT_EQ(back.graph().nodes[0].inputs.size(), 1);
  EXPECT_EQ(back.graph().nodes[1].inputs.size(), 3);
}

// What became one node that the opset lacks is written as its parts, in the forms of that opset.
TEST_F(Optimize, PartsOfWhatTheOpsetLacksHaveItsForms) {
  graph_.inputs = {rewritten_value("x", {2, 3})};
  graph_.outputs = {rewritten_value("y", {2, 3})};
  number("three", 3);
  number("six", 6);
  graph_.nodes = {
      rewritten_node("Add", {"x", "three"}, "a"),
      rewritten_node("Clip", {"a"}, "c",
                     {onnx::number_attribute("min", 0), onnx::number_attribute("max", 6)}),
      rewritten_node("Mul", {"x", "c"}, "m"), rewritten_node("Div", {"m", "six"}, "y")};
  EXPECT_EQ(types(rewritten(10, {.opset = 14})), Types{"HardSwish"});
  const EditedModel model = rewritten(10, {.opset = 13});
  EXPECT_EQ(types(model), (Types{"Add", "Clip", "Mul", "Div"}));
  EXPECT_EQ(model.graph().nodes[1].inputs.size(), 3);
}

TEST_F(Optimize, AnOpsetMayBeLower) {
  graph_.inputs = {rewritten_value("x", {2, 3})};
  graph_.outputs = {rewritten_value("y", {2})};
  ints("axes", {1});
  graph_.nodes = {
      rewritten_node("ReduceSum", {"x", "axes"}, "y", {onnx::integer_attribute("keepdims", 0)})};
  const EditedModel model = rewritten(13, {.opset = 11});
  EXPECT_EQ(model.opset(""), 11);
  EXPECT_EQ(model.graph().nodes[0].inputs.size(), 1);
  EXPECT_EQ(model.graph().initializers.size(), 0);
}

TEST_F(Optimize, WhatTheOpsetLacksIsNamed) {
  graph_.inputs = {rewritten_value("x", {1, 1, 2, 3})};
  graph_.outputs = {rewritten_value("y", {1, 1, -1, -1})};
  graph_.nodes = {rewritten_node("HardSwish", {"x"}, "y")};
  const std::string early = opset_refusal(written(14), 13);
  EXPECT_CONTAINS(early, "node 'y' (HardSwish) has no form in opset 13");
  EXPECT_CONTAINS(early, "exists since opset 14");
  EXPECT_EQ(opset_refusal(written(14), 21), "");
  constant("scales", Tensor::from_values<float>(DType::f32, {4}, std::vector<float>{1, 1, 2, 2}));
  graph_.nodes = {rewritten_node("Upsample", {"x", "scales"}, "y")};
  EXPECT_CONTAINS(opset_refusal(written(9), 10), "node 'y' (Upsample) has no form in opset 10");
  graph_.nodes = {rewritten_node("Softmax", {"x"}, "y", {onnx::integer_attribute("axis", 1)})};
  EXPECT_CONTAINS(opset_refusal(written(11), 13), "Softmax means something else in opset 13");
  EXPECT_CONTAINS(opset_refusal(written(11), 99), "opset 99 is not known");
  EXPECT_CONTAINS(opset_refusal(written(11), -1), "opset -1 is not known");
}

// A body cannot be written anew: its node stays, or is named.
TEST_F(Optimize, BodiesStayInAnotherOpsetOrAreNamed) {
  const auto choice = [&](Attributes attributes) {
    onnx::GraphProto branch;
    branch.name = "branch";
    branch.nodes = {rewritten_node(attributes.empty() ? "Abs" : "Clip", {"x"}, "n", attributes)};
    branch.outputs = {rewritten_value("n", {2, 3})};
    graph_.inputs = {rewritten_value("x", {2, 3}), rewritten_value("take", {}, 9)};
    graph_.outputs = {rewritten_value("y", {2, 3})};
    graph_.nodes = {rewritten_node("If", {"take"}, "y",
                                   {onnx::graph_attribute("then_branch", branch),
                                    onnx::graph_attribute("else_branch", branch)})};
  };
  choice({});
  EXPECT_EQ(types(rewritten(9, {.opset = 13})), Types{"If"});
  choice({onnx::number_attribute("min", -1)});
  EXPECT_CONTAINS(opset_refusal(written(9), 13), "node 'y' (If) has no form in opset 13");
}

TEST_F(Optimize, RecognisedNodesAreThoseOfTheOpsetThatIsWritten) {
  graph_.inputs = {rewritten_value("x", {2, 5, 8})};
  graph_.outputs = {rewritten_value("y", {2, 5, 8})};
  number("two", 2);
  number("epsilon", 1e-5F);
  floats("s", {8}, 0.5F);
  floats("b", {8}, -0.5F);
  spell_out_layer_norm(graph_);
  EXPECT_EQ(types(rewritten(13, {.opset = 17})), Types{"LayerNormalization"});
}

TEST_F(Optimize, TheCheckFindsAnotherNumber) {
  image_net();
  EditedModel model = written(13);
  Model before = *model.model();
  model.graph().nodes[3].op_type = "Neg";
  const auto check = check_model(std::move(before), *model.model(), {}, {.threads = 1}, close);
  ASSERT_TRUE(check);
  ASSERT_NE(check->mismatch(), nullptr);
  EXPECT_EQ(check->mismatch()->name, "y");
  EXPECT_GT(check->largest_difference(), 0);
}

}  // namespace
}  // namespace quern::tools
