// SPDX-License-Identifier: Apache-2.0
// Beam search that fits buffers into a capacity from the lowest place up.
//
// The placed buffers form a skyline over the sections. Each partial placement is extended at its
// lowest free place by each buffer that may lie there; of all results the most promising are kept:
// little waste, few steps in the skyline. It finds placements that a depth-first search misses, but
// proves nothing. Offsets, sizes and the capacity are in units, as in exact_search.h.
#pragma once

#include "graph/memory/packing/exact_search.h"

namespace quern {

struct BeamStyle {
  std::size_t width = 1;  // partial placements kept
  std::int64_t bound = 1;
  std::int64_t capacity = 0;
};

class BeamSearch {
 public:
  virtual ~BeamSearch() = default;
  // Counts placements as steps. `infeasible` only means that no placement was found.
  virtual SearchResult run(const BeamStyle& style, SearchBudget budget) = 0;
  virtual std::int64_t steps() const = 0;                 // of all runs
  virtual std::vector<std::int64_t> offsets() const = 0;  // after `feasible`
};

// Null if buffers have fixed offsets.
std::unique_ptr<BeamSearch> make_beam_search(std::span<const SearchBuffer> buffers,
                                             std::int32_t sections);

}  // namespace quern
