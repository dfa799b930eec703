// SPDX-License-Identifier: Apache-2.0
// Banks of quern plan: the option that gives them, and what is shown of plans over them.
#pragma once

#include <string>
#include <vector>

#include "graph/memory/problem/plan.h"
#include "tools/console.h"
#include "tools/json.h"

namespace quern::tools {

// Puts the banks of "NAME=BYTES[:COST[:REUSE]]" into the problem, in the place of those that it
// has; without texts it is left as it is. Bytes are as in "64KiB", or "any". Choices of a file name
// banks of the file: such a file keeps its own.
Status set_banks(const std::vector<std::string>& texts, MemoryProblem& problem);

// A strategy's plan of a problem with banks.
struct BanksRow {
  std::string strategy;
  const PlanAnswer* answer = nullptr;
  double plan_ms = 0;
};
std::string banks_table(const MemoryProblem& problem, const std::vector<BanksRow>& rows,
                        const Console& console);
// Adds cost, its bound and the banks to what is told of a plan.
void add_banks(Json& json, const MemoryProblem& problem, const PlanAnswer& answer);

}  // namespace quern::tools
