// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <quern/session.h>

#include "graph/memory/problem/plan.h"

namespace quern {

// Writes down a run's memory as if every buffer were allocated when its life begins and freed when
// it ends.
class MemoryRecorder {
 public:
  using Id = std::uint64_t;
  static constexpr Id none = ~Id{0};

  Id allocate(std::size_t bytes, std::size_t alignment);
  // Nothing for `none`, and for what was allocated before the recording began.
  void free(Id id);
  // The buffers of a planned segment with so many steps. Those that outlive it, its outputs, are
  // added to `kept`.
  void play(const MemoryProblem& problem, std::size_t steps, std::vector<Id>& kept);
  void free_all(std::vector<Id>& kept);
  // Ends what still lives, too.
  std::vector<Session::MemoryEvent> finish();

 private:
  std::vector<Session::MemoryEvent> events_;
  std::vector<bool> live_;  // by id
};

}  // namespace quern
