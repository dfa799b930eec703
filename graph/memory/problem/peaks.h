// SPDX-License-Identifier: Apache-2.0
// Plans the peaks first: the buffers that are live where the live bytes are near their maximum form
// a problem of their own, small enough for a search. The others go into the remaining space, which
// is much of the arena wherever they are live.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "graph/memory/offsets/placer.h"
#include "graph/memory/problem/lives.h"

namespace quern {

class PeakSearch {
 public:
  // Plans a problem of at most a few thousand buffers.
  using PlanPeaks = std::function<MemoryPlan(const MemoryProblem&)>;

  explicit PeakSearch(const MemoryProblem& problem);  // must outlive it

  // Each attempt counts lower sections among the peaks. Returns nothing if too many buffers are
  // live there, or if fewer could not be planned well.
  std::optional<MemoryPlan> attempt(const PlanPeaks& plan_peaks);

 private:
  // Marks the buffers that are live where at least `share` of the bound is live, and all with fixed
  // offsets.
  std::vector<char> at_peaks(double share) const;

  bool next_level();  // false if there is none
  enum class Around : std::uint8_t { nothing, settled };
  MemoryPlan planned(Around around, const PlanPeaks& plan_peaks);
  MemoryPlan with_rest(const Order& first, const MemoryPlan& plan);

  const MemoryProblem& problem_;
  std::uint64_t bound_;
  std::unique_ptr<Placer> placer_;  // created when needed: it takes long
  Lives lives_;
  std::vector<std::uint64_t> totals_;                  // bytes live in each section
  std::size_t level_ = 0;                              // the next one
  std::vector<char> chosen_;                           // buffers at the peaks of this level
  std::ptrdiff_t count_ = 0;                           // number of chosen buffers
  bool is_good_ = true;                                // the plan of the chosen buffers is good
  bool around_settled_ = false;                        // the next attempt is Around::settled
  std::vector<std::optional<std::uint64_t>> settled_;  // offsets of the last good plan of peaks
};

}  // namespace quern
