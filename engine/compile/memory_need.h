// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include <quern/executable.h>

#include "engine/compile/plan.h"
#include "graph/memory/pools/pool.h"

namespace quern {

// Of a session that goes through these plans, with these inputs (of which only the types are read).
// The pool is asked what it would reserve for the blocks that are known.
MemoryNeed memory_need(std::span<const std::shared_ptr<const PlanNode>> partition,
                       std::span<const RuntimeValue> inputs, std::size_t weights,
                       const MemoryPoolKind& pool);

}  // namespace quern
