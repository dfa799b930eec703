// SPDX-License-Identifier: Apache-2.0
// The interface that a device with its own memory implements for compiling and running. The CPU
// needs none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <quern/device.h>
#include <quern/status.h>

#include "engine/compile/program.h"
#include "engine/compile/region.h"
#include "engine/devices/device_tensor_impl.h"
#include "engine/run/device_arena.h"
#include "engine/run/execution_context.h"

namespace quern {

// The most bytes that a device allows a program.
struct DeviceLimits {
  std::uint64_t arena = std::numeric_limits<std::uint64_t>::max();    // in one piece
  std::uint64_t binding = std::numeric_limits<std::uint64_t>::max();  // of an operand of a dispatch
};

// One per compiled model: holds its weights on the device. Any thread.
class Backend {
 public:
  virtual ~Backend() = default;

  // Returns the regions of a static graph that the device computes; they share no node. All other
  // nodes run on the CPU.
  virtual std::vector<Region> partition(const Graph& graph) const = 0;
  // Compiles one region of partition(), without the nodes whose results are constants.
  virtual Status compile(const Region& region, RegionCompiler& compiler) = 0;
  // Returns the code that copies a tensor in the device's memory to another layout. `from` begins
  // `skipped` elements after the start of its binding. Nothing: the host does it, between a
  // download and an upload.
  virtual Selection copy(const TensorDesc& from, std::int64_t skipped, const TensorDesc& to) const {
    (void)from, (void)skipped, (void)to;
    return unsupported();
  }
  // Returns true if a node that runs on the CPU is an error.
  virtual bool is_strict() const { return false; }
  virtual DeviceLimits limits() const { return {}; }
  // The alignment of operands in bytes: every offset is a multiple of it.
  virtual std::uint64_t alignment() const = 0;
  // Returns the constant of this key, and creates it if it does not exist yet.
  virtual Result<std::shared_ptr<const void>> constant(const GpuConstant& constant) = 0;
  // The bytes of constants that are held now.
  virtual std::size_t constant_bytes() const = 0;
  // Creates the memory that contexts of this device run in; it allocates when contexts are made.
  virtual std::shared_ptr<DeviceArena> make_arena(DeviceArena::Growth growth) = 0;
  // Creates everything that a run of the program needs: room in `arena`, which make_arena() of this
  // backend or of another one of its device has made, pipelines, recorded commands. Other contexts
  // settle() where that moves the arena, also after an error. `stop` (it may be null) ends it with
  // its error.
  virtual Result<std::unique_ptr<ExecutionContext>> make_context(
      std::shared_ptr<const Program> program, std::shared_ptr<DeviceArena> arena,
      const Stop* stop) = 0;
};

// A device that makes backends.
class BackendDevice : public Device {
 public:
  using Device::Device;
  virtual Result<std::shared_ptr<Backend>> make_backend() = 0;
  virtual Result<std::unique_ptr<TensorMemory>> make_tensor_memory(std::size_t bytes) = 0;
};

}  // namespace quern
