// SPDX-License-Identifier: Apache-2.0
// Plans of many buffers: the lowest valley of a skyline is filled next, with what fits best there.
//
// A valley is a stretch of sections of one height between higher walls. What goes into it covers
// the section that has the most still to carry, lives long, and rests against the walls. Memory is
// wasted only where nothing that waits lies inside of the valley: then its floor is raised, and
// what was kept back for that, of small size x life, fills the hole. When the rest is placed, it
// comes on top.
//
// Attempts are simple at first, each with other buffers kept back. Later ones are beams: from a
// few skylines on, some buffers are placed in several ways, those with little waste and low walls
// are kept, and so on. All is by lot from fixed seeds: attempts are the same everywhere.
#pragma once

#include <memory>
#include <optional>

#include "graph/memory/packing/exact.h"

namespace quern {

class ValleySearch {
 public:
  explicit ValleySearch(const MemoryProblem& problem);
  ~ValleySearch();

  // Fixed places are not minded.
  bool suits() const;
  // The next attempt at less than `below` bytes; empty: it came to nothing. `ends`, if any, stop a
  // beam.
  std::optional<MemoryPlan> attempt(std::uint64_t below, const SearchEnds* ends);
  bool simple() const;  // the next attempt is
  // Buffers that the next attempt places, in all skylines; 0: it is simple, or there is no use.
  std::int64_t next_steps() const;
  std::uint64_t next_work() const;  // of the next attempt, about, if it is a beam
  std::uint64_t work() const;       // of all attempts; some ten nanoseconds each

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
