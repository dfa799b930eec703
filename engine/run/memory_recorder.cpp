// SPDX-License-Identifier: Apache-2.0
#include "engine/run/memory_recorder.h"

#include <algorithm>

namespace quern {

using EventKind = Session::MemoryEvent::Kind;

MemoryRecorder::Id MemoryRecorder::allocate(std::size_t bytes, std::size_t alignment) {
  const Id id = live_.size();
  events_.push_back({EventKind::allocate, id, bytes, alignment});
  live_.push_back(true);
  return id;
}

void MemoryRecorder::free(Id id) {
  if (id >= live_.size() || !live_[id]) return;
  events_.push_back({EventKind::free, id, 0, 0});
  live_[id] = false;
}

void MemoryRecorder::play(const MemoryProblem& problem, std::size_t steps, std::vector<Id>& kept) {
  struct Change {
    std::int64_t time;
    EventKind kind;
    std::size_t interval;
  };
  std::vector<Change> changes;
  const auto end = static_cast<std::int64_t>(steps);
  for (std::size_t i = 0; i < problem.intervals.size(); ++i) {
    changes.push_back({problem.intervals[i].first, EventKind::allocate, i});
    changes.push_back({problem.intervals[i].end, EventKind::free, i});
  }
  std::ranges::stable_sort(changes, [](const Change& a, const Change& b) {
    return a.time != b.time ? a.time < b.time
                            : a.kind == EventKind::free && b.kind == EventKind::allocate;
  });
  std::vector<Id> ids(problem.intervals.size());
  for (const Change& c : changes) {
    const Interval& i = problem.intervals[c.interval];
    Id& id = ids[c.interval];
    if (c.kind == EventKind::allocate)
      id = allocate(i.size, i.alignment);
    else if (c.time > end)
      kept.push_back(id);
    else
      free(id);
  }
}

void MemoryRecorder::free_all(std::vector<Id>& kept) {
  for (const Id id : kept) free(id);
  kept.clear();
}

std::vector<Session::MemoryEvent> MemoryRecorder::finish() {
  for (Id id = 0; id < live_.size(); ++id) free(id);
  return std::move(events_);
}

}  // namespace quern
