// SPDX-License-Identifier: Apache-2.0
// The exact search over banks: every buffer is given a bank, and in a bank with a price for reuse
// either memory that no other buffer held before, or memory whose reuse it pays. Branch and bound
// over both, the largest buffers first, each in its cheapest way first; a branch ends where what it
// costs at least (Spill) is no less than the best plan. Where all is decided, the exact search of
// one memory says of each bank whether it holds its buffers. Where it does not, the fewest of the
// first decisions are found that fail by themselves, and those after them are not tried again.
#pragma once

#include "graph/memory/banks/items.h"
#include "graph/memory/packing/exact.h"

namespace quern {

// With more buffers the search goes too deep to prove anything.
constexpr std::size_t most_assigned = 256;

// The best of `first` and what is found until `ends`, with what is proven. Steps are buffers that
// are given a bank, and those of the exact search; they are taken from `ends`.
PlanAnswer search_assignments(const MemoryProblem& problem, const BankItems& items,
                              PlanAnswer first, SearchEnds& ends);

}  // namespace quern
