// SPDX-License-Identifier: Apache-2.0
// Placement strategies that are not ours: a program that reads and writes CSV, or a shared object.
#pragma once

#include <functional>
#include <string>

#include "graph/memory/problem/plan.h"

namespace quern::tools {

struct NamedStrategy {
  std::string name;
  std::function<Result<PlanAnswer>(const MemoryProblem&, const PlanLimits&)> plan;
};

// "exec:PROGRAM" or "exec:PROGRAM ARGUMENT ..." (words between spaces; no shell sees them), which
// gets two more arguments, the capacity (0: any) and the seconds; or "so:FILE", see
// quern/c/strategy.h.
bool is_external(const std::string& name);
NamedStrategy external_strategy(const std::string& name);

}  // namespace quern::tools
