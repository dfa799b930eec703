// SPDX-License-Identifier: Apache-2.0
// Fits buffers into a capacity from the lowest place up, with many partial placements side by side.
//
// What is placed forms a skyline over the sections. In each placement the lowest place that is free
// is filled next, by each buffer that may lie there; of all that come of it the most promising are
// kept: little wasted, few steps in the skyline. It finds what depth first does not, and proves
// nothing. Offsets, sizes and the capacity are in units, as in exact_search.h.
#pragma once

#include "graph/memory/packing/exact_search.h"

namespace quern {

struct BeamStyle {
  std::size_t width = 1;  // placements that are kept
  std::int64_t bound = 1;
  std::int64_t capacity = 0;
};

class BeamSearch {
 public:
  virtual ~BeamSearch() = default;
  // Steps are placements that were made. `infeasible` says only that none was found.
  virtual SearchResult run(const BeamStyle& style, SearchBudget budget) = 0;
  virtual std::int64_t steps() const = 0;                 // of all runs
  virtual std::vector<std::int64_t> offsets() const = 0;  // after `feasible`
};

// Null where buffers have fixed offsets.
std::unique_ptr<BeamSearch> make_beam_search(std::span<const SearchBuffer> buffers,
                                             std::int32_t sections);

}  // namespace quern
