// SPDX-License-Identifier: Apache-2.0
// The state of a session, and the steps of its runs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <quern/session.h>

#include "engine/compile/executable_impl.h"
#include "engine/run/runner.h"
#include "engine/run/shared_arena_impl.h"
#include "engine/run/worker.h"

namespace quern {

struct Session::Impl {
  using Clock = std::chrono::steady_clock;

  Impl(std::shared_ptr<const Executable> e, const SessionOptions& o)
      : executable(std::move(e)),
        team(executable->impl().team_of(o)),
        thread_pool(executable->impl().thread_pool_of(o)),
        arena(o.arena),
        memory(executable->impl().pool, executable->impl().options.host),
        runner(executable->impl().plans, team, memory, Runner::Graphs::session,
               arena ? &arena->impl().block : nullptr) {}

  std::shared_ptr<const Executable> executable;
  Team team;
  std::shared_ptr<ThreadPool> thread_pool;  // null: OpenMP's
  std::shared_ptr<SharedArena> arena;
  std::shared_ptr<SharedFlight> flight_group;  // null: no run of a group
  std::vector<MemoryBlock> own_outputs;        // of a run of a group, by output of the model
  std::uint64_t run_in_arena = 0;              // the arena's run counter at the last run
  RunMemory memory;
  Runner runner;
  std::vector<RuntimeValue> inputs;
  std::vector<bool> is_set;
  std::vector<BoundOutput> bound;   // by output of the model
  std::vector<std::size_t> wanted;  // ascending
  std::vector<BoundOutput> bound_wanted;
  std::vector<std::shared_ptr<DeviceTensor>> input_tensors;   // by input; null: on the host
  std::vector<std::shared_ptr<DeviceTensor>> output_tensors;  // by output of the model
  std::vector<TensorMemory*> device_inputs, device_outputs;   // of a run
  std::size_t memory_limit = std::numeric_limits<std::size_t>::max();
  std::atomic<bool> cancelled = false;
  bool has_run = false;

  void note_input(std::size_t index, RuntimeValue::Kind kind) {  // that is no DeviceTensor
    inputs[index].kind = kind;
    is_set[index] = true;
    input_tensors[index] = nullptr;
  }
  // A run that was submitted: on the device, or on the worker.
  enum class Flight : std::uint8_t { none, device, worker };
  Flight flight = Flight::none;
  std::optional<SharedArena::Impl::Use> use_of_arena;  // of the run in progress
  RunOptions flight_options;
  std::optional<Stop> stop;                              // of the last run that began
  std::vector<std::optional<TensorType>> planned_types;  // of wanted outputs
  // A run on the device, as seen by the tensors that it uses.
  struct DeviceRun final : PendingRun {
    explicit DeviceRun(Runner& r) : runner(&r) {}
    void join() override { (void)runner->is_done_within(std::chrono::nanoseconds::max()); }
    bool is_in_order() const override { return true; }
    Runner* runner;
  };
  std::shared_ptr<DeviceRun> device_run;
  std::shared_ptr<Worker> worker;

  void take_device_arena();
  // The arena on the device that no other session uses; null: there is none.
  DeviceArena* own_device_arena() const { return arena ? nullptr : memory.device.get(); }
  // Takes the shared arena, if there is one, until use_of_arena is reset. Errors: busy.
  Status take_arena();
  Status check_idle() const;
  Status check_inputs() const;
  Status take_device_inputs();
  void take_device_outputs();
  void join_tensors(NextUser next);
  void set_pending(const std::shared_ptr<PendingRun>& run);
  void clear_pending(const PendingRun* run);
  void set_types();
  Status run_on_this_thread(const RunOptions& o);
  Status run_on_worker();
  Status begin(NextUser next);
  RunOptions options(Clock::time_point deadline, StepListener* listener);
  Status end(Status status);
  Status run(Clock::time_point deadline, StepListener* listener);
  Status submit();
  Status follow_device();
  Status start_worker();
  Status wait();
  // Waits until no run is in progress, so that its state can be read.
  void settle() { (void)is_done_by(Clock::time_point::max()); }
  bool is_done_by(Clock::time_point deadline);
  Result<std::size_t> wanted_index(std::size_t index) const;
  Result<const RuntimeValue*> result(std::size_t index) const;
};

}  // namespace quern
