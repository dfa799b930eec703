// SPDX-License-Identifier: Apache-2.0
// A static graph as it runs: kernels in order over one arena, or over one of the host and one of a
// device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/memory/problem/plan.h"
#include "kernels/contract/kernel.h"

namespace quern {

// A kernel on the host, dispatches on the device, or bytes that go from one to the other.
struct Step {
  enum class Kind : std::uint8_t { host, device, upload, download };
  // Where an operand lies: an offset from one of the places that a run binds, or a constant's
  // address.
  struct Operand {
    enum class Base : std::uint8_t {
      none,
      arena,
      input,
      output,
      constant,
      device_arena,
      device_constant
    };

    Base base = Base::none;
    std::uint32_t index = 0;   // of the input, output or device constant
    std::uint64_t offset = 0;  // bytes
    const std::byte* constant = nullptr;
  };

  Kind kind = Kind::host;
  std::unique_ptr<CpuKernel> kernel;         // of host
  std::vector<Dispatch> dispatches;          // of device
  std::vector<std::uint32_t> gpu_constants;  // ... its own, among Program::device_constants
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  std::vector<std::uint64_t> input_bytes;   // of operands on a device: from their first to their
  std::vector<std::uint64_t> output_bytes;  // last byte
  std::size_t scratch_bytes = 0;
  std::uint64_t scratch_offset = 0;
  // Of a data-dependent op: graph output that each output is, whose shape the run tells.
  std::vector<std::int32_t> dynamic_outputs;
  // For people.
  std::string node;
  std::string op;
  std::string implementation;
  std::string shapes;
  std::string layouts;  // empty: row-major
  Cost cost;
};

// Immutable, shared by sessions.
struct Program {
  std::vector<Step> steps;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;            // of dynamic ones: the largest
  std::vector<std::uint64_t> output_offsets;  // in the arena, unless the run binds its own place
  std::uint64_t arena_bytes = 0;
  MemoryProblem memory_problem;
  MemoryPlan memory_plan;
  std::uint64_t plain_bound = 0;  // lower bound in the graph's own order, without spared copies
  bool order_is_optimal = false;  // proven
  int threads = 1;
  std::vector<std::shared_ptr<const void>> kept;  // constants that kernels point at
  // Of a device with memory of its own.
  MemoryProblem device_problem;
  MemoryPlan device_plan;
  std::vector<std::shared_ptr<const void>> device_constants;  // what Backend::constant() gave
  std::vector<std::string> fallbacks;  // nodes that have no kernel for the device
};

}  // namespace quern
