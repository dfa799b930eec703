// SPDX-License-Identifier: Apache-2.0
// The last phase of lowering: assigns an offset to every buffer and an address to every operand.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/lowering/schedule.h"
#include "engine/lowering/unallocated_program.h"

namespace quern::lowering {

struct ArenaOptions {
  const Strategy* strategy = nullptr;  // null: the default
  bool order = true;
  bool alias = true;
  // The alignment of parts that are made in their place in a result on the host, in bytes; 0: as of
  // all buffers.
  std::uint64_t inner_alignment = 0;
  // The alignment in bytes for a device with its own memory; 0: there is no such device.
  std::uint64_t device_alignment = 0;
  PlaceFn place = place_plainly;  // for what is not known
  const Stop* stop = nullptr;     // ends the searches with its error
  // What a lowering before has found, in the order in which memories are placed; where it does not
  // fit, it is searched for.
  std::span<const MemoryChoice> known = {};
  std::vector<MemoryChoice>* found = nullptr;    // receives the same of this one, if not null
  std::atomic<std::size_t>* searches = nullptr;  // counts the memories that are searched
};

// Moves the steps of the unallocated program that have work to do to `program` and fills in the
// memory fields of `program`, whose outputs are already set. Returns the meaning of each step.
Result<std::vector<StepMeaning>> place_in_arenas(UnallocatedProgram unallocated,
                                                 const ArenaOptions& options, Program& program);

}  // namespace quern::lowering
