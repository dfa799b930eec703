// SPDX-License-Identifier: Apache-2.0
// The last phase of lowering: assigns an offset to every buffer and an address to every operand.
#pragma once

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
  const Stop* stop = nullptr;  // ends the searches with its error
};

// Moves the steps of the unallocated program that have work to do to `program` and fills in the
// memory fields of `program`, whose outputs are already set. Returns the meaning of each step.
Result<std::vector<StepMeaning>> place_in_arenas(UnallocatedProgram unallocated,
                                                 const ArenaOptions& options, Program& program);

}  // namespace quern::lowering
