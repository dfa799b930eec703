// SPDX-License-Identifier: Apache-2.0
// Source: the change logs of ONNX operators, opsets 7 to 13.
#include "tools/quantize/opset.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "engine/vocabulary/text_util.h"
#include "graph/graph.h"

namespace quern::tools {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

constexpr auto unchanged_operators = std::to_array<std::string_view>({
    "Abs",
    "Add",
    "And",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "Ceil",
    "Concat",
    "Constant",
    "Conv",
    "ConvTranspose",
    "DepthToSpace",
    "Div",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Expand",
    "Flatten",
    "Floor",
    "Gather",
    "Gemm",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "Greater",
    "HardSigmoid",
    "Identity",
    "InstanceNormalization",
    "LRN",
    "LeakyRelu",
    "Less",
    "Log",
    "MatMul",
    "Max",
    "MaxPool",
    "Mean",
    "Min",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "PRelu",
    "Pow",
    "Reciprocal",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "Relu",
    "Reshape",
    "Selu",
    "Shape",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "SpaceToDepth",
    "Sqrt",
    "Sub",
    "Sum",
    "Tanh",
    "Tile",
    "Transpose",
    "Where",
});

// Operators whose meaning has not changed from an opset on.
struct Settled {
  std::string_view op;
  std::int64_t since;
};
constexpr auto settled_operators = std::to_array<Settled>({
    {"TopK", 11},
    {"Resize", 11},
    {"ArgMax", 7},
    {"ArgMin", 7},
    {"ConstantOfShape", 9},
});

// An attribute that is an input since `since`.
struct Moved {
  std::string_view op;
  std::string_view attribute;
  std::size_t input;
  std::int64_t since;
};
constexpr auto moved_attributes = std::to_array<Moved>({
    {"Slice", "starts", 1, 10},
    {"Slice", "ends", 2, 10},
    {"Slice", "axes", 3, 10},
    {"Clip", "min", 1, 11},
    {"Clip", "max", 2, 11},
    {"Squeeze", "axes", 1, 13},
    {"Unsqueeze", "axes", 1, 13},
    {"ReduceSum", "axes", 1, 13},
    {"Split", "split", 1, 13},
    {"Pad", "pads", 1, 11},
    {"Pad", "value", 2, 11},
    {"Dropout", "ratio", 1, 12},
});

const AttributeProto* attribute(const NodeProto& node, std::string_view name) {
  const auto at = std::ranges::find(node.attributes, name, &AttributeProto::name);
  return at == node.attributes.end() ? nullptr : &*at;
}

bool is_moved(std::string_view op) {
  return std::ranges::find(moved_attributes, op, &Moved::op) != moved_attributes.end();
}

// Until 12 a softmax is over all dimensions from its axis on, since then over one.
bool is_over_one_dimension(const NodeProto& node,
                           const std::unordered_map<std::string_view, std::size_t>& ranks) {
  const AttributeProto* axis = attribute(node, "axis");
  const std::int64_t first = axis ? axis->i : 1;
  const auto rank = ranks.find(node.inputs.at(0));
  return first == -1 ||
         (rank != ranks.end() && first == static_cast<std::int64_t>(rank->second) - 1);
}

void move_attribute(EditedModel& edited, NodeProto& node, const Moved& m) {
  const auto at = std::ranges::find(node.attributes, m.attribute, &AttributeProto::name);
  if (at == node.attributes.end()) return;
  const std::string stem = cat(node.outputs[0], "_", m.attribute);
  if (node.inputs.size() <= m.input) node.inputs.resize(m.input + 1);
  const auto count = static_cast<std::int64_t>(at->ints.size());
  node.inputs[m.input] =
      edited.add_constant(at->kind == onnx::AttributeKind::integers
                              ? Tensor::from_values<std::int64_t>(DType::i64, {count}, at->ints)
                              : Tensor::scalar<float>(DType::f32, at->f),
                          stem);
  node.attributes.erase(at);
}

}  // namespace

bool raise_opset(EditedModel& edited, const Model& model) {
  const std::int64_t from = edited.opset("");
  if (from < 7 || from >= per_channel_opset) return false;
  std::unordered_map<std::string_view, std::size_t> ranks;
  const Graph& graph = model.graph();
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
    const Value& v = graph.value(ValueId{i});
    if (v.type.dims && !v.name.empty()) ranks.emplace(v.name, v.type.dims->size());
  }
  const auto& nodes = edited.graph().nodes;
  const bool all_mean_the_same = std::ranges::all_of(nodes, [&](const NodeProto& n) {
    const bool is_softmax = n.op_type == "Softmax" || n.op_type == "LogSoftmax";
    const bool is_settled = std::ranges::any_of(
        settled_operators, [&](const Settled& s) { return s.op == n.op_type && from >= s.since; });
    return !n.domain.empty() || is_settled || is_moved(n.op_type) ||
           (is_softmax && is_over_one_dimension(n, ranks)) ||
           std::ranges::count(unchanged_operators, n.op_type) > 0;
  });
  if (!all_mean_the_same) return false;
  for (NodeProto& node : edited.graph().nodes)
    for (const Moved& m : moved_attributes)
      if (node.domain.empty() && m.op == node.op_type && from < m.since)
        move_attribute(edited, node, m);
  edited.set_opset(per_channel_opset);
  return true;
}

}  // namespace quern::tools
