// SPDX-License-Identifier: Apache-2.0
// The functions of onnx_parser.h that return graphs.
#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/file.h"
#include "frontends/onnx-parser/import.h"
#include "frontends/onnx-parser/onnx_parser.h"
#include "frontends/onnx-parser/proto.h"
#include "frontends/onnx-parser/tensor.h"

namespace quern {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// The limit that is asked for, or the usual one, within what is left of `max_bytes`.
std::size_t limit_of(std::size_t wanted, std::size_t usual, const ImportOptions& options,
                     std::size_t taken) {
  const std::size_t limit = wanted ? wanted : usual;
  return options.max_bytes ? std::min(limit, options.max_bytes - taken) : limit;
}

Status keep(Status status, const ImportOptions& options) {
  if (options.problems) options.problems->emplace_back(status.message());
  return status;
}

// A hint for files that are not models.
std::string_view what_it_may_be(std::string_view bytes) {
  if (bytes.starts_with("version https://git-lfs")) return "it is a Git LFS pointer, not the file";
  if (bytes.starts_with("<")) return "it looks like a web page";
  if (bytes.empty()) return "it is empty";
  return "it has no graph";
}

Result<onnx::ModelProto> read_messages(std::string_view bytes, const ImportOptions& options,
                                       std::size_t& taken) {
  const std::size_t usual = 32 * mebibyte + 4 * bytes.size();
  const std::size_t limit = limit_of(options.max_message_bytes, usual, options, 0);
  auto model = onnx::read_model(bytes, {limit, options.max_depth, options.stop}, &taken);
  if (!model && model.error().code() != Code::invalid_model) return std::move(model).error();
  const bool has_graph = model && !model->graph.empty();
  if (!model && (bytes.empty() || (bytes[0] != '<' && bytes[0] != 'v')))
    return std::move(model).error().in("not a valid ONNX model");
  if (!has_graph)
    return Status(Code::invalid_model, "not an ONNX model: " + std::string(what_it_may_be(bytes)));
  return model;
}

OnnxModel describe(const onnx::ModelProto& proto, Graph graph) {
  OnnxModel model{.graph = std::move(graph),
                  .ir_version = proto.ir_version,
                  .model_version = proto.model_version,
                  .producer_name = std::string(proto.producer_name),
                  .producer_version = std::string(proto.producer_version),
                  .domain = std::string(proto.domain),
                  .doc_string = std::string(proto.doc_string)};
  for (const onnx::OperatorSetId& set : proto.opsets)
    model.opsets.emplace_back(set.domain, set.version);
  for (const onnx::StringEntry& entry : proto.metadata)
    model.metadata.emplace_back(entry.key, entry.value);
  return model;
}

}  // namespace

Result<OnnxModel> parse_onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                             const std::string& folder, const OpSet& ops,
                             const ImportOptions& options) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t taken = 0;
  auto proto = read_messages(text, options, taken);
  if (!proto) return keep(std::move(proto).error(), options);
  const std::size_t usual = 256 * mebibyte + 16 * bytes.size();
  onnx::MemoryBudget budget(limit_of(options.max_import_bytes, usual, options, taken),
                            options.max_bytes ? onnx::MemoryBudget::Kind::fixed
                                              : onnx::MemoryBudget::Kind::raised_by_files,
                            options.stop);
  onnx::TensorDecoder decoder(std::move(owner), onnx::ConfinedFolder(folder, options.files),
                              budget);
  onnx::Importer importer(ops, *proto, decoder, budget, options);
  auto graph = importer.run();
  if (!graph) return importer.status();
  if (options.stop)
    if (Status reached = options.stop->check(); !reached.ok())
      return keep(std::move(reached), options);
  OnnxModel model = describe(*proto, *std::move(graph));
  model.bytes = budget.charged();
  return model;
}

Result<OnnxModel> load_onnx(const std::string& path, const OpSet& ops,
                            const ImportOptions& options) {
  auto file = open_file(path, options.files);
  if (!file) return keep(std::move(file).error(), options);
  auto model = parse_onnx(file->bytes, file->owner, onnx::folder_of(path), ops, options);
  if (!model) return std::move(model).error().in(printable(path));
  return model;
}

}  // namespace quern
