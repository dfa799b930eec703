// SPDX-License-Identifier: Apache-2.0
// How each value of a rewritten graph is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontends/onnx-parser/proto.h"
#include "tools/optimize/graph_writer.h"
#include "tools/optimize/node_form.h"

namespace quern::tools {

// The index of a node of the message; none: not made by one.
using MessageNode = std::uint32_t;
inline constexpr MessageNode no_message_node = UINT32_MAX;

// The names of the message and what makes them.
class MessageIndex {
 public:
  // `order` is an execution order of the nodes.
  MessageIndex(const onnx::GraphProto& graph, std::span<const MessageNode> order,
               const ValueNames& values, std::size_t value_count);

  // no_value: the graph has no value of this name.
  ValueId value(std::string_view name) const;
  MessageNode maker(std::string_view name) const;
  // The first name of the value, and the node that makes it; "" and none for a value that the
  // message does not name.
  std::string_view name(ValueId v) const;
  MessageNode maker(ValueId v) const;

 private:
  const ValueNames& values_;
  std::unordered_map<std::string_view, MessageNode> makers_;
  std::vector<std::string_view> names_;    // by value
  std::vector<MessageNode> value_makers_;  // by value
};

struct Choice {
  enum class Kind : std::uint8_t {
    none,      // cannot be written
    given,     // an input
    constant,  // an initializer
    message,   // the node of the message as it was
    renamed,   // the node of the message, with other inputs
    form,      // the node of the graph
  };

  Kind kind = Kind::none;
  MessageNode node = no_message_node;                    // that makes the value
  std::vector<std::pair<std::size_t, ValueId>> renamed;  // inputs of it
  NodeId graph_node = no_node;  // after the rewrites; none: its form is that of the node before
  std::optional<OnnxForm> form;
};

// By value of the graph after its rewrites.
std::vector<Choice> choose(const RewrittenGraph& graph, const onnx::GraphProto& message,
                           const MessageIndex& index, std::int64_t opset,
                           const GraphWriting& options);

}  // namespace quern::tools
