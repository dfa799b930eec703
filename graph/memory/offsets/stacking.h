// SPDX-License-Identifier: Apache-2.0
// Places each buffer on top of all that live with it: no gap is searched, so that the time is near
// linear however many buffers live at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/memory/problem/plan.h"

namespace quern {

// Places all buffers in `order` (each listed once), but those with fixed offsets first. The first
// offsets.size() buffers of `order` are already placed at `offsets`.
MemoryPlan stacked(const MemoryProblem& problem, std::span<const std::uint32_t> order,
                   std::span<const std::uint64_t> offsets = {});

// The smallest of some orders; stops at a plan that reaches the bound.
MemoryPlan best_stacked(const MemoryProblem& problem);

// Pairs of buffers that live at one time: what a search for gaps looks at.
std::uint64_t pairs_at_once(const MemoryProblem& problem);

}  // namespace quern
