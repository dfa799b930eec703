// SPDX-License-Identifier: Apache-2.0
#include "tools/quantize/targets.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "engine/vocabulary/text_util.h"
#include "tools/console.h"

namespace quern::tools {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

const AttributeProto* find_attribute(const NodeProto& node, std::string_view name) {
  const auto at = std::ranges::find(node.attributes, name, &AttributeProto::name);
  return at == node.attributes.end() ? nullptr : &*at;
}

std::int64_t integer_attribute_of(const NodeProto& node, std::string_view name,
                                  std::int64_t otherwise) {
  const AttributeProto* a = find_attribute(node, name);
  return a ? a->i : otherwise;
}

float number_attribute_of(const NodeProto& node, std::string_view name, float otherwise) {
  const AttributeProto* a = find_attribute(node, name);
  return a ? a->f : otherwise;
}

bool is_op(const NodeProto& node, std::string_view type) {
  return node.op_type == type && (node.domain.empty() || node.domain == "ai.onnx");
}

const Tensor* weights_of(const EditedModel& model, const NodeProto& node) {
  const Tensor* w = node.inputs.size() > 1 ? model.constant(node.inputs[1]) : nullptr;
  const bool fits = w && w->dtype() == DType::f32 && w->shape().rank() >= 2 &&
                    w->shape().elements() > 0 && !model.constant(node.inputs[0]);
  return fits ? w : nullptr;
}

// The axis of channels of the result in the weights; nothing: the node is no target.
struct Channels {
  std::optional<std::size_t> axis;
};
std::optional<Channels> channels_of(const NodeProto& node, const Shape& weights) {
  if (is_op(node, "Conv")) return weights.rank() >= 3 ? std::optional(Channels{0}) : std::nullopt;
  if (is_op(node, "MatMul")) return weights.rank() == 2 ? Channels{1} : Channels{std::nullopt};
  const bool is_plain_gemm = is_op(node, "Gemm") && integer_attribute_of(node, "transA", 0) == 0 &&
                             number_attribute_of(node, "alpha", 1) == 1 &&
                             number_attribute_of(node, "beta", 1) == 1;
  if (is_plain_gemm && weights.rank() == 2)
    return Channels{integer_attribute_of(node, "transB", 0) != 0 ? 0 : 1};
  return std::nullopt;
}

bool is_named(const NodeProto& node, const std::string& name) {
  return node.name == name || (!node.outputs.empty() && node.outputs[0] == name);
}

// ---- batch normalisation

struct Readers {
  explicit Readers(const onnx::GraphProto& graph) {
    for (const NodeProto& node : graph.nodes)
      for (const std::string_view name : node.inputs) ++count[name];
    for (const onnx::ValueInfo& output : graph.outputs) ++count[output.name];
    for (const NodeProto& node : graph.nodes)  // of bodies nobody knows: they count as two
      for (const AttributeProto& a : node.attributes)
        for (const onnx::GraphProto& body : a.g) add_all(body);
  }
  void add_all(const onnx::GraphProto& body) {
    for (const NodeProto& node : body.nodes) {
      for (const std::string_view name : node.inputs) count[name] += 2;
      for (const AttributeProto& a : node.attributes)
        for (const onnx::GraphProto& inner : a.g) add_all(inner);
    }
  }
  std::unordered_map<std::string_view, int> count;
};

// scale, bias, mean, variance; each one number for each channel.
struct Norm {
  const float* scale;
  const float* bias;
  const float* mean;
  const float* variance;
  float epsilon;
};

std::optional<Norm> norm_of(const EditedModel& model, const NodeProto& node,
                            std::int64_t channels) {
  const bool is_norm = is_op(node, "BatchNormalization") && node.inputs.size() == 5 &&
                       node.outputs.size() == 1 &&
                       integer_attribute_of(node, "training_mode", 0) == 0 &&
                       integer_attribute_of(node, "spatial", 1) == 1;
  if (!is_norm) return std::nullopt;
  const float* operand[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const Tensor* t = model.constant(node.inputs[1 + i]);
    if (!t || t->dtype() != DType::f32 || t->shape() != Shape{channels}) return std::nullopt;
    operand[i] = reinterpret_cast<const float*>(t->data());
  }
  return Norm{operand[0], operand[1], operand[2], operand[3],
              number_attribute_of(node, "epsilon", 1e-5F)};
}

Status fold(EditedModel& model, NodeProto& conv, const Norm& norm) {
  const Tensor* weights = model.constant(conv.inputs[1]);
  const bool has_bias = conv.inputs.size() > 2 && !conv.inputs[2].empty();
  const Tensor* bias = has_bias ? model.constant(conv.inputs[2]) : nullptr;
  const std::int64_t channels = weights->shape()[0];
  QUERN_ASSIGN(Tensor new_weights, Tensor::zeros(weights->type()));
  QUERN_ASSIGN(Tensor new_bias, Tensor::zeros({DType::f32, {channels}}));
  auto* w = reinterpret_cast<float*>(new_weights.mutable_data());
  auto* b = reinterpret_cast<float*>(new_bias.mutable_data());
  const auto* from = reinterpret_cast<const float*>(weights->data());
  const std::int64_t row = weights->shape().elements(1);
  for (std::int64_t c = 0; c < channels; ++c) {
    const float factor = norm.scale[c] / std::sqrt(norm.variance[c] + norm.epsilon);
    for (std::int64_t i = c * row; i < (c + 1) * row; ++i) w[i] = from[i] * factor;
    const float before = bias ? reinterpret_cast<const float*>(bias->data())[c] : 0.0F;
    b[c] = (before - norm.mean[c]) * factor + norm.bias[c];
  }
  const std::string name(conv.inputs[1]);
  conv.inputs.resize(3);
  conv.inputs[1] = model.add_constant(std::move(new_weights), name + "_folded");
  conv.inputs[2] = model.add_constant(std::move(new_bias), name + "_bias");
  return {};
}

}  // namespace

Result<std::size_t> fold_batch_norms(EditedModel& model) {
  const Readers readers(model.graph());
  std::unordered_map<std::string_view, std::size_t> convs;  // by output
  std::vector<bool> is_gone(model.graph().nodes.size());
  for (std::size_t i = 0; i < is_gone.size(); ++i) {
    NodeProto& node = model.graph().nodes[i];
    if (is_op(node, "Conv") && weights_of(model, node)) convs.emplace(node.outputs.at(0), i);
    const auto at = node.inputs.empty() ? convs.end() : convs.find(node.inputs[0]);
    if (at == convs.end() || readers.count.at(node.inputs[0]) != 1) continue;
    NodeProto& conv = model.graph().nodes[at->second];
    const bool has_bias = conv.inputs.size() > 2 && !conv.inputs[2].empty();
    const Tensor* bias = has_bias ? model.constant(conv.inputs[2]) : nullptr;
    const auto norm = norm_of(model, node, weights_of(model, conv)->shape()[0]);
    if (!norm || (has_bias && (!bias || bias->dtype() != DType::f32))) continue;
    QUERN_TRY(fold(model, conv, *norm));
    conv.outputs[0] = node.outputs[0];
    is_gone[i] = true;
  }
  std::size_t at = 0;
  const auto folded =
      std::erase_if(model.graph().nodes, [&](const NodeProto&) { return bool{is_gone[at++]}; });
  return folded;
}

Result<std::vector<ProductNode>> find_targets(const EditedModel& model,
                                              std::span<const std::string> kept) {
  const auto& nodes = model.graph().nodes;
  for (const std::string& name : kept)
    if (std::ranges::none_of(nodes, [&](const NodeProto& n) { return is_named(n, name); }))
      return Status(Code::invalid_argument, cat("--keep ", shown(name), ": no node has this name"));
  std::vector<ProductNode> targets;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeProto& node = nodes[i];
    const Tensor* weights = node.outputs.size() == 1 ? weights_of(model, node) : nullptr;
    const auto channels = weights ? channels_of(node, weights->shape()) : std::nullopt;
    if (!channels || std::ranges::any_of(kept, [&](const auto& k) { return is_named(node, k); }))
      continue;
    targets.push_back({.node = i,
                       .input = node.inputs[0],
                       .weights = node.inputs[1],
                       .bias = node.inputs.size() > 2 ? node.inputs[2] : "",
                       .channel_axis = channels->axis});
  }
  return targets;
}

}  // namespace quern::tools
