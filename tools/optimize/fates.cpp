// SPDX-License-Identifier: Apache-2.0
#include "tools/optimize/fates.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/import.h"
#include "tools/optimize/choices.h"
#include "tools/quantize/edited_model.h"

namespace quern::tools {
namespace {

class FateFinder {
 public:
  explicit FateFinder(const Written& w)
      : w_(w),
        fates_(w.message.nodes.size()),
        readers_(w.message.nodes.size()),
        renamed_(w.message.nodes.size()) {
    for (MessageNode i = 0; i < fates_.size(); ++i) {
      const onnx::NodeProto& node = w.message.nodes[i];
      fates_[i].name = node_name(node);
      fates_[i].type = operator_name(node);
      for (const std::string_view name : onnx::names_read(node))
        if (const MessageNode maker = w.index.maker(name); maker != no_message_node)
          readers_[maker].push_back(i);
    }
    find_standing();
  }

  // Readers come first.
  NodeFates run() {
    for (std::size_t k = w_.order.size(); k-- > 0;)
      if (const MessageNode i = w_.order[k]; !is_decided(i)) decide(i);
    return std::move(fates_);
  }

 private:
  using Kind = NodeFate::Kind;

  bool is_decided(MessageNode i) const { return fates_[i].kind != Kind::removed; }

  // The nodes that the new message has, and those whose results are constants.
  void find_standing() {
    for (MessageNode i = 0; i < fates_.size(); ++i)
      if (w_.is_kept[i]) fates_[i].kind = Kind::kept;
    for (std::uint32_t v = 0; v < w_.choices.size(); ++v) {
      const Choice& c = w_.choices[v];
      const MessageNode maker = w_.index.maker(ValueId{v});
      if (c.kind == Choice::Kind::constant && maker != no_message_node && !is_decided(maker))
        fates_[maker].kind = Kind::folded;
      if (!w_.is_needed[v] || c.node == no_message_node || w_.is_kept[c.node]) continue;
      if (c.kind == Choice::Kind::renamed) {
        fates_[c.node].kind = Kind::kept;
        renamed_[c.node] = &c;
      } else if (c.kind == Choice::Kind::form) {
        NodeFate& fate = fates_[c.node];
        fate.kind = Kind::rewritten;
        fate.into_type = c.form->domain.empty() ? std::string(c.form->type)
                                                : cat(c.form->domain, ".", c.form->type);
      }
    }
  }

  void decide(MessageNode i) {
    NodeFate& fate = fates_[i];
    for (const std::string_view name : w_.message.nodes[i].outputs)
      if (const auto output = output_named(name)) return replace_by(w_.outputs[*output], fate);
    for (const MessageNode reader : readers_[i]) {
      const NodeFate& other = fates_[reader];
      NodeFate via{.kind = other.kind, .into = other.into, .into_type = other.into_type};
      if (other.kind == Kind::kept) replace_by(value_in_place_of(i, reader), via);
      if (other.kind == Kind::rewritten) {
        via.kind = Kind::fused;
        via.into = other.name;
      }
      // The kinds stand in the order of what they tell.
      if (via.kind >= fate.kind) continue;
      fate.kind = via.kind;
      fate.into = std::move(via.into);
      fate.into_type = std::move(via.into_type);
    }
  }

  void replace_by(ValueId v, NodeFate& fate) const {
    fate.kind = Kind::replaced;
    if (v != no_value) fate.into = w_.name(v);
    fate.into_type.clear();
  }

  std::optional<std::size_t> output_named(std::string_view name) const {
    const auto at = std::ranges::find(w_.message.outputs, name, &onnx::ValueInfo::name);
    if (name.empty() || at == w_.message.outputs.end()) return std::nullopt;
    return static_cast<std::size_t>(at - w_.message.outputs.begin());
  }

  // What `reader`, which stays, reads where it read a result of node `i`; no_value: not known.
  ValueId value_in_place_of(MessageNode i, MessageNode reader) const {
    const auto& inputs = w_.message.nodes[reader].inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k].empty() || w_.index.maker(inputs[k]) != i) continue;
      if (renamed_[reader])
        for (const auto& [input, value] : renamed_[reader]->renamed)
          if (input == k) return value;
      return w_.index.value(inputs[k]);
    }
    return no_value;
  }

  const Written& w_;
  NodeFates fates_;
  std::vector<std::vector<MessageNode>> readers_;  // by node
  std::vector<const Choice*> renamed_;             // by node; null: no such choice
};

}  // namespace

std::string_view fate_name(NodeFate::Kind kind) {
  constexpr std::string_view names[] = {"kept",   "rewritten", "fused",
                                        "folded", "replaced",  "removed"};
  return names[static_cast<std::size_t>(kind)];
}

NodeFates node_fates(const Written& written) {
  return FateFinder(written).run();
}

}  // namespace quern::tools
