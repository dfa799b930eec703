// SPDX-License-Identifier: Apache-2.0
// Peaks first: buffers that are live where nearly as much is live as ever are a problem by
// themselves, small enough for a search. The others go into what its plan leaves, which is much of
// the arena wherever they are live.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "graph/memory/offsets/placer.h"
#include "graph/memory/problem/lives.h"

namespace quern {

class PeakSearch {
 public:
  // Plans a problem of a few thousand buffers at most.
  using PlanPeaks = std::function<MemoryPlan(const MemoryProblem&)>;

  explicit PeakSearch(const MemoryProblem& problem);  // which outlives it

  // The next attempt counts lower sections among the peaks. Empty: too many buffers are live there,
  // or fewer could not be planned well.
  std::optional<MemoryPlan> attempt(const PlanPeaks& plan_peaks);

 private:
  // Buffers that are live where so much of the bound is, and all with fixed places.
  std::vector<char> at_peaks(double share) const;

  bool next_level();  // false: there is none
  enum class Around : std::uint8_t { nothing, settled };
  MemoryPlan planned(Around around, const PlanPeaks& plan_peaks);
  MemoryPlan with_rest(const Order& first, const MemoryPlan& plan);

  const MemoryProblem& problem_;
  std::uint64_t bound_;
  std::unique_ptr<Placer> placer_;  // when it is needed: it takes long
  Lives lives_;
  std::vector<std::uint64_t> totals_;                  // bytes live in each section
  std::size_t level_ = 0;                              // the next one
  std::vector<char> chosen_;                           // buffers at the peaks of this level
  std::ptrdiff_t count_ = 0;                           // of them
  bool is_good_ = true;                                // a plan of them
  bool around_settled_ = false;                        // is the next attempt
  std::vector<std::optional<std::uint64_t>> settled_;  // offsets of the last good plan of peaks
};

}  // namespace quern
