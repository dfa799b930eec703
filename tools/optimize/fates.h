// SPDX-License-Identifier: Apache-2.0
// What became of each node of a message that was rewritten.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx-parser/proto.h"
#include "graph/graph.h"

namespace quern::tools {

struct Choice;
class MessageIndex;

struct NodeFate {
  enum class Kind : std::uint8_t {
    kept,       // stands there as it was; its inputs may have other names
    rewritten,  // another node stands in its place, of `into_type`
    fused,      // became part of `into`, a node of the message that was rewritten
    folded,     // its results are constants, or nothing but constants needs them
    replaced,   // its readers read `into`, a value
    removed,    // nothing reads its results
  };

  std::string name;  // its own, or that of its first output
  std::string type;  // of its operator
  Kind kind = Kind::removed;
  std::string into;
  std::string into_type;
};
std::string_view fate_name(NodeFate::Kind kind);

// By node of the message.
using NodeFates = std::vector<NodeFate>;

// What a writer knows when it is done.
struct Written {
  const onnx::GraphProto& message;       // as it was
  std::span<const std::uint32_t> order;  // of execution, of its nodes
  const MessageIndex& index;
  std::span<const Choice> choices;     // by value
  const std::vector<bool>& is_kept;    // by node of the message
  const std::vector<bool>& is_needed;  // by value
  std::span<const ValueId> outputs;
  std::function<std::string_view(ValueId)> name;  // in the new message
};
NodeFates node_fates(const Written& written);

}  // namespace quern::tools
