// SPDX-License-Identifier: Apache-2.0
// A model's nodes and constants with what tells them apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "frontends/onnx-parser/proto.h"
#include "tools/quantize/edited_model.h"

namespace quern::tools {

// Equal for equal attributes; of graphs and tensors, for equal bytes of the message.
std::string attribute_bytes(const onnx::AttributeProto& attribute);
// "2", "[1, 1]", "'SAME_UPPER'", "f32[3,4]", "graph of 5 nodes"
std::string attribute_text(const onnx::AttributeProto& attribute);
std::string type_text(const onnx::TypeProto& type);

struct NamedConstant {
  std::string_view name;
  const Tensor* tensor = nullptr;
  std::uint64_t hash = 0;  // of type and elements
};

struct DescribedNode {
  const onnx::NodeProto* node = nullptr;
  std::string_view name;  // its own, or that of its first output
  std::uint64_t hash =
      0;  // of all that its results depend on, but no names besides those of inputs
};

// Views the model.
struct DescribedModel {
  std::vector<NamedConstant> constants;
  std::vector<DescribedNode> nodes;                                        // without Constant nodes
  std::unordered_map<std::string_view, std::size_t> constant_at, node_at;  // by name; the first

  static Result<DescribedModel> of(const EditedModel& model);
};

}  // namespace quern::tools
