// SPDX-License-Identifier: Apache-2.0
// The interface that a device with its own memory implements for compiling and running. The CPU
// needs none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <quern/device.h>
#include <quern/status.h>

#include "engine/compile/program.h"
#include "engine/devices/device_tensor_impl.h"
#include "engine/run/execution_context.h"
#include "kernels/contract/gpu.h"

namespace quern {

// One per compiled model: holds its weights on the device. Any thread.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual const GpuTarget& target() const = 0;
  // Returns true if nodes of this family must run on the CPU; for bisecting.
  virtual bool leaves_to_cpu(std::string_view family) const = 0;
  // Returns true if a node without a kernel for the device is an error.
  virtual bool is_strict() const = 0;
  // The alignment of operands in bytes: every offset is a multiple of it.
  virtual std::uint64_t alignment() const = 0;
  // Returns the constant of this key, and creates it if it does not exist yet.
  virtual Result<std::shared_ptr<const void>> constant(const GpuConstant& constant) = 0;
  // The bytes of constants that are held now.
  virtual std::size_t constant_bytes() const = 0;
  // Creates everything that a run of the program needs: memory, pipelines, recorded commands.
  virtual Result<std::unique_ptr<ExecutionContext>> make_context(
      std::shared_ptr<const Program> program) = 0;
};

// A device that makes backends.
class BackendDevice : public Device {
 public:
  using Device::Device;
  virtual Result<std::shared_ptr<Backend>> make_backend() = 0;
  virtual Result<std::unique_ptr<TensorMemory>> make_tensor_memory(std::size_t bytes) = 0;
};

}  // namespace quern
