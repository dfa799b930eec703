// SPDX-License-Identifier: Apache-2.0
// A node of the graph as a node of ONNX: the inverse of an import, for the operators that the
// passes of `quern optimize` make.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <quern/tensor.h>

#include "frontends/onnx-parser/proto.h"
#include "frontends/onnx-parser/write.h"
#include "graph/graph.h"

namespace quern::tools {

// An input of the ONNX node: a value of the graph, a new constant, or left out.
struct Operand {
  ValueId value = no_value;
  Tensor constant;  // valid() for a new one

  bool is_left_out() const { return value == no_value && !constant.valid(); }
};

// Texts are literals.
struct OnnxForm {
  std::string_view type;
  std::string_view domain;  // "" or com.microsoft
  std::vector<Operand> inputs;
  std::vector<onnx::AttributeProto> attributes;
};

// The form that the node has in this opset of ai.onnx, with one output; nothing if there is none
// that ONNX Runtime runs on every CPU. Nodes with bodies or post-ops have none.
std::optional<OnnxForm> onnx_form(const Graph& graph, const Node& node, std::int64_t opset);

}  // namespace quern::tools
