// SPDX-License-Identifier: Apache-2.0
// Keeps the runs of a flight in the order of its plan, where they share memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

#include <quern/run_group.h>

#include "engine/run/flight_plan.h"
#include "engine/vocabulary/stop.h"

namespace quern {

// A run that begins gets a round of the plan, and so each of its steps a turn of its own in one
// order of all. A step waits only for steps of earlier turns, and only for runs that have begun: of
// the runs in progress, the one whose next step has the earliest turn never waits, and so they all
// end, whichever are never started and however many times each is. A step that found a run not
// begun keeps that run out of the turns that it would have waited for: the run gets a later round.
//
// Any thread; each run by one at a time. Allocates when it is made, not later.
class FlightGate {
 public:
  explicit FlightGate(const FlightPlan& plan);
  FlightGate(const FlightGate&) = delete;
  FlightGate& operator=(const FlightGate&) = delete;

  RunGroupCounters counters() const;

  // One run, from its first step to its end, however it ends.
  class Passage {
   public:
    // While a step waits, the run's thread does not count as one of `pool` (PoolCaller), if any.
    Passage(FlightGate* gate, std::size_t run, ThreadPool* pool = nullptr)
        : gate_(gate), run_(run), pool_(pool) {
      if (gate_) gate_->begin(run_);
    }
    ~Passage() {
      if (gate_) gate_->end(run_);
    }
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;
    // Ends the step before this one, and waits until this may begin. Errors: those of Stop.
    Status step(std::size_t step, const Stop* stop) {
      return gate_ ? gate_->step(*this, step, stop) : Status();
    }

   private:
    friend class FlightGate;
    FlightGate* gate_;
    std::size_t run_;
    ThreadPool* pool_;
  };

 private:
  static constexpr std::int64_t not_begun = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::min();

  struct Run {
    std::int64_t start = nothing;   // turn of its first step, also after its end
    std::int64_t next = not_begun;  // turn of the first step that has not ended
    // By other run: the last turn of it that this run's steps rest on.
    std::vector<std::int64_t> passed;
  };

  void begin(std::size_t run);
  void end(std::size_t run);
  Status step(const Passage& passage, std::size_t step, const Stop* stop);
  Status wait_for_turn(std::unique_lock<std::mutex>& lock, const Passage& passage, std::size_t step,
                       const Stop* stop);
  bool may_begin(std::size_t run, std::size_t step) const;
  void wake();

  const FlightPlan& plan_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t waiting_ = 0;
  std::vector<Run> runs_;
  std::size_t in_progress_ = 0;
  RunGroupCounters counters_;
};

}  // namespace quern
