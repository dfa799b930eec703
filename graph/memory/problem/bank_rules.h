// SPDX-License-Identifier: Apache-2.0
// What must hold of the banks of a problem, and of those of a plan.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

// The least common multiple, or more than any offset can be where it has no 64 bits.
std::uint64_t common_multiple(std::uint64_t a, std::uint64_t b);

// The choices of an interval; where the problem has none, those that leave it free.
const BankChoice& choice_of(const MemoryProblem& problem, std::size_t interval);

// The part of check() that is about banks: their names, alignments and costs, and the choices.
Status check_banks(const MemoryProblem& problem);

// The part of validate() that is about banks; each of them is validated as a plan of its own.
Status validate_banks(const MemoryProblem& problem, const MemoryPlan& plan);

// Of each bank, the intervals that lie in it by `banks`.
std::vector<std::vector<std::uint32_t>> members_of_banks(const MemoryProblem& problem,
                                                         std::span<const std::uint32_t> banks);

// Of each interval of a valid plan, whether it is reused (see cost_of) in a bank with a price for
// it.
std::vector<char> reused_buffers(const MemoryProblem& problem, const MemoryPlan& plan);

}  // namespace quern
