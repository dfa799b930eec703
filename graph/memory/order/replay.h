// SPDX-License-Identifier: Apache-2.0
// Checks that a schedule gives every step the values that it would read if no two buffers shared
// bytes.
#pragma once

#include <cstdint>
#include <span>

#include "engine/vocabulary/work.h"
#include "graph/memory/order/groups.h"

namespace quern::scheduling {

// A step reads all its operands while it writes: what it writes may only overlap an operand that it
// may write over, or one that it is spared to copy. `reads` and `writes` are its uses of one root.
bool reads_and_writes_apart(const StepGraph& g, const Schedule& s, const StepGraph::Step& step,
                            std::span<const Use> reads, std::span<const Use> writes);

// Plays the steps that use a root, and compares at every read what lies there with what should.
// Returns false, too, if the work is spent before the end.
bool group_holds(const StepGraph& g, const Schedule& s, const Groups& groups, std::uint32_t root,
                 Work& work);

}  // namespace quern::scheduling
