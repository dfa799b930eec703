// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/model_diff.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "tools/compare.h"
#include "tools/diff/described_model.h"

namespace quern::tools {
namespace {

constexpr std::string_view only_a = "only in A";
constexpr std::string_view only_b = "only in B";

using Texts = std::vector<std::pair<std::string, std::string>>;  // name, text

Texts model_texts(const onnx::ModelProto& m) {
  return {{"IR version", cat(m.ir_version)},
          {"producer", cat(m.producer_name, " ", m.producer_version)},
          {"domain", std::string(m.domain)},
          {"version", cat(m.model_version)},
          {"description", std::string(m.doc_string)},
          {"graph", std::string(m.graph.empty() ? "" : m.graph[0].name)},
          {"functions", cat(m.functions.size())}};
}
Texts opset_texts(const onnx::ModelProto& m) {
  Texts texts;
  for (const onnx::OperatorSetId& o : m.opsets)
    texts.emplace_back(o.domain.empty() ? "ai.onnx" : std::string(o.domain), cat(o.version));
  return texts;
}
Texts metadata_texts(const onnx::ModelProto& m) {
  Texts texts;
  for (const onnx::StringEntry& e : m.metadata)
    texts.emplace_back(std::string(e.key), std::string(e.value));
  return texts;
}
// Initializers that are listed as inputs are constants.
Texts type_texts(const std::vector<onnx::ValueInfo>& values, const DescribedModel& model) {
  Texts texts;
  for (const onnx::ValueInfo& v : values)
    if (!model.constant_at.contains(v.name))
      texts.emplace_back(std::string(v.name), type_text(v.type));
  return texts;
}

std::string input_text(const onnx::NodeProto& node) {
  std::string text;
  for (const std::string_view name : node.inputs)
    text += cat(text.empty() ? "" : ", ", name.empty() ? "-" : shown(name));
  return text;
}

// Pairs of indices of the two models.
struct Matching {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  // in the order of A
  std::vector<std::size_t> only_a, only_b;
};

// First those of one name, then among the rest those of one hash, each in the order of its model.
template <class Item>
Matching match(const std::vector<Item>& a, const std::vector<Item>& b,
               const std::unordered_map<std::string_view, std::size_t>& b_at) {
  std::vector<std::optional<std::size_t>> other(a.size());
  std::vector<bool> is_taken(b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto at = b_at.find(a[i].name);
    if (at == b_at.end() || is_taken[at->second]) continue;
    other[i] = at->second;
    is_taken[at->second] = true;
  }
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> free;  // of B, by hash, last first
  for (std::size_t k = b.size(); k-- > 0;)
    if (!is_taken[k]) free[b[k].hash].push_back(k);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (other[i]) continue;
    const auto at = free.find(a[i].hash);
    if (at == free.end() || at->second.empty()) continue;
    other[i] = at->second.back();
    is_taken[at->second.back()] = true;
    at->second.pop_back();
  }
  Matching m;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (other[i]) {
      m.pairs.emplace_back(i, *other[i]);
    } else {
      m.only_a.push_back(i);
    }
  }
  for (std::size_t k = 0; k < b.size(); ++k)
    if (!is_taken[k]) m.only_b.push_back(k);
  return m;
}

class Comparer {
 public:
  Comparer(const EditedModel& model_a, const EditedModel& model_b, const DescribedModel& a,
           const DescribedModel& b)
      : model_a_(model_a), model_b_(model_b), a_(a), b_(b) {}

  ModelDiff run() {
    const onnx::ModelProto& a = model_a_.message();
    const onnx::ModelProto& b = model_b_.message();
    add_texts(DiffPart::model, "value", model_texts(a), model_texts(b));
    add_texts(DiffPart::opset, "version", opset_texts(a), opset_texts(b));
    add_texts(DiffPart::metadata, "value", metadata_texts(a), metadata_texts(b));
    const onnx::GraphProto& ga = model_a_.graph();
    const onnx::GraphProto& gb = model_b_.graph();
    add_texts(DiffPart::input, "type", type_texts(ga.inputs, a_), type_texts(gb.inputs, b_));
    add_texts(DiffPart::output, "type", type_texts(ga.outputs, a_), type_texts(gb.outputs, b_));
    add_constants();
    add_nodes();
    return std::move(diff_);
  }

 private:
  DiffRow& add(DiffPart part, std::string_view name, std::string_view what, std::string a,
               std::string b) {
    return diff_.rows.emplace_back(DiffRow{.part = part,
                                           .name = std::string(name),
                                           .what = std::string(what),
                                           .a = std::move(a),
                                           .b = std::move(b)});
  }

  void add_texts(DiffPart part, std::string_view what, const Texts& a, const Texts& b) {
    const std::map<std::string, std::string> in_a(a.begin(), a.end());
    const std::map<std::string, std::string> in_b(b.begin(), b.end());
    for (const auto& [name, text] : a) {
      const auto other = in_b.find(name);
      if (other == in_b.end()) {
        add(part, name, only_a, text, "");
      } else if (other->second != text) {
        add(part, name, what, text, other->second);
      }
    }
    for (const auto& [name, text] : b)
      if (!in_a.contains(name)) add(part, name, only_b, "", text);
  }

  // ---- constants

  static std::string constant_text(const Tensor& t) {
    return cat(name_of(t.dtype()), t.shape().text());
  }

  void add_constants() {
    const Matching m = match(a_.constants, b_.constants, b_.constant_at);
    for (const auto& [i, k] : m.pairs) compare_constants(a_.constants[i], b_.constants[k]);
    for (const std::size_t i : m.only_a)
      add(DiffPart::constant, a_.constants[i].name, only_a, constant_text(*a_.constants[i].tensor),
          "");
    for (const std::size_t k : m.only_b)
      add(DiffPart::constant, b_.constants[k].name, only_b, "",
          constant_text(*b_.constants[k].tensor));
  }

  void compare_constants(const NamedConstant& a, const NamedConstant& b) {
    value_of_b_[b.name] = a.name;
    if (a.name != b.name)
      add(DiffPart::constant, a.name, "renamed", std::string(a.name), std::string(b.name));
    const std::string type_a = constant_text(*a.tensor);
    const std::string type_b = constant_text(*b.tensor);
    if (type_a != type_b) {
      add(DiffPart::constant, a.name, "type", type_a, type_b);
    } else if (!identical(a.tensor->view(), b.tensor->view())) {
      const Comparison c = compare(b.tensor->view(), a.tensor->view(), {});
      DiffRow& row = add(DiffPart::constant, a.name, "values", type_a, type_b);
      row.mean_difference = c.mean_abs;
      row.max_difference = c.max_abs;
    } else {
      diff_.equal_constants += a.name == b.name ? 1 : 0;
    }
  }

  // ---- nodes

  void add_nodes() {
    const Matching m = match(a_.nodes, b_.nodes, b_.node_at);
    for (const auto& [i, k] : m.pairs) {
      const auto& outputs_a = a_.nodes[i].node->outputs;
      const auto& outputs_b = b_.nodes[k].node->outputs;
      for (std::size_t o = 0; o < std::min(outputs_a.size(), outputs_b.size()); ++o)
        value_of_b_[outputs_b[o]] = outputs_a[o];
    }
    for (const auto& [i, k] : m.pairs) {
      const std::size_t before = diff_.rows.size();
      compare_nodes(a_.nodes[i], b_.nodes[k]);
      diff_.equal_nodes += diff_.rows.size() == before ? 1 : 0;
    }
    for (const std::size_t i : m.only_a) {
      const onnx::NodeProto& node = *a_.nodes[i].node;
      add(DiffPart::node, a_.nodes[i].name, only_a, operator_name(node), "");
    }
    for (const std::size_t k : m.only_b) {
      const onnx::NodeProto& node = *b_.nodes[k].node;
      add(DiffPart::node, b_.nodes[k].name, only_b, "", operator_name(node));
    }
  }

  // What a value of B is called in A.
  std::string_view name_in_a(std::string_view name_in_b) const {
    const auto at = value_of_b_.find(name_in_b);
    return at == value_of_b_.end() ? name_in_b : at->second;
  }

  bool reads_the_same(const onnx::NodeProto& a, const onnx::NodeProto& b) const {
    const auto count = [](std::vector<std::string_view> names) {
      while (!names.empty() && names.back().empty()) names.pop_back();
      return names.size();
    };
    if (count(a.inputs) != count(b.inputs)) return false;
    for (std::size_t i = 0; i < count(a.inputs); ++i)
      if (a.inputs[i] != name_in_a(b.inputs[i])) return false;
    return true;
  }

  void compare_nodes(const DescribedNode& a, const DescribedNode& b) {
    const auto row = [&](std::string_view what, std::string in_a, std::string in_b) {
      add(DiffPart::node, a.name, what, std::move(in_a), std::move(in_b));
    };
    if (a.name != b.name) row("renamed", std::string(a.name), std::string(b.name));
    const std::string operator_a = operator_name(*a.node);
    const std::string operator_b = operator_name(*b.node);
    if (operator_a != operator_b) row("operator", operator_a, operator_b);
    if (!reads_the_same(*a.node, *b.node)) row("inputs", input_text(*a.node), input_text(*b.node));
    if (a.node->outputs.size() != b.node->outputs.size())
      row("outputs", cat(a.node->outputs.size()), cat(b.node->outputs.size()));
    compare_attributes(a, b);
  }

  void compare_attributes(const DescribedNode& a, const DescribedNode& b) {
    std::map<std::string_view, std::array<const onnx::AttributeProto*, 2>> all;
    for (const onnx::AttributeProto& x : a.node->attributes) all[x.name][0] = &x;
    for (const onnx::AttributeProto& x : b.node->attributes) all[x.name][1] = &x;
    for (const auto& [name, both] : all) {
      const bool is_equal =
          both[0] && both[1] && attribute_bytes(*both[0]) == attribute_bytes(*both[1]);
      if (is_equal) continue;
      const auto text = [](const onnx::AttributeProto* x) {
        return x ? attribute_text(*x) : std::string();
      };
      add(DiffPart::node, a.name, cat("attribute ", shown(name)), text(both[0]), text(both[1]));
    }
  }

  const EditedModel& model_a_;
  const EditedModel& model_b_;
  const DescribedModel& a_;
  const DescribedModel& b_;
  std::unordered_map<std::string_view, std::string_view> value_of_b_;  // the same value in A
  ModelDiff diff_;
};

}  // namespace

std::string_view name_of(DiffPart part) {
  constexpr std::array<std::string_view, 7> names = {"model",  "opset",    "metadata", "input",
                                                     "output", "constant", "node"};
  return names[static_cast<std::size_t>(part)];
}

Result<ModelDiff> diff_models(const EditedModel& a, const EditedModel& b) {
  auto described_a = DescribedModel::of(a);
  if (!described_a) return std::move(described_a).error().in("A");
  auto described_b = DescribedModel::of(b);
  if (!described_b) return std::move(described_b).error().in("B");
  return Comparer(a, b, *described_a, *described_b).run();
}

}  // namespace quern::tools
