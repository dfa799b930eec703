// SPDX-License-Identifier: Apache-2.0
#include "tools/optimize/graph_writer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/import.h"
#include "frontends/onnx-parser/tensor.h"
#include "tools/optimize/choices.h"

namespace quern::tools {
namespace {

using Kind = Choice::Kind;
using Names = std::unordered_set<std::string_view>;

class GraphWriter {
 public:
  GraphWriter(EditedModel& model, const RewrittenGraph& graph, const GraphWriting& options,
              std::span<const MessageNode> order)
      : model_(model),
        before_(graph.before),
        after_(graph.after),
        old_(model.graph()),
        index_(old_, order, graph.values, graph.after.value_count()),
        choices_(choose(graph, old_, index_,
                        options.opset_change ? options.opset_change->opset : model.opset(""),
                        options)),
        names_(graph.after.value_count()),
        is_needed_(graph.after.value_count()),
        is_kept_(old_.nodes.size()),
        options_(options),
        order_(order) {}

  Result<NodeFates> write() {
    need_outputs();
    QUERN_TRY(settle());
    QUERN_TRY(check_opset());
    name_outputs();
    add_nodes();
    add_constants();
    pass_outputs();
    const auto order = onnx::execution_order(nodes_);
    if (!order) return Status(Code::internal, std::string(order.error().message()));
    onnx::GraphProto& graph = model_.graph();
    std::vector<onnx::NodeProto> sorted;
    sorted.reserve(nodes_.size());
    for (const std::uint32_t i : *order) sorted.push_back(std::move(nodes_[i]));
    graph.nodes = std::move(sorted);
    graph.initializers = std::move(initializers_);
    std::erase_if(graph.sparse_initializers, [&](const onnx::SparseTensorProto& t) {
      return !sparse_.contains(t.values.name);
    });
    drop_inputs_of_constants();
    declare();
    if (options_.opset_change) model_.set_opset(options_.opset_change->opset);
    return node_fates({.message = old_,
                       .order = order_,
                       .index = index_,
                       .choices = choices_,
                       .is_kept = is_kept_,
                       .is_needed = is_needed_,
                       .outputs = after_.outputs(),
                       .name = [this](ValueId v) { return name(v); }});
  }

 private:
  // ---- what is needed

  void need(ValueId v) {
    if (is_needed_[index(v)]) return;
    is_needed_[index(v)] = true;
    values_.push_back(v);
  }

  void keep(MessageNode node) {
    if (node == no_message_node || is_kept_[node]) return;
    is_kept_[node] = true;
    kept_.push_back(node);
  }

  // What a node of the message reads under this name: a value as the graph makes it, if it does.
  void need_name(std::string_view name) {
    const ValueId v = index_.value(name);
    if (v != no_value && choices_[index(v)].kind != Kind::none) return need(v);
    keep(index_.maker(name));
  }

  // What a body reads, by this very name.
  void need_literally(std::string_view name) {
    literal_.insert(name);
    const ValueId v = index_.value(name);
    const bool is_own =
        v != no_value && choices_[index(v)].kind != Kind::none && index_.name(v) == name;
    if (is_own) return need(v);
    if (const MessageNode maker = index_.maker(name); maker != no_message_node) keep(maker);
  }

  // Behind the outputs of the message come keys of maps: the nodes that make maps have them.
  void need_outputs() {
    for (const MapParts& map : after_.output_maps()) {
      literal_.insert(old_.outputs[map.values].name);
      keep(index_.maker(old_.outputs[map.values].name));
    }
    for (std::size_t i = 0; i < old_.outputs.size(); ++i) {
      const ValueId v = after_.outputs()[i];
      const std::string_view name = old_.outputs[i].name;
      if (std::ranges::count(after_.output_maps(), i, &MapParts::values)) continue;
      const bool is_passed_on = index_.name(v) != name;
      if (choices_[index(v)].kind == Kind::none || (is_passed_on && !after_.type(v).is_tensor())) {
        need_literally(name);
      } else {
        need(v);
      }
    }
  }

  // Follows what is needed to the inputs. Errors: internal, a value that nothing makes.
  Status settle() {
    while (!values_.empty() || !kept_.empty()) {
      if (!kept_.empty()) {
        const MessageNode node = kept_.back();
        kept_.pop_back();
        need_reads(old_.nodes[node]);
        continue;
      }
      const ValueId v = values_.back();
      values_.pop_back();
      const Choice& c = choices_[index(v)];
      switch (c.kind) {
        case Kind::none:
          return {Code::internal, cat("nothing makes the value '", shown(name(v)), "'")};
        case Kind::given:
        case Kind::constant: break;
        case Kind::message: keep(c.node); break;
        case Kind::renamed: need_renamed(c); break;
        case Kind::form:
          for (const Operand& o : c.form->inputs)
            if (o.value != no_value) need(o.value);
          break;
      }
    }
    return {};
  }

  // Nodes that would stay as they were, but mean something else in the new opset.
  Status check_opset() const {
    for (MessageNode i = 0; options_.opset_change && i < is_kept_.size(); ++i) {
      const std::string& reason = options_.opset_change->reasons[i];
      if (!is_kept_[i] || reason.empty()) continue;
      const onnx::NodeProto& node = old_.nodes[i];
      return {Code::unsupported,
              cat("node '", shown(node_name(node)), "' (", shown(operator_name(node)),
                  ") has no form in opset ", options_.opset_change->opset, ": ", reason)};
    }
    return {};
  }

  void need_reads(const onnx::NodeProto& node) {
    for (const std::string_view name : node.inputs)
      if (!name.empty()) need_name(name);
    const auto has_body = [](const onnx::AttributeProto& a) { return !a.g.empty(); };
    if (std::ranges::none_of(node.attributes, has_body)) return;
    for (const std::string_view name : onnx::names_read(node))
      if (std::ranges::find(node.inputs, name) == node.inputs.end()) need_literally(name);
    // A body may read what the node reads, too.
    onnx::NodeProto bodies;
    bodies.attributes = node.attributes;
    for (const std::string_view name : onnx::names_read(bodies)) need_literally(name);
  }

  void need_renamed(const Choice& c) {
    const auto& inputs = old_.nodes[c.node].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto renamed = std::ranges::find(c.renamed, i, &std::pair<std::size_t, ValueId>::first);
      if (renamed != c.renamed.end()) {
        need(renamed->second);
      } else if (!inputs[i].empty()) {
        need_name(inputs[i]);
      }
    }
  }

  // ---- names

  std::string_view name(ValueId v) {
    std::string_view& own = names_[index(v)];
    if (own.empty()) own = index_.name(v);
    if (own.empty()) own = model_.fresh_name(stem(v));
    return own;
  }

  std::string stem(ValueId v) const {
    const NodeId producer = after_.value(v).producer;
    if (producer == no_node) return "constant";
    const std::string& node = after_.node(producer).name;
    return cat(node.empty() ? std::string(after_.def(producer).name) : node, "_value");
  }

  // The name that a node of the message reads.
  std::string_view read_name(std::string_view name_there) {
    const ValueId v = name_there.empty() ? no_value : index_.value(name_there);
    return v != no_value && is_needed_[index(v)] ? name(v) : name_there;
  }

  // A value that became an output of the model takes its name, where nothing else has to.
  void name_outputs() {
    Names taken;
    for (const onnx::ValueInfo& output : old_.outputs) taken.insert(output.name);
    for (std::size_t i = 0; i < old_.outputs.size(); ++i) {
      const ValueId v = after_.outputs()[i];
      const std::string_view wanted = old_.outputs[i].name;
      const Kind kind = choices_[index(v)].kind;
      const std::string_view own = index_.name(v);
      const ValueId was = index_.value(wanted);
      const bool is_made_otherwise =
          is_defined_by_message(wanted) || (was != no_value && was != v && is_needed_[index(was)]);
      if (own == wanted || !is_needed_[index(v)] || is_made_otherwise) continue;
      if (kind == Kind::given || kind == Kind::constant) continue;
      if (taken.contains(own) || literal_.contains(own) || !names_[index(v)].empty()) continue;
      names_[index(v)] = wanted;
    }
  }

  bool is_defined_by_message(std::string_view name) const {
    const MessageNode maker = index_.maker(name);
    return maker != no_message_node && is_kept_[maker];
  }

  // ---- nodes and constants

  void add_nodes() {
    std::vector<bool> is_added(old_.nodes.size());
    for (MessageNode i = 0; i < old_.nodes.size(); ++i)
      if (is_kept_[i]) add_message_node(i, nullptr);
    for (std::uint32_t i = 0; i < choices_.size(); ++i) {
      const Choice& c = choices_[i];
      if (!is_needed_[i] || (c.node != no_message_node && is_kept_[c.node])) continue;
      if (c.kind == Kind::renamed && !is_added[c.node]) {
        is_added[c.node] = true;
        add_message_node(c.node, &c);
      } else if (c.kind == Kind::form) {
        add_form(ValueId{i}, c);
      }
    }
    place_in_order();
  }

  void add_message_node(MessageNode i, const Choice* c) {
    onnx::NodeProto node = old_.nodes[i];
    for (std::size_t k = 0; k < node.inputs.size(); ++k) node.inputs[k] = read_name(node.inputs[k]);
    if (c)
      for (const auto& [input, value] : c->renamed) node.inputs[input] = name(value);
    for (std::string_view& output : node.outputs) {
      const ValueId v = output.empty() ? no_value : index_.value(output);
      if (v == no_value || index_.name(v) != output || !is_needed_[index(v)]) continue;
      output = is_made_apart(v, c) ? model_.fresh_name(cat(output, "_unread")) : name(v);
    }
    add(std::move(node), i);
  }

  // A constant by now, or computed by a node of its own, while other outputs of its node are read.
  bool is_made_apart(ValueId v, const Choice* renamed) const {
    const Kind kind = choices_[index(v)].kind;
    return kind == Kind::constant || (kind == Kind::form && renamed);
  }

  void add_form(ValueId v, const Choice& c) {
    onnx::NodeProto node;
    node.op_type = c.form->type;
    node.domain = c.form->domain;
    node.attributes = c.form->attributes;
    node.outputs = {name(v)};
    if (!node.domain.empty()) model_.import_domain(node.domain, 1);
    if (c.node != no_message_node) {
      node.name = old_.nodes[c.node].name;
    } else if (c.graph_node != no_node && !after_.node(c.graph_node).name.empty()) {
      node.name = model_.fresh_name(after_.node(c.graph_node).name);
    }
    for (const Operand& o : c.form->inputs) {
      if (o.value != no_value) {
        node.inputs.push_back(name(o.value));
      } else if (o.constant.valid()) {
        node.inputs.push_back(new_constant(o.constant, cat(node.outputs[0], "_constant")));
      } else {
        node.inputs.emplace_back();
      }
    }
    add(std::move(node), c.node);
  }

  void add(onnx::NodeProto node, MessageNode place) {
    nodes_.push_back(std::move(node));
    places_.push_back(place);
  }

  // As in the message; new ones in front, as far as what they read lets them.
  void place_in_order() {
    std::vector<std::size_t> at(nodes_.size());
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = i;
    const auto place = [&](std::size_t i) {
      return places_[i] == no_message_node ? std::int64_t{-1} : std::int64_t{places_[i]};
    };
    std::ranges::stable_sort(at, {}, place);
    std::vector<onnx::NodeProto> sorted;
    sorted.reserve(at.size());
    for (const std::size_t i : at) sorted.push_back(std::move(nodes_[i]));
    nodes_ = std::move(sorted);
  }

  std::string_view new_constant(const Tensor& tensor, const std::string& wanted) {
    const std::string_view name = model_.fresh_name(wanted);
    initializers_.push_back(model_.message_of(tensor, name));
    return name;
  }

  void add_constants() {
    std::unordered_map<std::string_view, const onnx::TensorProto*> old;
    for (const onnx::TensorProto& t : old_.initializers) old.emplace(t.name, &t);
    Names sparse;
    for (const onnx::SparseTensorProto& t : old_.sparse_initializers) sparse.insert(t.values.name);
    Names done;
    const auto add_old = [&](std::string_view name) {
      if (sparse.contains(name)) return sparse_.insert(name), true;
      const auto at = old.find(name);
      if (at == old.end()) return false;
      if (done.insert(name).second) initializers_.push_back(*at->second);
      return true;
    };
    for (std::uint32_t i = 0; i < choices_.size(); ++i) {
      if (!is_needed_[i] || choices_[i].kind != Kind::constant) continue;
      const std::string_view own = name(ValueId{i});
      if (!add_old(own)) initializers_.push_back(model_.message_of(constant(ValueId{i}), own));
    }
    for (const std::string_view name : literal_) add_old(name);
  }

  // The rewrites let go of those that nothing reads any more.
  const Tensor& constant(ValueId v) const {
    const Value& now = after_.value(v);
    return now.is_constant() ? now.constant : before_.value(v).constant;
  }

  // Outputs that are an input, a constant, or another output as well.
  void pass_outputs() {
    Names made;
    for (const onnx::NodeProto& node : nodes_)
      made.insert(node.outputs.begin(), node.outputs.end());
    for (const onnx::ValueInfo& input : old_.inputs) made.insert(input.name);
    for (const onnx::TensorProto& t : initializers_) made.insert(t.name);
    made.insert(sparse_.begin(), sparse_.end());
    for (std::size_t i = 0; i < old_.outputs.size(); ++i) {
      const std::string_view wanted = old_.outputs[i].name;
      if (!made.insert(wanted).second) continue;
      onnx::NodeProto node;
      node.op_type = "Identity";
      node.inputs = {name(after_.outputs()[i])};
      node.outputs = {wanted};
      node.name = model_.fresh_name(cat(wanted, "_node"));
      nodes_.push_back(std::move(node));
    }
  }

  // Before IR version 4 every initializer was an input, too.
  void drop_inputs_of_constants() {
    std::erase_if(model_.graph().inputs,
                  [&](const onnx::ValueInfo& v) { return !is_input(v.name); });
    auto& version = model_.message().ir_version;
    version = std::max<std::int64_t>(version, 4);
  }

  bool is_input(std::string_view name) const {
    const ValueId v = index_.value(name);
    return v != no_value && choices_[index(v)].kind == Kind::given;
  }

  // ---- types

  void declare() {
    onnx::GraphProto& graph = model_.graph();
    Names made;
    for (const onnx::NodeProto& node : graph.nodes)
      made.insert(node.outputs.begin(), node.outputs.end());
    for (const onnx::ValueInfo& output : graph.outputs) made.erase(output.name);
    std::erase_if(graph.value_info,
                  [&](const onnx::ValueInfo& v) { return !made.contains(v.name); });
    if (!options_.is_specialised) return;
    for (onnx::ValueInfo& v : graph.value_info) specialise(v, index_.value(v.name));
    for (std::size_t i = 0; i < graph.outputs.size(); ++i)
      specialise(graph.outputs[i], after_.outputs()[i]);
  }

  void specialise(onnx::ValueInfo& info, ValueId v) const {
    if (v == no_value || info.type.kind != onnx::TypeProto::Kind::tensor) return;
    const ValueType& type = after_.type(v);
    if (!type.is_tensor() || !type.dims) return;
    info.type.elem_type = onnx::onnx_type_of(type.dtype);
    info.type.has_shape = true;
    std::vector<onnx::Dimension> dims(type.dims->size());
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const Dim d = (*type.dims)[i];
      if (i < info.type.dims.size() && !d.known()) dims[i].param = info.type.dims[i].param;
      dims[i].has_value = d.known();
      dims[i].value = d.known() ? d.value() : 0;
    }
    info.type.dims = std::move(dims);
  }

  static std::uint32_t index(ValueId v) { return quern::index(v); }

  EditedModel& model_;
  const Graph& before_;
  const Graph& after_;
  const onnx::GraphProto old_;  // a copy; the model's own becomes the new graph
  MessageIndex index_;
  std::vector<Choice> choices_;
  std::vector<std::string_view> names_;  // by value; "": not asked for yet
  std::vector<bool> is_needed_;          // by value
  std::vector<bool> is_kept_;            // by node of the message: stays as it was
  const GraphWriting& options_;
  std::span<const MessageNode> order_;
  std::vector<ValueId> values_;    // needed, not followed yet
  std::vector<MessageNode> kept_;  // the same
  Names literal_;                  // names that bodies read
  Names sparse_;                   // sparse initializers that are needed
  std::vector<onnx::NodeProto> nodes_;
  std::vector<MessageNode> places_;  // by node: that of the message which it stands for
  std::vector<onnx::TensorProto> initializers_;
};

}  // namespace

Result<NodeFates> write_graph(EditedModel& model, const RewrittenGraph& graph,
                              const GraphWriting& options) {
  if (!graph.after.input_maps().empty())
    return Status(Code::unsupported, "a model whose inputs are maps cannot be written");
  QUERN_ASSIGN(const std::vector<MessageNode> order, onnx::execution_order(model.graph().nodes));
  return GraphWriter(model, graph, options, order).write();
}

}  // namespace quern::tools
