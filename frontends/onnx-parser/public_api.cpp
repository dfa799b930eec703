// SPDX-License-Identifier: Apache-2.0
// <quern/onnx.h> over the parser.
#include <quern/onnx.h>

#include "engine/vocabulary/guarded.h"
#include "frontends/onnx-parser/onnx_parser.h"

namespace quern {
namespace {

ImportOptions import_options(const OnnxOptions& options, const Stop& stop) {
  ImportOptions o;
  o.max_bytes = options.max_bytes;
  o.stop = &stop;
  o.files = options.files == OnnxOptions::Files::read ? FileBytes::read : FileBytes::mapped;
  o.problems = options.problems;
  o.warnings = options.warnings;
  return o;
}

Result<Model> to_model(Result<OnnxModel> read) {
  if (!read) return std::move(read).error();
  ModelMetadata m;
  m.ir_version = read->ir_version;
  m.model_version = read->model_version;
  m.producer_name = std::move(read->producer_name);
  m.producer_version = std::move(read->producer_version);
  m.domain = std::move(read->domain);
  m.description = std::move(read->doc_string);
  m.graph_name = read->graph.name;
  m.opsets = std::move(read->opsets);
  m.properties = std::move(read->metadata);
  return Model(std::make_unique<Graph>(std::move(read->graph)), std::move(m), read->bytes);
}

}  // namespace

Result<Model> load_onnx(const std::string& path, const OnnxOptions& options) {
  return guarded([&]() -> Result<Model> {
    const Stop stop({.deadline = options.deadline});
    return to_model(load_onnx(path, builtin_ops(), import_options(options, stop)));
  });
}

Result<Model> parse_onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         const std::string& folder, const OnnxOptions& options) {
  return guarded([&]() -> Result<Model> {
    const Stop stop({.deadline = options.deadline});
    return to_model(
        parse_onnx(bytes, std::move(owner), folder, builtin_ops(), import_options(options, stop)));
  });
}

}  // namespace quern
