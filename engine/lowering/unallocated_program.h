// SPDX-License-Identifier: Apache-2.0
// A program before memory planning: steps in a valid order over named buffers without addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/compile/program.h"
#include "engine/compile/program_check.h"
#include "graph/memory/order/step_graph.h"
#include "kernels/contract/kernel.h"

namespace quern::lowering {

using BufferId = std::uint32_t;
inline constexpr BufferId no_buffer = 0xffffffff;

// The memory of the host, or of the device that the program is for.
enum class Space : std::uint8_t { host, device };

// A buffer: a range of an arena, an input, an output or a constant.
struct Buffer {
  using Base = Step::Operand::Base;

  Base base = Base::arena;
  std::uint32_t index = 0;  // of an input, an output or a device constant
  const std::byte* constant = nullptr;
  std::size_t bytes = 0;
  std::string name;

  Space space() const {
    return base == Base::device_arena || base == Base::device_constant ? Space::device
                                                                       : Space::host;
  }
  bool in_arena() const { return base == Base::arena || base == Base::device_arena; }
};

// A tensor in one layout; an absent operand has no buffer.
struct Place {
  BufferId buffer = no_buffer;
  std::uint64_t offset = 0;  // bytes
  TensorDesc desc;

  bool present() const { return buffer != no_buffer; }
};

struct UnallocatedStep {
  Step step;  // without operands
  std::vector<Place> inputs;
  std::vector<Place> outputs;
  // The buffers that may share bytes. `only_copies`: the step has no work to do if they all do.
  std::vector<StepGraph::Share> shares;
  bool only_copies = false;
  StepMeaning meaning;  // its operands are added when addresses are known
};

struct UnallocatedProgram {
  std::vector<Buffer> buffers;
  std::vector<UnallocatedStep> steps;

  BufferId add(Buffer buffer);
  // Adds a buffer in the arena of this memory.
  BufferId add(Space space, std::size_t bytes, std::string name);
  const Buffer& buffer(const Place& place) const { return buffers[place.buffer]; }
  Space space_of(const Place& place) const { return buffer(place).space(); }
  // Appends a step. The operands are those of `choice`, which tells which may share bytes.
  // `meaning` has no operands yet.
  void append(Step step, std::span<const Place> inputs, std::span<const Place> outputs,
              const KernelChoice& choice = {}, StepMeaning meaning = {});
};

// The memory that a step's scratch is in.
inline Space scratch_space(const Step& step) {
  return step.kind == Step::Kind::device ? Space::device : Space::host;
}

// The memory that a kernel reads and writes.
inline Space space_of(const KernelChoice& choice) {
  return choice.is_on_host() ? Space::host : Space::device;
}

// Makes the step for a kernel and moves the kernel out of `choice`. The caller adds constants on a
// device and the texts for display.
Step step_of(KernelChoice& choice);

}  // namespace quern::lowering
