// SPDX-License-Identifier: Apache-2.0
// Searches for a smaller plan of buffers that at times are only partly live, or proves that there
// is none.
//
// Two buffers that live at one time keep the difference of their offsets out of some ranges; what
// is left are its choices. The search takes a choice for one pair after the other and tightens the
// lowest and the highest offset of each buffer, as in disjunctive scheduling (Carlier and Pinson,
// "An algorithm for solving the job-shop problem", 1989). Pairs that led to failures are decided
// first (Boussemart et al., "Boosting systematic search by weighting constraints", 2004). Every
// choice is tried, so that "infeasible" is a proof, which the exact search, for which a buffer is
// whole or not there, cannot give.
#pragma once

#include "graph/memory/packing/exact.h"

namespace quern {

// Begins with `plan`. For problems with very many pairs its rounds do nothing.
std::unique_ptr<PlanSearch> make_pair_search(const MemoryProblem& problem, MemoryPlan plan,
                                             std::uint64_t capacity, SearchEnds& ends);

}  // namespace quern
