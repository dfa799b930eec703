// SPDX-License-Identifier: Apache-2.0
// The end of lowering: every buffer gets its place, every operand its address.
#pragma once

#include "engine/lowering/unallocated_program.h"

namespace quern::lowering {

struct ArenaOptions {
  const Strategy* strategy = nullptr;  // null: the default
  bool order = true;
  bool alias = true;
  // Of a device with memory of its own; 0: there is none.
  std::uint64_t device_alignment = 0;
};

// The steps of the unallocated program that have something to do become those of `program`, and all
// that it says of memory is set; its outputs are known. Says what each step is for.
Result<std::vector<StepMeaning>> place_in_arenas(UnallocatedProgram unallocated,
                                                 const ArenaOptions& options, Program& program);

}  // namespace quern::lowering
