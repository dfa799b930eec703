// SPDX-License-Identifier: Apache-2.0
// Memory problems and plans in the CSV format of MiniMalloc.
//
// A header, then one buffer a line; columns in any order:
//   id,lower,upper,size[,alignment][,hint][,gaps][,offset][,zero][,banks][,bank]...
// A buffer is live in the steps [lower, upper). Also: `buffer` or `buffer_id` for id, `start` or
// `begin` for lower, and `end` for an upper that is part of the life, in gaps too. `alignment` is 1
// unless given; `hint` is read and not used; `gaps` are "first-end" or "first-end@from:to" with
// spaces between them; `offset` is a fixed place, none when it is empty or -1; `zero` (ours) is 0
// or 1. An empty line ends the file.
//
// Banks (ours) are a table of their own before that of the buffers, ended by an empty line:
//   bank,capacity[,alignment][,cost][,reuse]
// where an empty capacity is no limit. Buffers then may have the columns `banks`, the names of
// those in which it may lie with spaces between them; `bank`, the one that a plan has put it in;
// `separation` and `colocation`, numbers of groups. Empty cells leave a buffer free.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

// The problem, checked. Errors name the line.
Result<MemoryProblem> read_memory_csv(std::string_view text);

// Includes the offsets of `plan`, and the banks, unless it is null.
std::string write_memory_csv(const MemoryProblem& problem, const MemoryPlan* plan);

}  // namespace quern
