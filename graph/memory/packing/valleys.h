// SPDX-License-Identifier: Apache-2.0
// Plans for many buffers: repeatedly fills the lowest valley of a skyline with the buffer that fits
// best.
//
// A valley is a stretch of sections of equal height between higher walls. The buffer chosen for it
// covers the section that has the most bytes still to place, lives long, and rests against the
// walls. Memory is wasted only if no waiting buffer fits inside the valley: then its floor is
// raised, and a buffer of small size x life that was held back for this fills the hole. The
// held-back buffers that remain in the end go on top.
//
// The first attempts are simple, each with other buffers held back. Later ones are beam searches:
// each of a few skylines is extended by some buffers in several ways, and those with little waste
// and low walls are kept. All random choices use fixed seeds: attempts are the same everywhere.
#pragma once

#include <memory>
#include <optional>

#include "graph/memory/packing/exact.h"

namespace quern {

class ValleySearch {
 public:
  explicit ValleySearch(const MemoryProblem& problem);
  ~ValleySearch();

  // False if a buffer has a fixed offset, which the search would not respect.
  bool suits() const;
  // Makes the next attempt at less than `below` bytes; returns nothing if it fails. `ends`, if not
  // null, can stop a beam search.
  std::optional<MemoryPlan> attempt(std::uint64_t below, const SearchEnds* ends);
  bool simple() const;  // the next attempt is simple
  // Number of buffers that the next attempt places, over all skylines; 0 if it is simple or
  // useless.
  std::int64_t next_steps() const;
  std::uint64_t next_work() const;  // estimate for the next attempt, if it is a beam search
  std::uint64_t work() const;       // of all attempts, in tens of nanoseconds

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
