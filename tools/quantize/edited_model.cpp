// SPDX-License-Identifier: Apache-2.0
#include "tools/quantize/edited_model.h"

#include <algorithm>
#include <utility>

#include <quern/onnx.h>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/file.h"
#include "frontends/onnx-parser/import.h"
#include "frontends/onnx-parser/onnx_parser.h"
#include "frontends/onnx-parser/tensor.h"
#include "tools/console.h"
#include "tools/json.h"
#include "tools/opened.h"

namespace quern::tools {
namespace {

// A message of protobuf has at most so many bytes.
constexpr std::size_t most_bytes = (std::size_t{1} << 31) - 1;

bool is_constant_node(const onnx::NodeProto& node) {
  return node.op_type == "Constant" && node.domain.empty() && node.outputs.size() == 1 &&
         node.attributes.size() == 1 && node.attributes[0].t.size() == 1;
}

// Tensors in a file lie wherever they do.
bool is_aligned(const Tensor& t) {
  return t.dtype() == DType::string ||
         reinterpret_cast<std::uintptr_t>(t.data()) % size_of(t.dtype()) == 0;
}

// What bodies read of the graphs around them, and what they read of their own.
void add_names_read(const onnx::GraphProto& graph, std::unordered_set<std::string_view>& names) {
  for (const onnx::NodeProto& node : graph.nodes) {
    names.insert(node.inputs.begin(), node.inputs.end());
    for (const onnx::AttributeProto& a : node.attributes) {
      for (const onnx::GraphProto& body : a.g) add_names_read(body, names);
      for (const onnx::GraphProto& body : a.graphs) add_names_read(body, names);
    }
  }
  for (const onnx::ValueInfo& output : graph.outputs) names.insert(output.name);
}

}  // namespace

std::string_view node_name(const onnx::NodeProto& node) {
  std::string_view name = node.name;
  for (const std::string_view output : node.outputs)
    if (name.empty()) name = output;
  return name;
}

std::string operator_name(const onnx::NodeProto& node) {
  const bool is_default = onnx::domain_of(node.domain).empty();
  return is_default ? std::string(node.op_type) : cat(node.domain, ".", node.op_type);
}

Result<EditedModel> EditedModel::open(const std::string& path,
                                      std::shared_ptr<const CustomOps> ops) {
  const std::string file = model_file(path);
  QUERN_ASSIGN(std::string content, read_file(file, most_bytes));
  auto model = parse(std::make_shared<const std::string>(std::move(content)), onnx::folder_of(file),
                     std::move(ops));
  if (!model) return std::move(model).error().in(shown(path, 200));
  return model;
}

Result<EditedModel> EditedModel::parse(std::shared_ptr<const std::string> bytes, std::string folder,
                                       std::shared_ptr<const CustomOps> ops) {
  EditedModel m;
  m.file_ = std::move(bytes);
  m.folder_ = std::move(folder);
  m.ops_ = std::move(ops);
  QUERN_ASSIGN(m.message_, onnx::read_model(*m.file_, {.memory_bytes = (std::size_t{32} << 20) +
                                                                       4 * m.file_->size()}));
  if (m.message_.graph.size() != 1) return Status(Code::invalid_model, "the model has no graph");
  QUERN_TRY(m.read_constants());
  return m;
}

Status EditedModel::read_constants() {
  onnx::MemoryBudget budget(most_bytes);
  onnx::TensorDecoder decoder(file_, onnx::ConfinedFolder(folder_), budget);
  const auto add = [&](onnx::TensorProto& message, std::string_view name) -> Status {
    names_.insert(name);
    auto tensor = decoder.decode(message);
    if (!tensor) return std::move(tensor).error().in(cat("tensor '", shown(name), "'"));
    if (!is_aligned(*tensor)) {
      const auto* data = tensor->data();
      QUERN_ASSIGN(*tensor, Tensor::copy_of(tensor->type(), {data, tensor->bytes()}));
    }
    tensors_->push_back(std::move(*tensor));
    if (message.is_external) message = onnx::tensor_message(tensors_->back(), name, *texts_);
    constants_[name] = &tensors_->back();
    return {};
  };
  for (onnx::TensorProto& t : graph().initializers) QUERN_TRY(add(t, t.name));
  for (onnx::NodeProto& node : graph().nodes) {
    names_.insert(node.outputs.begin(), node.outputs.end());
    names_.insert(node.name);
    if (is_constant_node(node)) QUERN_TRY(add(node.attributes[0].t[0], node.outputs[0]));
  }
  for (const onnx::ValueInfo& input : graph().inputs) names_.insert(input.name);
  add_names_read(graph(), names_);
  return {};
}

std::int64_t EditedModel::opset(std::string_view domain) const {
  for (const onnx::OperatorSetId& o : message_.opsets)
    if (o.domain == domain || (domain.empty() && o.domain == "ai.onnx")) return o.version;
  return 0;
}

void EditedModel::set_opset(std::int64_t version) {
  for (onnx::OperatorSetId& o : message_.opsets)
    if (o.domain.empty() || o.domain == "ai.onnx") o.version = version;
  message_.ir_version = std::max<std::int64_t>(message_.ir_version, 7);  // of that opset
}

void EditedModel::import_domain(std::string_view domain, std::int64_t version) {
  if (opset(domain) == 0) message_.opsets.push_back({domain, version});
}

const Tensor* EditedModel::constant(std::string_view name) const {
  const auto at = constants_.find(name);
  return at == constants_.end() ? nullptr : at->second;
}

std::string_view EditedModel::fresh_name(const std::string& stem) {
  std::string name = stem;
  for (int i = 2; names_.contains(name); ++i) name = cat(stem, "_", i);
  return *names_.insert(keep(std::move(name))).first;
}

std::string_view EditedModel::add_constant(Tensor tensor, const std::string& stem) {
  const std::string_view name = fresh_name(stem);
  graph().initializers.push_back(message_of(std::move(tensor), name));
  constants_[name] = &tensors_->back();
  return name;
}

onnx::TensorProto EditedModel::message_of(Tensor tensor, std::string_view name) {
  tensors_->push_back(std::move(tensor));
  return onnx::tensor_message(tensors_->back(), name, *texts_);
}

void EditedModel::drop_unread_constants() {
  std::unordered_set<std::string_view> read;
  add_names_read(graph(), read);
  std::unordered_set<std::string_view> gone;
  std::erase_if(graph().initializers, [&](const onnx::TensorProto& t) {
    const bool is_unread = !read.contains(t.name);
    if (is_unread) gone.insert(t.name);
    return is_unread;
  });
  std::erase_if(graph().nodes, [&](const onnx::NodeProto& node) {
    return is_constant_node(node) && !read.contains(node.outputs[0]);
  });
  std::erase_if(graph().inputs, [&](const onnx::ValueInfo& v) { return gone.contains(v.name); });
}

Result<Model> EditedModel::model() const {
  const auto written = std::make_shared<const std::string>(bytes());
  return parse_onnx(std::as_bytes(std::span(*written)), written, folder_, {.ops = ops_});
}

Result<Graph> EditedModel::import(std::map<std::string, ValueId, std::less<>>& values) const {
  return import_message(message_, &values);
}

Result<Graph> EditedModel::import_other(const onnx::ModelProto& message) const {
  return import_message(message, nullptr);
}

Result<Graph> EditedModel::import_message(
    const onnx::ModelProto& message, std::map<std::string, ValueId, std::less<>>* values) const {
  onnx::MemoryBudget budget((std::size_t{256} << 20) + 16 * file_->size());
  onnx::TensorDecoder decoder(file_, onnx::ConfinedFolder(folder_), budget);
  const ImportOptions options{.values = values};
  onnx::Importer importer(builtin_ops(ops_), message, decoder, budget, options);
  auto graph = importer.run();
  if (!graph) return importer.status();
  return *std::move(graph);
}

}  // namespace quern::tools
