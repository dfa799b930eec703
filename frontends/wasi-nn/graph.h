// SPDX-License-Identifier: Apache-2.0
// A model that is compiled for a device on first use there. Immutable to its users; any thread; may
// be shared by instances and, if the host allows it, by tenants.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <quern/executable.h>
#include <quern/model.h>
#include <quern/onnx.h>
#include <quern/thread_pool.h>

#include "frontends/wasi-nn/account.h"

namespace quern::wasi_nn {

using Bytes = std::span<const std::byte>;

struct GraphOptions {
  Target target = Target::cpu;  // unless the context asks for another
  int threads = 0;              // of a run; 0: the number of CPUs that the process may use
  // Weights, arena and plan of one context; and, by themselves, the graph that is read and what
  // reading takes besides. 0: no limit.
  std::uint64_t memory_limit = 0;
  std::string gpu = "vulkan";  // the device of target gpu, as open_device() names it
  OnnxOptions::Files files = OnnxOptions::Files::read;  // of open()
  bool keep_bytes = false;                              // for has_bytes(), of load()
  std::shared_ptr<ThreadPool> thread_pool = nullptr;    // of runs on the CPU; null: OpenMP's
  Math math = Math::f32;
  bool decodes_pictures = true;  // OnnxOptions::decodes_pictures
};

class SharedGraph {
 public:
  // Loads ONNX bytes given in parts; concatenating them is the only copy. Errors: invalid_model,
  // unsupported, out_of_memory.
  static Result<std::shared_ptr<SharedGraph>> load(std::span<const Bytes> parts,
                                                   const GraphOptions& options = {});
  // Opens a file of the host: ONNX, or what `quern compile` wrote, whose target is that of the
  // options unless a context asks for another.
  static Result<std::shared_ptr<SharedGraph>> open(const std::string& path,
                                                   const GraphOptions& options = {});

  // Compiled once for each target. Errors: unsupported if there is no such device.
  Result<std::shared_ptr<const Executable>> executable(Target target);

  Target target() const { return options_.target; }
  // Returns true if the graph was loaded from these bytes and kept them.
  bool has_bytes(std::span<const Bytes> parts) const;
  // The bytes of the file.
  std::uint64_t model_bytes() const { return model_bytes_; }
  // The bytes of the file and of the graph that was read from it.
  std::uint64_t held_bytes() const { return model_bytes_ + (model_ ? model_->bytes() : 0); }
  const std::vector<ValueSpec>& inputs() const { return inputs_; }
  const std::vector<ValueSpec>& outputs() const { return outputs_; }

 private:
  SharedGraph(Model model, std::uint64_t model_bytes, const GraphOptions& options,
              std::shared_ptr<const std::byte[]> kept = nullptr);
  SharedGraph(std::string path, std::uint64_t bytes, const GraphOptions& options,
              const Executable& first);
  static Result<std::shared_ptr<SharedGraph>> open_compiled(const std::string& path,
                                                            const GraphOptions& options);

  std::mutex mutex_;
  std::optional<Model> model_;
  const std::string compiled_;  // the path of an artefact, where there is no model
  const GraphOptions options_;
  const std::uint64_t model_bytes_;
  const std::shared_ptr<const std::byte[]> kept_;
  const std::vector<ValueSpec> inputs_, outputs_;
  std::array<std::shared_ptr<const Executable>, 2> executables_;  // by target
};

}  // namespace quern::wasi_nn
