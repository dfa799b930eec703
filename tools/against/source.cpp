// SPDX-License-Identifier: Apache-2.0
#include "tools/against/source.h"

#include <algorithm>
#include <filesystem>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/file.h"
#include "frontends/onnx-parser/import.h"
#include "frontends/onnx-parser/tensor.h"
#include "tools/console.h"

namespace quern::tools {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

onnx::TypeProto tensor_type(const TensorType& type) {
  onnx::TypeProto t{.kind = onnx::TypeProto::Kind::tensor, .has_shape = true};
  t.elem_type = onnx::onnx_type_of(type.dtype);
  for (std::int64_t d : type.shape.dims()) t.dims.push_back({.has_value = true, .value = d});
  return t;
}

}  // namespace

onnx::TypeProto type_message(const InputValue& value) {
  using Kind = onnx::TypeProto::Kind;
  if (value.kind == InputValue::Kind::tensor) return tensor_type(value.tensors[0].type());
  onnx::TypeProto t{.kind = Kind::sequence};
  onnx::TypeProto element{.kind = Kind::tensor};
  element.elem_type =
      onnx::onnx_type_of(value.tensors.empty() ? DType::f32 : value.tensors[0].dtype());
  t.element.push_back(element);
  return t;
}

// ---- reading ----------------------------------------------------------------------------------

Result<SourceModel> SourceModel::open(const std::string& path) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  const std::string file = is_folder ? path + "/model.onnx" : path;
  QUERN_ASSIGN(const OpenedFile mapped, open_file(file));
  SourceModel m;
  m.owner_ = mapped.owner;
  m.folder_ = onnx::folder_of(file);
  QUERN_ASSIGN(m.proto_,
               onnx::read_model(mapped.text(), {32 * mebibyte + 4 * mapped.bytes.size()}));
  QUERN_TRY(m.index().in(shown(file, 200)));
  return m;
}

Result<SourceModel> SourceModel::parse(std::shared_ptr<const std::string> bytes,
                                       std::string folder) {
  SourceModel m;
  const std::string& text = *bytes;
  m.owner_ = std::move(bytes);
  m.folder_ = std::move(folder);
  QUERN_ASSIGN(m.proto_, onnx::read_model(text, {32 * mebibyte + 4 * text.size()}));
  QUERN_TRY(m.index());
  return m;
}

Status SourceModel::index() {
  if (proto_.graph.empty()) return {Code::invalid_model, "the model has no graph"};
  const onnx::GraphProto& g = graph();
  QUERN_ASSIGN(order_, onnx::execution_order(g.nodes));
  for (const onnx::TensorProto& t : g.initializers) constants_.insert(t.name);
  for (const onnx::SparseTensorProto& t : g.sparse_initializers) constants_.insert(t.values.name);
  for (const onnx::ValueInfo& v : g.inputs)
    if (!constants_.contains(v.name)) inputs_.emplace_back(v.name);
  for (std::uint32_t at = 0; at < order_.size(); ++at)
    for (std::string_view name : node(at).outputs)
      if (!name.empty()) makers_.emplace(name, at);
  return {};
}

std::string SourceModel::label(std::uint32_t at) const {
  const onnx::NodeProto& n = node(at);
  std::string_view name = n.name;
  for (std::string_view output : n.outputs)
    if (name.empty()) name = output;
  return cat("'", shown(name), "' (", shown(n.op_type), ")");
}

std::vector<std::string> SourceModel::reads(std::uint32_t at) const {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    const bool is_value = makers_.contains(name) || std::ranges::count(inputs_, name) > 0;
    if (is_value && std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  };
  for (std::string_view name : node(at).inputs) add(name);
  for (std::string_view name : onnx::names_read(node(at))) add(name);
  return names;
}

std::vector<std::string> SourceModel::makes(std::uint32_t at) const {
  std::vector<std::string> names;
  for (std::string_view name : node(at).outputs)
    if (!name.empty()) names.emplace_back(name);
  return names;
}

std::optional<std::uint32_t> SourceModel::maker(std::string_view value) const {
  const auto it = makers_.find(value);
  return it == makers_.end() ? std::nullopt : std::optional(it->second);
}

// ---- cutting ----------------------------------------------------------------------------------

Cut SourceModel::whole() const {
  Cut cut = all_values();
  cut.outputs.clear();
  for (const onnx::ValueInfo& v : graph().outputs) cut.outputs.emplace_back(v.name);
  return cut;
}

Cut SourceModel::all_values() const {
  Cut cut;
  for (std::uint32_t at = 0; at < order_.size(); ++at) {
    cut.nodes.push_back(at);
    for (std::string& name : makes(at)) cut.outputs.push_back(std::move(name));
  }
  return cut;
}

Cut SourceModel::pruned(const Cut& cut) const {
  std::set<std::string> wanted(cut.outputs.begin(), cut.outputs.end());
  Cut kept{{}, cut.outputs, cut.given};
  for (std::size_t i = cut.nodes.size(); i-- > 0;) {
    const auto made = makes(cut.nodes[i]);
    if (std::ranges::none_of(made, [&](const auto& name) { return wanted.contains(name); }))
      continue;
    kept.nodes.push_back(cut.nodes[i]);
    for (const std::string& name : reads(cut.nodes[i])) wanted.insert(name);
  }
  std::ranges::reverse(kept.nodes);
  return kept;
}

std::vector<std::string> SourceModel::wanted_by(const Cut& cut) const {
  std::set<std::string> made;
  for (std::uint32_t at : cut.nodes)
    for (std::string& name : makes(at)) made.insert(std::move(name));
  std::set<std::string> wanted;
  for (std::uint32_t at : cut.nodes)
    for (std::string& name : reads(at))
      if (!made.contains(name)) wanted.insert(std::move(name));
  // The model's own inputs keep their order; the whole model has them all.
  std::vector<std::string> names;
  for (const std::string& name : inputs_)
    if (cut.nodes.size() == order_.size() || wanted.contains(name)) names.push_back(name);
  for (const std::string& name : wanted)
    if (std::ranges::count(inputs_, name) == 0) names.push_back(name);
  return names;
}

std::vector<std::string> SourceModel::inputs_of(const Cut& cut, const KnownValues& known) const {
  std::vector<std::string> names = wanted_by(cut);
  std::erase_if(names, [&](const std::string& name) { return is_shape(cut, name, known); });
  return names;
}

// True for a node's output that is given as a constant.
bool SourceModel::is_shape(const Cut& cut, const std::string& name,
                           const KnownValues& known) const {
  const auto it = known.find(name);
  if (cut.given == Cut::Given::as_inputs || !maker(name) || it == known.end()) return false;
  if (it->second.kind != InputValue::Kind::tensor) return false;
  const TensorType& type = it->second.tensors[0].type();
  return (type.dtype == DType::i64 || type.dtype == DType::i32) && type.shape.rank() <= 1;
}

const onnx::ValueInfo* SourceModel::declared(const std::vector<onnx::ValueInfo>& list,
                                             std::string_view name) const {
  const auto it = std::ranges::find(list, name, &onnx::ValueInfo::name);
  return it == list.end() ? nullptr : &*it;
}

Status SourceModel::add_constants(onnx::GraphProto& g, const std::set<std::string_view>& names,
                                  External external, std::vector<Tensor>& kept,
                                  onnx::TextPool& pool) const {
  onnx::MemoryBudget budget(std::size_t{1} << 40);
  onnx::TensorDecoder decoder(owner_, onnx::ConfinedFolder(folder_), budget);
  for (const onnx::TensorProto& t : graph().initializers) {
    if (!names.contains(t.name)) continue;
    if (external == External::inside && t.is_external) {
      QUERN_ASSIGN(Tensor tensor, decoder.decode(t));
      kept.push_back(tensor);
      g.initializers.push_back(onnx::tensor_message(kept.back(), t.name, pool));
    } else {
      g.initializers.push_back(t);
    }
  }
  for (const onnx::SparseTensorProto& t : graph().sparse_initializers)
    if (names.contains(t.values.name)) g.sparse_initializers.push_back(t);
  return {};
}

Result<std::string> SourceModel::bytes(const Cut& cut, const KnownValues& known,
                                       External external) const {
  onnx::ModelProto model = proto_;
  onnx::GraphProto& g = model.graph.front();
  g.nodes.clear();
  g.inputs.clear();
  g.outputs.clear();
  g.initializers.clear();
  g.sparse_initializers.clear();
  std::set<std::string_view> names(cut.outputs.begin(), cut.outputs.end());
  for (std::uint32_t at : cut.nodes) {
    g.nodes.push_back(node(at));
    names.merge(onnx::names_read(node(at)));
  }
  std::vector<Tensor> kept;
  onnx::TextPool pool;
  QUERN_TRY(add_constants(g, names, external, kept, pool));
  const auto wanted = wanted_by(cut);
  for (const std::string& name : wanted) {
    const onnx::ValueInfo* own = declared(graph().inputs, name);
    const auto it = known.find(name);
    if (!own && (it == known.end() || it->second.kind == InputValue::Kind::none))
      return Status(Code::not_found, cat("value '", shown(name), "' is not known"));
    if (is_shape(cut, name, known)) {
      g.initializers.push_back(onnx::tensor_message(it->second.tensors[0], name, pool));
      continue;
    }
    g.inputs.push_back(own ? *own : onnx::ValueInfo{name, type_message(it->second)});
  }
  std::erase_if(g.value_info,
                [&](const onnx::ValueInfo& v) { return declared(g.inputs, v.name) != nullptr; });
  for (const std::string& name : cut.outputs) {
    const onnx::ValueInfo* own = declared(graph().outputs, name);
    const auto it = known.find(name);
    if (own) {
      g.outputs.push_back(*own);
    } else if (it != known.end() && it->second.kind != InputValue::Kind::none) {
      g.outputs.push_back({name, type_message(it->second)});
    } else {
      g.outputs.push_back({name, {}});
    }
  }
  return onnx::write_model(model);
}

}  // namespace quern::tools
