// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <quern/session.h>

#include "graph/memory/problem/plan.h"

namespace quern {

// Records the memory of a run as if every buffer were allocated at the start of its lifetime and
// freed at the end.
class MemoryRecorder {
 public:
  using Id = std::uint64_t;
  static constexpr Id none = ~Id{0};

  Id allocate(std::size_t bytes, std::size_t alignment);
  // Does nothing for `none` and for blocks that were allocated before the recording began.
  void free(Id id);
  // Records the buffers of a planned segment of `steps` steps. Its outputs, which outlive it, are
  // added to `kept`.
  void play(const MemoryProblem& problem, std::size_t steps, std::vector<Id>& kept);
  void free_all(std::vector<Id>& kept);
  // Frees all live buffers and returns the events.
  std::vector<Session::MemoryEvent> finish();

 private:
  std::vector<Session::MemoryEvent> events_;
  std::vector<bool> live_;  // by id
};

}  // namespace quern
