// SPDX-License-Identifier: Apache-2.0
#include "tools/quantize/rewrite.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"

namespace quern::tools {
namespace {

using onnx::NodeProto;

constexpr std::string_view microsoft = "com.microsoft";

const float* floats(const Tensor& t) {
  return reinterpret_cast<const float*>(t.data());
}

Tensor vector_of(const std::vector<float>& v) {
  return Tensor::from_values<float>(DType::f32, {static_cast<std::int64_t>(v.size())}, v);
}

// The elements of a channel in a tensor of any rank: `count` runs of `length`, `step` apart.
struct Channel {
  std::int64_t first, count, length, step;
};
Channel channel(const Shape& shape, std::size_t axis, std::int64_t c) {
  const std::int64_t length = shape.elements(axis + 1);
  return {c * length, shape.elements(0, axis), length, shape[axis] * length};
}
template <class F>
void for_each_element(const Channel& c, const F& f) {
  for (std::int64_t run = 0; run < c.count; ++run)
    for (std::int64_t i = 0; i < c.length; ++i) f(c.first + run * c.step + i);
}

struct QuantizedWeights {
  Tensor numbers;             // i8
  std::vector<float> scales;  // by channel, or one
};

// Symmetric, in -127 to 127. `least` has the least scale of each channel; empty: any.
Result<QuantizedWeights> quantized(const Tensor& weights, std::optional<std::size_t> axis,
                                   const std::vector<float>& least) {
  const Shape& shape = weights.shape();
  QUERN_ASSIGN(Tensor numbers, Tensor::zeros({DType::i8, shape}));
  auto* to = reinterpret_cast<std::int8_t*>(numbers.mutable_data());
  const float* from = floats(weights);
  const std::int64_t channels = axis ? shape[*axis] : 1;
  std::vector<float> scales;
  for (std::int64_t c = 0; c < channels; ++c) {
    const Channel part =
        axis ? channel(shape, *axis, c) : Channel{0, 1, shape.elements(), shape.elements()};
    float largest = 0;
    for_each_element(part, [&](std::int64_t i) { largest = std::max(largest, std::abs(from[i])); });
    float scale = largest > 0 && std::isfinite(largest) ? largest / 127 : 1.0F;
    if (!least.empty()) scale = std::max(scale, least[static_cast<std::size_t>(c)]);
    for_each_element(part, [&](std::int64_t i) {
      to[i] =
          static_cast<std::int8_t>(std::clamp(std::nearbyint(from[i] / scale), -127.0F, 127.0F));
    });
    scales.push_back(scale);
  }
  return QuantizedWeights{std::move(numbers), std::move(scales)};
}

struct ScaleAndZero {
  float scale;
  std::uint8_t zero;
};
ScaleAndZero asymmetric(const Interval& range) {
  const float width = range.high - range.low;
  if (!(width > 0) || !std::isfinite(width)) return {1.0F, 0};
  const float scale = width / 255;
  return {scale,
          static_cast<std::uint8_t>(std::clamp(std::nearbyint(-range.low / scale), 0.0F, 255.0F))};
}

class QdqWriter {
 public:
  explicit QdqWriter(EditedModel& model)
      : model_(model), domain_(model.opset("") >= 13 ? "" : microsoft) {
    if (!domain_.empty()) model_.import_domain(domain_, 1);
  }

  // The nodes that stand in front of the target, whose operands become theirs.
  Result<std::vector<NodeProto>> quantize(const ProductNode& target, const Interval& range) {
    std::vector<NodeProto> added;
    const ScaleAndZero of_input = asymmetric(range);
    const std::string_view input = quantized_input(target.input, of_input, added);
    const Tensor& weights = *model_.constant(target.weights);
    QUERN_ASSIGN(QuantizedWeights q,
                 quantized(weights, target.channel_axis, least_scales(target, of_input.scale)));
    const std::string stem(target.weights);
    const std::vector<float> scales = q.scales;
    const std::string_view dequantized =
        dequantized_constant(stem, std::move(q.numbers), scales, target.channel_axis, added);
    std::vector<std::string_view> operands = {input, dequantized};
    if (!target.bias.empty()) {
      QUERN_ASSIGN(operands.emplace_back(), quantized_bias(target, of_input.scale, scales, added));
    }
    NodeProto& node = model_.graph().nodes[target.node];
    std::ranges::copy(operands, node.inputs.begin());
    return added;
  }

 private:
  NodeProto node(std::string_view type, std::vector<std::string_view> inputs,
                 const std::string& output) {
    NodeProto n;
    n.inputs = std::move(inputs);
    n.outputs = {model_.fresh_name(output)};
    n.name = model_.fresh_name(cat(output, "_node"));
    n.op_type = type;
    n.domain = domain_;
    return n;
  }

  // One pair for all targets that read the value.
  std::string_view quantized_input(std::string_view name, const ScaleAndZero& s,
                                   std::vector<NodeProto>& added) {
    if (const auto known = inputs_.find(name); known != inputs_.end()) return known->second;
    const std::string stem(name);
    const std::string_view scale =
        model_.add_constant(Tensor::scalar<float>(DType::f32, s.scale), stem + "_scale");
    const std::string_view zero =
        model_.add_constant(Tensor::scalar<std::uint8_t>(DType::u8, s.zero), stem + "_zero_point");
    added.push_back(node("QuantizeLinear", {name, scale, zero}, stem + "_quantized"));
    added.push_back(
        node("DequantizeLinear", {added.back().outputs[0], scale, zero}, stem + "_dequantized"));
    return inputs_[name] = added.back().outputs[0];
  }

  std::string_view dequantized_constant(const std::string& stem, Tensor numbers,
                                        const std::vector<float>& scales,
                                        std::optional<std::size_t> axis,
                                        std::vector<NodeProto>& added) {
    const std::string_view constant = model_.add_constant(std::move(numbers), stem + "_quantized");
    Tensor of_all = axis ? vector_of(scales) : Tensor::scalar<float>(DType::f32, scales[0]);
    const std::string_view scale = model_.add_constant(std::move(of_all), stem + "_scale");
    added.push_back(node("DequantizeLinear", {constant, scale}, stem + "_dequantized"));
    // com.microsoft has no default for it, and wants the zero point beside scales for each channel.
    if (!domain_.empty()) added.back().inputs.push_back(zero_points(stem, constant, axis));
    if (axis)
      added.back().attributes.push_back(
          onnx::integer_attribute("axis", static_cast<std::int64_t>(*axis)));
    return added.back().outputs[0];
  }

  std::string_view zero_points(const std::string& stem, std::string_view constant,
                               std::optional<std::size_t> axis) {
    const Tensor& t = *model_.constant(constant);
    const Shape shape = axis ? Shape{t.shape()[*axis]} : Shape{};
    auto zeros = Tensor::zeros({t.dtype(), shape});
    return model_.add_constant(zeros ? *std::move(zeros) : Tensor(), stem + "_zero_point");
  }

  // The bias, if it has one number for each of several channels.
  const Tensor* bias_of(const ProductNode& target) const {
    const Tensor* bias = target.bias.empty() ? nullptr : model_.constant(target.bias);
    const Shape& weights = model_.constant(target.weights)->shape();
    const bool fits = bias && target.channel_axis && bias->dtype() == DType::f32 &&
                      bias->shape() == Shape{weights[*target.channel_axis]} && bias->shape()[0] > 1;
    return fits ? bias : nullptr;
  }

  // Channels with hardly any weights have a bias that would pass i32 in their scale.
  std::vector<float> least_scales(const ProductNode& target, float input_scale) const {
    constexpr float most = 1 << 30;
    std::vector<float> least;
    if (const Tensor* bias = bias_of(target))
      for (const float b : bias->span<float>()) least.push_back(std::abs(b) / input_scale / most);
    return least;
  }

  // In the scale of the products; stays f32 where it is none of one number for each channel.
  Result<std::string_view> quantized_bias(const ProductNode& target, float input_scale,
                                          const std::vector<float>& scales,
                                          std::vector<NodeProto>& added) {
    const Tensor* bias = bias_of(target);
    if (!bias) return target.bias;
    QUERN_ASSIGN(Tensor numbers, Tensor::zeros({DType::i32, bias->shape()}));
    auto* to = reinterpret_cast<std::int32_t*>(numbers.mutable_data());
    std::vector<float> products;
    for (std::size_t c = 0; c < scales.size(); ++c) {
      products.push_back(input_scale * scales[c]);
      const double wanted = std::nearbyint(double{floats(*bias)[c]} / products[c]);
      if (!(std::abs(wanted) < 2147483648.0)) return target.bias;
      to[c] = static_cast<std::int32_t>(wanted);
    }
    return dequantized_constant(std::string(target.bias), std::move(numbers), products, 0, added);
  }

  EditedModel& model_;
  std::string_view domain_;
  std::unordered_map<std::string_view, std::string_view> inputs_;
};

// ---- weights alone

// Row n has the weights of column n of the result: [N, blocks, bytes of a block].
struct PackedWeights {
  Tensor numbers;  // u8
  Tensor scales;   // f32 [N * blocks]
};

struct BlockForm {
  int bits;
  std::int64_t size;  // weights in a block
};

Result<PackedWeights> packed(const Tensor& weights, std::size_t column_axis, BlockForm form) {
  const std::int64_t columns = weights.shape()[column_axis];
  const std::int64_t depth = weights.shape()[1 - column_axis];
  const std::int64_t blocks = ceil_div(depth, form.size);
  const std::int64_t block_bytes = form.size * form.bits / 8;
  const std::int64_t along =
      column_axis == 1 ? columns : 1;  // from one weight of a row to the next
  const std::int64_t across = column_axis == 1 ? 1 : depth;
  const float middle = form.bits == 4 ? 8 : 128;
  QUERN_ASSIGN(Tensor numbers, Tensor::zeros({DType::u8, {columns, blocks, block_bytes}}));
  QUERN_ASSIGN(Tensor scales, Tensor::zeros({DType::f32, {columns * blocks}}));
  auto* to = reinterpret_cast<std::uint8_t*>(numbers.mutable_data());
  auto* scale_of = reinterpret_cast<float*>(scales.mutable_data());
  for (std::int64_t at = 0; at < columns * blocks; ++at, to += block_bytes) {
    const std::int64_t first = at % blocks * form.size;
    const std::int64_t count = std::min(form.size, depth - first);
    const float* from = floats(weights) + at / blocks * across + first * along;
    float extreme = 0;  // of the largest magnitude; it becomes the lowest number
    for (std::int64_t i = 0; i < count; ++i)
      if (std::abs(from[i * along]) > std::abs(extreme)) extreme = from[i * along];
    const float scale = extreme != 0 && std::isfinite(extreme) ? extreme / -middle : 1.0F;
    scale_of[at] = scale;
    for (std::int64_t i = 0; i < form.size; ++i) {
      const float v = i < count ? std::nearbyint(from[i * along] / scale) + middle : middle;
      const auto number = static_cast<std::uint8_t>(std::clamp(v, 0.0F, 2 * middle - 1));
      to[i * form.bits / 8] |= static_cast<std::uint8_t>(number << (i * form.bits % 8));
    }
  }
  return PackedWeights{std::move(numbers), std::move(scales)};
}

}  // namespace

Status quantize_products(EditedModel& model, std::span<const ProductNode> targets,
                         const Ranges& ranges) {
  QdqWriter writer(model);
  std::unordered_map<std::size_t, std::vector<NodeProto>> in_front;  // by node
  for (const ProductNode& target : targets) {
    const auto range = ranges.find(target.input);
    if (range == ranges.end())
      return {Code::internal, cat("no range of '", target.input, "' is known")};
    QUERN_ASSIGN(in_front[target.node], writer.quantize(target, range->second));
  }
  std::vector<NodeProto> nodes;
  for (std::size_t i = 0; i < model.graph().nodes.size(); ++i) {
    for (NodeProto& added : in_front[i]) nodes.push_back(std::move(added));
    nodes.push_back(std::move(model.graph().nodes[i]));
  }
  model.graph().nodes = std::move(nodes);
  model.drop_unread_constants();
  return {};
}

Result<std::size_t> quantize_weights(EditedModel& model, std::span<const ProductNode> targets,
                                     int bits, std::int64_t block) {
  model.import_domain(microsoft, 1);
  std::unordered_map<std::size_t, NodeProto> behind;  // the sum with the bias of a Gemm
  std::size_t count = 0;
  for (const ProductNode& target : targets) {
    const Tensor& weights = *model.constant(target.weights);
    if (weights.shape().rank() != 2 || !target.channel_axis) continue;
    QUERN_ASSIGN(PackedWeights w, packed(weights, *target.channel_axis, {bits, block}));
    const std::string stem(target.weights);
    NodeProto& node = model.graph().nodes[target.node];
    node.op_type = "MatMulNBits";
    node.domain = microsoft;
    node.inputs = {target.input, model.add_constant(std::move(w.numbers), stem + "_packed"),
                   model.add_constant(std::move(w.scales), stem + "_scales")};
    node.attributes = {onnx::integer_attribute("K", weights.shape()[1 - *target.channel_axis]),
                       onnx::integer_attribute("N", weights.shape()[*target.channel_axis]),
                       onnx::integer_attribute("bits", bits),
                       onnx::integer_attribute("block_size", block)};
    ++count;
    if (target.bias.empty()) continue;
    NodeProto sum;
    sum.op_type = "Add";
    sum.outputs = node.outputs;
    node.outputs = {model.fresh_name(cat(sum.outputs[0], "_without_bias"))};
    sum.inputs = {node.outputs[0], target.bias};
    sum.name = model.fresh_name(cat(sum.outputs[0], "_bias_node"));
    behind.emplace(target.node, std::move(sum));
  }
  std::vector<NodeProto> nodes;
  for (std::size_t i = 0; i < model.graph().nodes.size(); ++i) {
    nodes.push_back(std::move(model.graph().nodes[i]));
    if (const auto sum = behind.find(i); sum != behind.end()) nodes.push_back(sum->second);
  }
  model.graph().nodes = std::move(nodes);
  model.drop_unread_constants();
  return count;
}

}  // namespace quern::tools
