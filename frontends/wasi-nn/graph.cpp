// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/graph.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <new>

#include <quern/artefact.h>
#include <quern/device.h>
#include <quern/onnx.h>

namespace quern::wasi_nn {
namespace {

// Graphs on one GPU share its Device while any of them exists; a lost device is opened again.
Result<std::shared_ptr<Device>> shared_device(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Device>> opened;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Device>& known = opened[name];
  if (std::shared_ptr<Device> device = known.lock(); device && !device->is_lost()) return device;
  QUERN_ASSIGN(std::shared_ptr<Device> device, open_device(name));
  known = device;
  return device;
}

Result<std::shared_ptr<Device>> device_for(Target target, const std::string& gpu) {
  if (target == Target::cpu) return open_device("cpu");
  if (target == Target::gpu) {
    // A guest leaves no pipelines behind, which nobody would be charged for.
    auto device = shared_device(gpu.starts_with("vulkan") ? gpu + ",idle=1" : gpu);
    // For a guest, not_found refers to the names of models.
    if (!device && device.error().code() == Code::not_found)
      return Status(Code::unsupported, std::string(device.error().message()));
    return device;
  }
  return Status(Code::unsupported, "there is no device of kind tpu");
}

// Takes the bytes of the graph from the limit of its plans.
GraphOptions after_reading(GraphOptions options, std::uint64_t bytes) {
  if (options.memory_limit > 0)
    options.memory_limit = std::max<std::uint64_t>(options.memory_limit, bytes + 1) - bytes;
  return options;
}

OnnxOptions onnx_options(const GraphOptions& options) {
  return {.files = options.files,
          .max_bytes = static_cast<std::size_t>(options.memory_limit),
          .decodes_pictures = options.decodes_pictures};
}

CompileOptions compile_options(const GraphOptions& options) {
  CompileOptions compile;
  compile.threads = options.threads;
  compile.thread_pool = options.thread_pool;
  compile.memory_limit = static_cast<std::size_t>(options.memory_limit);
  compile.math = options.math;
  return compile;
}

LoadOptions load_options(const GraphOptions& options) {
  return {.files = options.files, .compile = compile_options(options)};
}

}  // namespace

SharedGraph::SharedGraph(Model model, std::uint64_t model_bytes, const GraphOptions& options,
                         std::shared_ptr<const std::byte[]> kept)
    : model_(std::move(model)),
      options_(after_reading(options, model_->bytes())),
      model_bytes_(model_bytes),
      kept_(std::move(kept)),
      inputs_(model_->inputs()),
      outputs_(model_->outputs()) {}

SharedGraph::SharedGraph(std::string path, std::uint64_t bytes, const GraphOptions& options,
                         const Executable& first)
    : compiled_(std::move(path)),
      options_(options),
      model_bytes_(bytes),
      inputs_(first.inputs()),
      outputs_(first.outputs()) {}

Result<std::shared_ptr<SharedGraph>> SharedGraph::load(std::span<const Bytes> parts,
                                                       const GraphOptions& options) {
  std::size_t size = 0;
  for (const Bytes& part : parts) size += part.size();
  const std::shared_ptr<std::byte[]> copy(new (std::nothrow)
                                              std::byte[std::max(size, std::size_t{1})]);
  if (!copy)
    return Status(Code::out_of_memory, sentence("no memory for a model of ", size, " bytes"));
  std::byte* end = copy.get();
  for (const Bytes& part : parts) end = std::copy(part.begin(), part.end(), end);
  auto model = parse_onnx({copy.get(), size}, copy, {}, onnx_options(options));
  if (!model && parts.size() > 1)  // guests of OpenVINO give weights in a second part
    return Status(model.error().code(),
                  sentence(model.error().message(), "; the model is ", parts.size(),
                           " parts, put together in their order, without external data"));
  if (!model) return std::move(model).status();
  return std::shared_ptr<SharedGraph>(
      new SharedGraph(std::move(*model), size, options, options.keep_bytes ? copy : nullptr));
}

bool SharedGraph::has_bytes(std::span<const Bytes> parts) const {
  std::uint64_t at = 0;
  if (!kept_) return false;
  for (const Bytes& part : parts) {
    if (part.size() > model_bytes_ - at) return false;
    if (!part.empty() && std::memcmp(kept_.get() + at, part.data(), part.size()) != 0) return false;
    at += part.size();
  }
  return at == model_bytes_;
}

Result<std::shared_ptr<SharedGraph>> SharedGraph::open(const std::string& path,
                                                       const GraphOptions& options) {
  if (is_artefact_file(path)) return open_compiled(path, options);
  QUERN_ASSIGN(Model model, load_onnx(path, onnx_options(options)));
  std::error_code ignored;
  const std::uintmax_t size = std::filesystem::file_size(path, ignored);
  return std::shared_ptr<SharedGraph>(
      new SharedGraph(std::move(model), ignored ? 0 : size, options));
}

Result<std::shared_ptr<SharedGraph>> SharedGraph::open_compiled(const std::string& path,
                                                                const GraphOptions& options) {
  QUERN_ASSIGN(std::shared_ptr<Device> device, device_for(options.target, options.gpu));
  QUERN_ASSIGN(auto executable, load_artefact(path, std::move(device), load_options(options)));
  std::error_code ignored;
  const std::uintmax_t size = std::filesystem::file_size(path, ignored);
  std::shared_ptr<SharedGraph> graph(
      new SharedGraph(path, ignored ? 0 : size, options, *executable));
  graph->executables_[static_cast<std::size_t>(options.target)] = std::move(executable);
  return graph;
}

Result<std::shared_ptr<const Executable>> SharedGraph::executable(Target target) {
  const auto index = static_cast<std::size_t>(target);
  if (index >= executables_.size()) return std::move(device_for(target, options_.gpu)).status();
  const std::lock_guard lock(mutex_);
  if (executables_[index]) return executables_[index];
  QUERN_ASSIGN(std::shared_ptr<Device> device, device_for(target, options_.gpu));
  auto made =
      model_ ? Executable::compile(model_->clone(), std::move(device), compile_options(options_))
             : load_artefact(compiled_, std::move(device), load_options(options_));
  QUERN_ASSIGN(executables_[index], std::move(made));
  return executables_[index];
}

}  // namespace quern::wasi_nn
