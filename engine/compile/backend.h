// SPDX-License-Identifier: Apache-2.0
// What a device with memory of its own brings to compile and run. The CPU needs none.
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

// One a compiled model: holds its weights on the device. Any thread.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual const GpuTarget& target() const = 0;
  // Whether nodes of this family are to run on the CPU all the same; for bisecting.
  virtual bool leaves_to_cpu(std::string_view family) const = 0;
  // Whether a node without a kernel for the device is an error.
  virtual bool is_strict() const = 0;
  // Bytes that the offset of every operand is a multiple of.
  virtual std::uint64_t alignment() const = 0;
  // The constant of this key, made if it is not there.
  virtual Result<std::shared_ptr<const void>> constant(const GpuConstant& constant) = 0;
  // Bytes of constants that are held now.
  virtual std::size_t constant_bytes() const = 0;
  // Everything that running the program takes: memory, pipelines, recorded commands.
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
