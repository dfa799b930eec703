// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "frontends/onnx-parser/write.h"
#include "tools/quantize/assessment.h"
#include "tools/quantize/calibration.h"
#include "tools/quantize/edited_model.h"
#include "tools/quantize/opset.h"
#include "tools/quantize/rewrite.h"
#include "tools/quantize/targets.h"

namespace quern::tools {
namespace {

namespace fs = std::filesystem;

onnx::NodeProto node_of(std::string_view type, std::vector<std::string_view> inputs,
                        std::string_view output,
                        std::vector<onnx::AttributeProto> attributes = {}) {
  onnx::NodeProto n;
  n.op_type = type;
  n.name = output;
  n.inputs = std::move(inputs);
  n.outputs = {output};
  n.attributes = std::move(attributes);
  return n;
}

onnx::ValueInfo value_of(std::string_view name, std::vector<std::int64_t> dims) {
  onnx::ValueInfo v{.name = name,
                    .type = {.kind = onnx::TypeProto::Kind::tensor,
                             .has_shape = true,
                             .elem_type = 1,
                             .dims = {},
                             .element = {}}};
  for (const std::int64_t d : dims)
    v.type.dims.push_back({.has_value = true, .value = d, .param = {}});
  return v;
}

// A small classifier: Conv, BatchNormalization, Relu, a depthwise Conv, GlobalAveragePool, Gemm.
class Quantize : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "quern-quantize-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void constant(std::string_view name, const Shape& shape, float low, float high) {
    std::uniform_real_distribution<float> number(low, high);
    Tensor t = *Tensor::zeros({DType::f32, shape});
    auto* data = reinterpret_cast<float*>(t.mutable_data());
    for (std::int64_t i = 0; i < shape.elements(); ++i) data[i] = number(random_);
    tensors_.push_back(t);
    graph_.initializers.push_back(onnx::tensor_message(tensors_.back(), name, pool_));
  }

  std::string write(std::int64_t opset) {
    constant("w", {16, 3, 3, 3}, -0.3F, 0.3F);
    constant("gamma", {16}, 0.5F, 1.5F);
    constant("beta", {16}, -0.5F, 0.5F);
    constant("mean", {16}, -0.2F, 0.2F);
    constant("variance", {16}, 0.5F, 2.0F);
    constant("w2", {16, 1, 3, 3}, -0.5F, 0.5F);
    constant("b2", {16}, -0.1F, 0.1F);
    constant("w3", {10, 16}, -1.0F, 1.0F);
    constant("b3", {10}, -0.1F, 0.1F);
    const std::array<std::int64_t, 4> pads = {1, 1, 1, 1};
    graph_.nodes = {
        node_of("Conv", {"x", "w"}, "conv", {onnx::integers_attribute("pads", pads)}),
        node_of("BatchNormalization", {"conv", "gamma", "beta", "mean", "variance"}, "norm"),
        node_of("Relu", {"norm"}, "relu"),
        node_of("Conv", {"relu", "w2", "b2"}, "depthwise", {onnx::integer_attribute("group", 16)}),
        node_of("GlobalAveragePool", {"depthwise"}, "pooled"),
        node_of("Flatten", {"pooled"}, "flat"),
        node_of("Gemm", {"flat", "w3", "b3"}, "scores", {onnx::integer_attribute("transB", 1)})};
    return write_graph("scores", {1, 10}, opset);
  }

  std::string write_graph(std::string_view output, std::vector<std::int64_t> dims,
                          std::int64_t opset) {
    graph_.name = "net";
    graph_.inputs = {value_of("x", {1, 3, 12, 12})};
    graph_.outputs = {value_of(output, std::move(dims))};
    onnx::ModelProto model;
    model.ir_version = 8;
    model.opsets = {{"", opset}};
    model.graph = {graph_};
    const std::string path = (folder_ / "net.onnx").string();
    std::ofstream(path, std::ios::binary) << onnx::write_model(model);
    return path;
  }

  std::vector<InputArgs> samples() const { return *find_samples("random", {}, 4); }

  // The least cosine of the outputs of the model before and after.
  double loss(const std::string& path, EditedModel& after) const {
    EditedModel before = *EditedModel::open(path);
    const auto a = assess(*before.model(), *after.model(), samples(), {.threads = 1}, {});
    EXPECT_TRUE(a);
    return a ? a->outputs.at(0).least_cosine : 0;
  }

  static std::size_t count(const EditedModel& model, std::string_view type) {
    return static_cast<std::size_t>(
        std::ranges::count(model.graph().nodes, type, &onnx::NodeProto::op_type));
  }

  fs::path folder_;
  std::mt19937 random_{7};
  std::deque<Tensor> tensors_;
  onnx::TextPool pool_;
  onnx::GraphProto graph_;
};

TEST_F(Quantize, BatchNormsBecomePartOfConvolutions) {
  const std::string path = write(13);
  EditedModel model = *EditedModel::open(path);
  EXPECT_EQ(*fold_batch_norms(model), 1U);
  EXPECT_EQ(count(model, "BatchNormalization"), 0U);
  EXPECT_GT(loss(path, model), 1 - 1e-9);
}

// Before 13 the operators of com.microsoft have scales for each channel.
class QuantizeAtOpset : public Quantize, public ::testing::WithParamInterface<std::int64_t> {};

TEST_P(QuantizeAtOpset, ProductsOfBytesGiveNearlyTheSame) {
  const std::string path = write(GetParam());
  EditedModel model = *EditedModel::open(path);
  ASSERT_TRUE(fold_batch_norms(model));
  const auto targets = find_targets(model, {});
  ASSERT_TRUE(targets);
  ASSERT_EQ(targets->size(), 3U);
  const std::vector<std::string_view> inputs = {"x", "relu", "flat"};
  const auto ranges = calibrate(model, inputs, samples(), {.device = {.threads = 1}}, {});
  ASSERT_TRUE(ranges);
  EXPECT_NEAR(ranges->at("x").high, 1, 0.02);  // generated inputs lie in [0, 1)
  EXPECT_EQ(ranges->at("x").low, 0);
  EXPECT_EQ(ranges->at("relu").low, 0);
  ASSERT_TRUE(quantize_products(model, *targets, *ranges).ok());
  EXPECT_EQ(count(model, "QuantizeLinear"), 3U);
  EXPECT_EQ(count(model, "DequantizeLinear"), 9U);  // inputs, weights and biases
  EXPECT_EQ(model.opset("com.microsoft"), GetParam() < 13 ? 1 : 0);
  const double cosine = loss(path, model);
  EXPECT_GT(cosine, 0.999);
  EXPECT_LT(cosine, 1);
}
INSTANTIATE_TEST_SUITE_P(All, QuantizeAtOpset, ::testing::Values(9, 13, 17));

TEST_F(Quantize, AttributesBecomeInputsWhereTheOpsetRises) {
  const std::array<std::int64_t, 1> axes = {1}, zero = {0}, two = {2};
  graph_.nodes = {
      node_of("Clip", {"x"}, "clipped",
              {onnx::number_attribute("min", 0.25F), onnx::number_attribute("max", 0.75F)}),
      node_of("ReduceSum", {"clipped"}, "sum", {onnx::integers_attribute("axes", axes)}),
      node_of("Slice", {"sum"}, "part",
              {onnx::integers_attribute("starts", zero), onnx::integers_attribute("ends", two),
               onnx::integers_attribute("axes", two)}),
      node_of("Softmax", {"part"}, "y", {onnx::integer_attribute("axis", 3)})};
  const std::string path = write_graph("y", {1, 1, 2, 12}, 9);
  EditedModel model = *EditedModel::open(path);
  EXPECT_TRUE(raise_opset(model, *model.model()));
  EXPECT_EQ(model.opset(""), 13);
  EXPECT_EQ(model.graph().nodes[0].inputs.size(), 3U);
  EXPECT_GT(loss(path, model), 1 - 1e-12);
}

TEST_F(Quantize, OpsetsStayWhereAnOperatorMeansSomethingElse) {
  graph_.nodes = {node_of("Softmax", {"x"}, "y", {onnx::integer_attribute("axis", 1)})};
  EditedModel model = *EditedModel::open(write_graph("y", {1, 3, 12, 12}, 11));
  EXPECT_FALSE(raise_opset(model, *model.model()));
  EXPECT_EQ(model.opset(""), 11);
}

TEST_F(Quantize, WeightsAloneInEightAndFourBits) {
  const std::string path = write(13);
  for (const auto& [bits, least] : {std::pair(8, 0.9999), std::pair(4, 0.98)}) {
    EditedModel model = *EditedModel::open(path);
    const auto targets = find_targets(model, {});
    ASSERT_TRUE(targets);
    EXPECT_EQ(*quantize_weights(model, *targets, bits, 16), 1U);  // the Gemm
    EXPECT_EQ(count(model, "MatMulNBits"), 1U);
    EXPECT_EQ(count(model, "Gemm"), 0U);
    EXPECT_GT(loss(path, model), least);
  }
}

TEST_F(Quantize, NodesThatAreKeptStay) {
  const std::string path = write(13);
  EditedModel model = *EditedModel::open(path);
  const std::vector<std::string> kept = {"depthwise"};
  const auto targets = find_targets(model, kept);
  ASSERT_TRUE(targets);
  EXPECT_EQ(targets->size(), 2U);
  const std::vector<std::string> unknown = {"nobody"};
  EXPECT_EQ(find_targets(model, unknown).error().code(), Code::invalid_argument);
}

TEST_F(Quantize, PercentilesCutRareElementsOff) {
  const std::string path = write(13);
  EditedModel model = *EditedModel::open(path);
  const std::vector<std::string_view> inputs = {"x"};
  const auto ranges =
      calibrate(model, inputs, samples(), {.device = {.threads = 1}, .percentile = 90}, {});
  ASSERT_TRUE(ranges);
  EXPECT_NEAR(ranges->at("x").high, 0.9, 0.1);  // 0 stays: one end alone is cut
  EXPECT_LT(ranges->at("x").high, 0.99);
}

TEST_F(Quantize, DataThatIsNotThereIsAnError) {
  EXPECT_EQ(find_samples((folder_ / "none").string(), {}, 4).error().code(), Code::not_found);
  EXPECT_EQ(find_samples(folder_.string(), {}, 4).error().code(), Code::not_found);
}

}  // namespace
}  // namespace quern::tools
