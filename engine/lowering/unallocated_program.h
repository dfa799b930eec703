// SPDX-License-Identifier: Apache-2.0
// A program before its buffers lie anywhere: steps in an order that works, over bytes with names.
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

// Whose memory: that of the host, or of the device that the program is for.
enum class Space : std::uint8_t { host, device };

// Bytes with one owner: a piece of an arena, an input, an output or a constant.
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

// A tensor in one layout; without a buffer: no operand.
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
  // What may lie in the place of what, and whether that leaves it nothing to do.
  std::vector<StepGraph::Share> shares;
  bool only_copies = false;
  StepMeaning meaning;  // operands are added with the addresses
};

struct UnallocatedProgram {
  std::vector<Buffer> buffers;
  std::vector<UnallocatedStep> steps;

  BufferId add(Buffer buffer);
  // A piece of this arena.
  BufferId add(Space space, std::size_t bytes, std::string name);
  const Buffer& buffer(const Place& place) const { return buffers[place.buffer]; }
  Space space_of(const Place& place) const { return buffer(place).space(); }
  // The operands are those of `choice`, which says what may share bytes. `meaning` has no operands.
  void append(Step step, std::span<const Place> inputs, std::span<const Place> outputs,
              const KernelChoice& choice = {}, StepMeaning meaning = {});
};

// Where a step takes memory for the length of its work.
inline Space scratch_space(const Step& step) {
  return step.kind == Step::Kind::device ? Space::device : Space::host;
}

// Where a kernel reads and writes.
inline Space space_of(const KernelChoice& choice) {
  return choice.kernel ? Space::host : Space::device;
}

// The step that does the work of a kernel, which it takes. Constants on a device and what people
// read are the caller's to add.
Step step_of(KernelChoice& choice);

}  // namespace quern::lowering
