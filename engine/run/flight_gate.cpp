// SPDX-License-Identifier: Apache-2.0
#include "engine/run/flight_gate.h"

#include <algorithm>
#include <chrono>

#include "kernels/contract/worker_pool.h"

namespace quern {

FlightGate::FlightGate(const FlightPlan& plan) : plan_(plan), runs_(plan.runs.size()) {
  for (Run& r : runs_) r.passed.resize(runs_.size(), nothing);
}

void FlightGate::wake() {
  if (waiting_ > 0) changed_.notify_all();
}

void FlightGate::begin(std::size_t run) {
  const std::lock_guard lock(mutex_);
  Run& r = runs_[run];
  if (std::ranges::all_of(runs_, [](const Run& o) { return o.next == not_begun; }))
    for (Run& o : runs_) o.start = nothing;
  // After its last round, so that who waits for that does not wait for this; not further behind the
  // others than a round; and after all turns that they rest on.
  std::int64_t after = r.start;
  for (std::size_t other = 0; other < runs_.size(); ++other) {
    const Run& o = runs_[other];
    if (o.next == not_begun) continue;
    after = std::max({after, o.passed[run], o.next - plan_.circle});
  }
  r.start = plan_.runs[run].start;
  if (after != nothing && after >= r.start)
    r.start += ((after - r.start) / plan_.circle + 1) * plan_.circle;
  r.next = r.start;
  std::ranges::fill(r.passed, nothing);
  ++counters_.runs;
  counters_.most_at_once = std::max(counters_.most_at_once, ++in_progress_);
}

void FlightGate::end(std::size_t run) {
  const std::lock_guard lock(mutex_);
  runs_[run].next = not_begun;
  --in_progress_;
  wake();
}

bool FlightGate::may_begin(std::size_t run, std::size_t step) const {
  for (std::size_t other = 0; other < runs_.size(); ++other) {
    const std::uint32_t wait = plan_.wait(run, step, other);
    if (wait && runs_[other].next <= runs_[run].next - wait) return false;
  }
  return true;
}

Status FlightGate::wait_for_turn(std::unique_lock<std::mutex>& lock, const Passage& passage,
                                 std::size_t step, const Stop* stop) {
  // A cancelled run is not woken: its flag is looked at as often as kernels look.
  constexpr auto look_every = std::chrono::milliseconds(2);
  const auto begin = std::chrono::steady_clock::now();
  const PoolRest rest(passage.pool_);
  Status status;
  do {
    if (stop) status = stop->check();
    if (!status.ok()) break;
    ++waiting_;
    // By the system's clock, whose waits ThreadSanitizer knows: a clock that is set only changes
    // when the flag is looked at.
    if (stop)
      changed_.wait_until(lock, std::chrono::system_clock::now() + look_every);
    else
      changed_.wait(lock);
    --waiting_;
  } while (!may_begin(passage.run_, step));
  const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - begin;
  ++counters_.waits;
  counters_.wait_ns += static_cast<std::uint64_t>(waited.count());
  return status;
}

Status FlightGate::step(const Passage& passage, std::size_t step, const Stop* stop) {
  const std::size_t run = passage.run_;
  std::unique_lock lock(mutex_);
  Run& r = runs_[run];
  r.next = r.start + plan_.runs[run].turns[step];
  wake();
  if (!may_begin(run, step)) QUERN_TRY(wait_for_turn(lock, passage, step, stop));
  for (std::size_t other = 0; other < runs_.size(); ++other)
    if (const std::uint32_t wait = plan_.wait(run, step, other))
      r.passed[other] = std::max(r.passed[other], r.next - wait);
  return {};
}

RunGroupCounters FlightGate::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace quern
