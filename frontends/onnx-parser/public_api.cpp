// SPDX-License-Identifier: Apache-2.0
// <quern/onnx.h> over the parser.
#include <string>
#include <utility>
#include <vector>

#include <quern/onnx.h>

#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/host_memory.h"
#include "frontends/onnx-parser/onnx_parser.h"

namespace quern {
namespace {

ImportOptions import_options(const OnnxOptions& options, const Stop& stop) {
  ImportOptions o;
  o.max_bytes = options.max_bytes;
  o.decodes_pictures = options.decodes_pictures;
  o.stop = &stop;
  o.files = options.files == OnnxOptions::Files::read ? FileBytes::read : FileBytes::mapped;
  o.problems = options.problems;
  o.warnings = options.warnings;
  return o;
}

// The warnings of one model, for the caller's list and for the host.
class Warnings {
 public:
  explicit Warnings(ImportOptions& o) : list_(o.warnings ? o.warnings : &own_) {
    o.warnings = list_;
    told_ = list_->size();
  }
  void tell() {
    for (; told_ < list_->size(); ++told_) tell_host(Host::Level::warning, (*list_)[told_]);
  }

 private:
  std::vector<std::string> own_;
  std::vector<std::string>* list_;
  std::size_t told_ = 0;
};

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
    const HostScope scope(options.host);
    const Stop stop({.deadline = options.deadline});
    ImportOptions import = import_options(options, stop);
    Warnings warnings(import);
    auto model = to_model(load_onnx(path, builtin_ops(options.ops), import));
    warnings.tell();
    return model;
  });
}

Result<Model> parse_onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         const std::string& folder, const OnnxOptions& options) {
  return guarded([&]() -> Result<Model> {
    const HostScope scope(options.host);
    const Stop stop({.deadline = options.deadline});
    ImportOptions import = import_options(options, stop);
    Warnings warnings(import);
    auto model =
        to_model(parse_onnx(bytes, std::move(owner), folder, builtin_ops(options.ops), import));
    warnings.tell();
    return model;
  });
}

}  // namespace quern
