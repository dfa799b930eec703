// SPDX-License-Identifier: Apache-2.0
// Plans for very many short-lived buffers with gap_packing.h: beam searches over the sections, from
// the first one, or from the fullest one in both directions. All random choices use fixed seeds:
// attempts are the same everywhere.
#pragma once

#include <memory>
#include <optional>

#include "graph/memory/packing/exact.h"

namespace quern {

class PackingSearch {
 public:
  explicit PackingSearch(const MemoryProblem& problem);
  ~PackingSearch();

  // True if no buffer has a fixed offset or an alignment of its own, and the sum of the lives is
  // not too long.
  bool suits() const;
  // Makes the next attempt, at a size between the bound and `best`; every few attempts the beam
  // becomes wider. The plan may be larger than `best`. Returns nothing if `ends` was reached or the
  // attempt would take too long.
  std::optional<MemoryPlan> attempt(std::uint64_t best, const SearchEnds* ends);
  // Number of buffers that the next attempt places, over all packings.
  std::int64_t next_steps() const;
  bool simple() const;              // the next attempt is not a beam search
  std::uint64_t next_work() const;  // estimate for the next attempt, in tens of nanoseconds

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
