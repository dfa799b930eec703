// SPDX-License-Identifier: Apache-2.0
// Plans of very many buffers of short lives, by gap_packing.h: beams over the sections, from the
// first, or from the fullest in both directions. All is by lot from fixed seeds: attempts are the
// same everywhere.
#pragma once

#include <memory>
#include <optional>

#include "graph/memory/packing/exact.h"

namespace quern {

class PackingSearch {
 public:
  explicit PackingSearch(const MemoryProblem& problem);
  ~PackingSearch();

  // No buffer has a fixed place or an alignment of its own, and the lives are not too long in sum.
  bool suits() const;
  // The next attempt, at a size between the bound and `best`, in a beam that is wider with each
  // few. It may come to more than `best`. Empty: `ends` was reached, or it
  // would take too long.
  std::optional<MemoryPlan> attempt(std::uint64_t best, const SearchEnds* ends);
  // Buffers that the next attempt places, in all packings.
  std::int64_t next_steps() const;
  bool simple() const;              // the next attempt is no beam
  std::uint64_t next_work() const;  // of the next attempt, about: some ten nanoseconds each

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
