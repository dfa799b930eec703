// SPDX-License-Identifier: Apache-2.0
// A local search over plans with banks: some buffers that live at one time are taken out and put
// back in another order, again and again (Shaw, "Using constraint programming and local search
// methods to solve vehicle routing problems", 1998: large neighbourhoods). What costs no more
// stays.
#pragma once

#include "graph/memory/banks/bank_packing.h"
#include "graph/memory/banks/bank_placer.h"
#include "graph/memory/packing/exact.h"

namespace quern {

// The best plan found from `best` on, which may have none, until `ends` or until `enough`, a cost.
// Steps are buffers that are put back. Equal seeds give equal plans.
PlanAnswer exchanged(BankPlacer& placer, const BankItems& items, PlanAnswer best,
                     std::uint64_t enough, SearchEnds& ends);

// Moves of single items into cheaper banks, which `pack` packs anew around them.
PlanAnswer promoted(const MemoryProblem& problem, const BankItems& items, PlanAnswer best,
                    PackFn pack, SearchEnds& ends);

}  // namespace quern
