// SPDX-License-Identifier: Apache-2.0
// A model that is compiled for a device when somebody first wants it there. Immutable to its users;
// any thread; may be shared by instances and, if the host says so, by tenants.
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

#include "frontends/wasi-nn/account.h"

namespace quern::wasi_nn {

using Bytes = std::span<const std::byte>;

struct GraphOptions {
  Target target = Target::cpu;     // unless the context says otherwise
  int threads = 0;                 // of a run; 0: as many CPUs as the process may use
  std::uint64_t memory_limit = 0;  // weights, arena and plan of one context; 0: none
  std::string gpu = "vulkan";      // the device of target gpu, as open_device() names it
};

class SharedGraph {
 public:
  // ONNX bytes in parts, which are put together: the one copy that is made of them.
  // Errors: invalid_model, unsupported, out_of_memory.
  static Result<std::shared_ptr<SharedGraph>> load(std::span<const Bytes> parts,
                                                   const GraphOptions& options = {});
  // An ONNX file of the host, which stays mapped and unchanged.
  static Result<std::shared_ptr<SharedGraph>> open(const std::string& path,
                                                   const GraphOptions& options = {});

  // Compiled once for each target. Errors: unsupported when there is no such device.
  Result<std::shared_ptr<const Executable>> executable(Target target);

  Target target() const { return options_.target; }
  std::uint64_t model_bytes() const { return model_bytes_; }
  const std::vector<ValueSpec>& inputs() const { return inputs_; }
  const std::vector<ValueSpec>& outputs() const { return outputs_; }

 private:
  SharedGraph(Model model, std::uint64_t model_bytes, const GraphOptions& options);

  std::mutex mutex_;
  Model model_;
  const GraphOptions options_;
  const std::uint64_t model_bytes_;
  const std::vector<ValueSpec> inputs_, outputs_;
  std::array<std::shared_ptr<const Executable>, 2> executables_;  // by target
};

}  // namespace quern::wasi_nn
