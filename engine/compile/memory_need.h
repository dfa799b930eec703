// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include <quern/executable.h>

#include "engine/compile/plan.h"
#include "graph/memory/pools/pool.h"

namespace quern {

// Bytes that a session holds already, of earlier shapes.
struct HeldMemory {
  std::size_t arena = 0;         // of the host
  std::size_t device_arena = 0;  // see DeviceArena
  std::size_t staging = 0;
};

// The memory of a session that runs these plans with these inputs; only the types of the inputs are
// read. For the blocks of known size, a pool of kind `pool` tells how much it would reserve.
MemoryNeed memory_need(std::span<const std::shared_ptr<const PlanNode>> partition,
                       std::span<const RuntimeValue> inputs, std::size_t weights,
                       const MemoryPoolKind& pool, const HeldMemory& held = {});

}  // namespace quern
