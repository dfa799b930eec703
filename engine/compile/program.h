// SPDX-License-Identifier: Apache-2.0
// A static graph in executable form: kernels in order over one arena, or over a host arena and a
// device arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <quern/executable.h>
#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/memory/problem/plan.h"
#include "kernels/contract/kernel.h"

namespace quern {

struct Recipe;  // engine/lowering/recipe.h

// A kernel on the host, work of the device, or a copy between host and device.
struct Step {
  enum class Kind : std::uint8_t { host, device, upload, download };
  // The address of an operand: an offset from a base that a run binds, or the address of a
  // constant.
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
    // Of device_arena: 1 + the output of an update (Program::updates) in whose value it lies; 0: in
    // none.
    std::uint32_t update = 0;
  };

  Kind kind = Kind::host;
  std::unique_ptr<CpuKernel> kernel;         // of host
  std::vector<Dispatch> dispatches;          // of device, or `code`
  std::shared_ptr<const DeviceCode> code;    // of device: a region that is compiled as a whole
  std::vector<std::uint32_t> gpu_constants;  // of device: indices into Program::device_constants
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  std::vector<std::uint64_t> input_bytes;   // of operands on a device: from their first to their
  std::vector<std::uint64_t> output_bytes;  // last byte
  std::size_t scratch_bytes = 0;
  std::uint64_t scratch_offset = 0;
  // For a data-dependent op, whose run gives the shapes of its results: the outputs of the program
  // that results are. One result may be several, since equal nodes become one.
  struct DynamicOutput {
    std::uint32_t result, output;
  };
  bool is_data_dependent = false;
  bool flushes_denormals = false;  // of host: runs with denormal numbers taken for 0
  std::vector<DynamicOutput> dynamic_outputs;
  std::vector<Update> updates;  // by operands of the step
  // For display.
  std::string node;
  std::string op;
  std::string implementation;
  std::string_view entry = {};                      // KernelChoice::entry
  std::span<const CpuImplementation> entries = {};  // the list that it is of
  std::string work;                                 // KernelChoice::work_text
  std::string shapes;
  std::string layouts;  // empty: row-major
  Cost cost;
};

// Immutable, shared by sessions.
struct Program {
  std::vector<Step> steps;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;            // for dynamic outputs: the largest type
  std::vector<std::uint64_t> output_offsets;  // in the arena, unless the run binds its own memory
  std::vector<Update> updates;  // outputs that a run may bind to the memory of an input
  // Of a program for a device, by output: where in the device's arena the result of an update lies.
  // A run in place finds it in the tensor instead.
  std::vector<std::uint64_t> update_offsets;
  std::uint64_t arena_bytes = 0;
  MemoryProblem memory_problem;
  MemoryPlan memory_plan;
  std::uint64_t plain_bound = 0;  // lower bound in the graph's own order, if no copy is avoided
  bool order_is_optimal = false;  // proven
  bool is_searched = true;        // false: order and offsets are those of a list, to bound the time
  Team team;
  Stripes stripes = Stripes::none;                // chains of nodes
  std::vector<std::shared_ptr<const void>> kept;  // constants that kernels point at
  // The memory of a device that has its own.
  MemoryProblem device_problem;
  MemoryPlan device_plan;
  std::vector<std::shared_ptr<const void>> device_constants;  // results of Backend::constant()
  std::vector<std::string> fallbacks;    // nodes that have no kernel for the device
  std::shared_ptr<const Recipe> recipe;  // if one was to be recorded
  std::string work;                      // PlanInfo::work, of this segment
  std::size_t too_large = 0;             // of these, nodes with an operand that it cannot bind
};

// Of host and device.
inline std::uint64_t arena_bytes(const Program& program) {
  return program.arena_bytes + program.device_plan.size;
}

}  // namespace quern
