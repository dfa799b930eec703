// SPDX-License-Identifier: Apache-2.0
#include "tools/optimize/choices.h"

#include <algorithm>
#include <cstring>

namespace quern::tools {
namespace {

// Bytes of two constants, which rewrites merge.
bool are_equal(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.dtype() != DType::string &&
         (a.data() == b.data() || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

class Chooser {
 public:
  Chooser(const RewrittenGraph& graph, const onnx::GraphProto& message, const MessageIndex& index,
          std::int64_t opset, const GraphWriting& options)
      : before_(graph.before),
        after_(graph.after),
        message_(message),
        index_(index),
        opset_(opset),
        options_(options),
        choices_(graph.after.value_count()) {
    for (const NodeId id : before_.order()) {
      if (quern::index(id) >= was_alive_.size()) was_alive_.resize(quern::index(id) + 1);
      was_alive_[quern::index(id)] = true;
    }
  }

  std::vector<Choice> run() {
    for (const ValueId v : after_.inputs()) at(v).kind = Choice::Kind::given;
    for (std::uint32_t i = 0; i < after_.value_count(); ++i) {
      const ValueId v{i};
      if (after_.value(v).is_constant() || was_constant(v)) at(v) = of_constant(v);
    }
    for (const NodeId id : after_.order())
      for (const ValueId v : after_.node(id).outputs)
        if (v != no_value) at(v) = of_node(id, v);
    if (options_.opset_change) choose_from_before();
    return std::move(choices_);
  }

 private:
  Choice& at(ValueId v) { return choices_[quern::index(v)]; }

  // A rewrite may have made of several nodes one that the opset lacks. Those of the original stay
  // then, and where they cannot they have the forms of the graph before.
  void choose_from_before() {
    for (const NodeId id : before_.order())
      for (const ValueId v : before_.node(id).outputs) {
        if (v == no_value || at(v).kind != Choice::Kind::none) continue;
        const MessageNode maker = index_.maker(v);
        if (maker != no_message_node && stays(maker)) {
          at(v) = {.kind = Choice::Kind::message, .node = maker};
        } else if (auto form = onnx_form(before_, before_.node(id), opset_);
                   form && can_write(*form)) {
          at(v) = {.kind = Choice::Kind::form, .node = maker, .form = std::move(form)};
        }
      }
  }

  bool was_constant(ValueId v) const {
    return quern::index(v) < before_.value_count() && before_.value(v).is_constant();
  }

  // Quantised numbers stay, since other engines look for the nodes around them.
  Choice of_constant(ValueId v) const {
    const MessageNode node = index_.maker(v);
    Choice constant{.kind = Choice::Kind::constant, .node = node};
    if (was_constant(v) || node == no_message_node) return constant;
    const std::string_view type = message_.nodes[node].op_type;
    const bool is_quantised = type == "DequantizeLinear" || type == "QuantizeLinear";
    const std::size_t bytes = after_.value(v).constant.bytes();
    if (!is_quantised && (bytes <= options_.most_bytes || bytes <= bytes_read(node)))
      return constant;
    return {.kind = Choice::Kind::message, .node = node};
  }

  // Of the constants that the node reads.
  std::size_t bytes_read(MessageNode node) const {
    std::size_t bytes = 0;
    for (const std::string_view name : message_.nodes[node].inputs) {
      const ValueId v = index_.value(name);
      if (v != no_value && was_constant(v)) bytes += before_.value(v).constant.bytes();
    }
    return bytes;
  }

  Choice of_node(NodeId id, ValueId v) {
    const Node& node = after_.node(id);
    const MessageNode maker = index_.maker(v);
    const bool can_stay = maker != no_message_node && stays(maker);
    Choice original{.kind = can_stay ? Choice::Kind::message : Choice::Kind::none, .node = maker};
    const bool is_old = quern::index(id) < was_alive_.size() && was_alive_[quern::index(id)];
    const Node* old = is_old ? &before_.node(id) : nullptr;
    if (can_stay && old) {
      if (auto renamed = renamed_inputs(*old, node, maker))
        return {.kind = Choice::Kind::renamed, .node = maker, .renamed = *std::move(renamed)};
      if (is_unchanged(*old, node)) return original;
    }
    if (auto form = onnx_form(after_, node, opset_); form && can_write(*form))
      return {.kind = Choice::Kind::form, .node = maker, .graph_node = id, .form = std::move(form)};
    return original;
  }

  bool stays(MessageNode node) const {
    return !options_.opset_change || options_.opset_change->reasons[node].empty();
  }

  bool can_write(const OnnxForm& form) {
    return std::ranges::all_of(form.inputs, [&](const Operand& o) {
      return o.value == no_value || at(o.value).kind != Choice::Kind::none;
    });
  }

  // Constants may have been merged with others that are equal.
  bool is_same_input(ValueId a, ValueId b) const {
    if (a == b) return true;
    if (a == no_value || b == no_value || !was_constant(a)) return false;
    return after_.value(b).is_constant() &&
           are_equal(before_.value(a).constant, after_.value(b).constant);
  }

  bool is_unchanged(const Node& old, const Node& node) const {
    return old.op == node.op && old.inputs.size() == node.inputs.size() &&
           std::ranges::equal(old.inputs, node.inputs,
                              [&](ValueId a, ValueId b) { return is_same_input(a, b); });
  }

  // The inputs of the message's node that are other values now, if all else is as it was: nothing
  // if the node of the message is not this one alone.
  std::optional<std::vector<std::pair<std::size_t, ValueId>>> renamed_inputs(const Node& old,
                                                                             const Node& node,
                                                                             MessageNode maker) {
    if (!(old.op == node.op) || old.inputs.size() != node.inputs.size()) return std::nullopt;
    if (!old.bodies.empty() || !has_outputs(old, node, maker)) return std::nullopt;
    const auto& names = message_.nodes[maker].inputs;
    std::vector<ValueId> read;
    read.reserve(names.size());
    for (const std::string_view name : names)
      read.push_back(name.empty() ? no_value : index_.value(name));
    std::vector<std::pair<std::size_t, ValueId>> renamed;
    for (std::size_t i = 0; i < old.inputs.size(); ++i) {
      const ValueId was = old.inputs[i];
      if (was == no_value) {
        if (node.inputs[i] != no_value) return std::nullopt;
        continue;
      }
      const auto count = std::ranges::count(read, was);
      if (count == 0 && !was_constant(was)) return std::nullopt;  // made by the same node
      if (is_same_input(was, node.inputs[i])) continue;
      const auto uses = std::ranges::count(old.inputs, was);
      if (count == 0 || node.inputs[i] == no_value) return std::nullopt;
      if (at(node.inputs[i]).kind == Choice::Kind::none) return std::nullopt;
      if (count == 1 && uses == 1) {
        renamed.emplace_back(std::ranges::find(read, was) - read.begin(), node.inputs[i]);
      } else if (read == old.inputs) {
        renamed.emplace_back(i, node.inputs[i]);
      } else {
        return std::nullopt;
      }
    }
    return renamed;
  }

  bool has_outputs(const Node& old, const Node& node, MessageNode maker) const {
    const auto& names = message_.nodes[maker].outputs;
    if (old.outputs != node.outputs || names.size() > old.outputs.size()) return false;
    for (std::size_t i = 0; i < old.outputs.size(); ++i) {
      const bool is_named = i < names.size() && !names[i].empty();
      if (!is_named) continue;
      if (index_.value(names[i]) != old.outputs[i] || index_.name(old.outputs[i]) != names[i])
        return false;
    }
    return true;
  }

  const Graph& before_;
  const Graph& after_;
  const onnx::GraphProto& message_;
  const MessageIndex& index_;
  std::int64_t opset_;
  const GraphWriting& options_;
  std::vector<bool> was_alive_;  // by node
  std::vector<Choice> choices_;
};

}  // namespace

MessageIndex::MessageIndex(const onnx::GraphProto& graph, std::span<const MessageNode> order,
                           const ValueNames& values, std::size_t value_count)
    : values_(values), names_(value_count), value_makers_(value_count, no_message_node) {
  const auto add = [&](std::string_view name, MessageNode maker) {
    if (name.empty() || !makers_.emplace(name, maker).second) return;
    const ValueId v = value(name);
    if (v == no_value || !names_[quern::index(v)].empty()) return;
    names_[quern::index(v)] = name;
    value_makers_[quern::index(v)] = maker;
  };
  for (const onnx::TensorProto& t : graph.initializers) add(t.name, no_message_node);
  for (const onnx::SparseTensorProto& t : graph.sparse_initializers)
    add(t.values.name, no_message_node);
  for (const onnx::ValueInfo& v : graph.inputs) add(v.name, no_message_node);
  for (const MessageNode i : order)
    for (const std::string_view name : graph.nodes[i].outputs) add(name, i);
}

ValueId MessageIndex::value(std::string_view name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? no_value : at->second;
}
MessageNode MessageIndex::maker(std::string_view name) const {
  const auto at = makers_.find(name);
  return at == makers_.end() ? no_message_node : at->second;
}
std::string_view MessageIndex::name(ValueId v) const {
  return quern::index(v) < names_.size() ? names_[quern::index(v)] : std::string_view();
}
MessageNode MessageIndex::maker(ValueId v) const {
  return quern::index(v) < value_makers_.size() ? value_makers_[quern::index(v)] : no_message_node;
}

std::vector<Choice> choose(const RewrittenGraph& graph, const onnx::GraphProto& message,
                           const MessageIndex& index, std::int64_t opset,
                           const GraphWriting& options) {
  return Chooser(graph, message, index, opset, options).run();
}

}  // namespace quern::tools
