// SPDX-License-Identifier: Apache-2.0
// The table of strategies: a new one is a file and a row.
#include "graph/memory/plan.h"

namespace quern {
namespace {

constexpr Strategy table[] = {
    {"greedy-by-size", "largest first, each into the smallest gap that holds it", plan_greedy_by_size},
    {"none", "no two buffers share memory: for bisecting faults of drivers and kernels", plan_none},
};

}  // namespace

std::span<const Strategy> strategies() { return table; }

const Strategy* find_strategy(std::string_view name) {
  for (const Strategy& s : table)
    if (s.name == name) return &s;
  return nullptr;
}

}  // namespace quern
