// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "graph/memory/problem/plan.h"

namespace quern {

// Empty where buffers have fixed places, or where it would take long.
std::optional<MemoryPlan> skyline_plan(const MemoryProblem& problem);

}  // namespace quern
