// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <quern/device_tensor.h>
#include <quern/executable.h>
#include <quern/shared_arena.h>
#include <quern/status.h>
#include <quern/tensor.h>
#include <quern/thread_pool.h>

namespace quern {

struct SessionOptions {
  int threads = 0;  // 0: as the executable was compiled
  // The memory for intermediate results and outputs; null: memory of the session's own. A run is
  // refused (busy) while another session runs in the same arena, and outputs are valid until the
  // next run of any session that shares it. On a device prepare() is refused so, too, and a run
  // after another session has made the arena larger records its commands anew.
  std::shared_ptr<SharedArena> arena;
  // The threads that run the kernels of the CPU, at most `threads` of them (0: all) at one time;
  // null: as the executable was compiled, else those of OpenMP, a team for each calling thread.
  std::shared_ptr<ThreadPool> thread_pool;
};

// One line of computation over an executable: bound inputs, an arena, outputs. Cheap to create. One
// thread at a time may use it, except for cancel(). Outputs are valid until the next run() or the
// session's end.
class Session {
 public:
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Executable> executable,
                                                 const SessionOptions& options = {});
  // Waits for a submitted run, which uses the bound inputs and outputs until it is done.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Executable& executable() const;
  int threads() const;
  const ThreadPool* thread_pool() const;  // null: OpenMP's threads
  // The index of an input or output by name. Errors: not_found, with the available names.
  Result<std::size_t> input_index(std::string_view name) const;
  Result<std::size_t> output_index(std::string_view name) const;

  // Binds an input; the bytes are borrowed until run() has returned and must not change meanwhile.
  // Errors: invalid_argument if type, rank or a fixed dimension differs from the model's.
  Status set_input(std::size_t index, const TensorView& tensor);
  // Binds a sequence; without tensors, an empty one.
  Status set_input_sequence(std::size_t index, std::span<const TensorView> tensors);
  // Binds an empty optional.
  Status set_input_none(std::size_t index);

  // Binds a tensor of the executable's device. Each run reads its elements at that time, without a
  // copy. The session keeps a reference until another set_input(). Errors: invalid_argument, also
  // for a tensor of another device.
  Status set_input(std::size_t index, std::shared_ptr<DeviceTensor> tensor);

  // Sets the memory that run() writes this output to, instead of the session's own: `capacity`
  // bytes, aligned to the element. A null `data` undoes it. run() fails if the output is larger,
  // and for memory of an input, unless the plan makes this output of it in place
  // (docs/decoding.md).
  Status bind_output(std::size_t index, std::byte* data, std::size_t capacity);
  // With a tensor of the executable's device nothing is copied to the host, and after the run it
  // has the type of the output. An input's own tensor is as its memory is above.
  Status bind_output(std::size_t index, std::shared_ptr<DeviceTensor> tensor);
  // Computes only these outputs; empty: all of them.
  Status request_outputs(std::span<const std::size_t> indices);

  // Errors: invalid_argument (an unbound input, an operand out of range), busy (cancelled),
  // timed_out, unsupported, out_of_memory. After a first run with these shapes a run allocates
  // nothing, except for a few hundred bytes in each call of oneDNN, and the commands of a first run
  // with a deadline on a GPU. Kernels look at the deadline every few milliseconds; a run that ends
  // after it never succeeds.
  Status run();
  Status run_until(std::chrono::steady_clock::time_point deadline);

  // Starts a run without waiting for it: on the device if it can do the whole run without the host,
  // otherwise on a thread of the session. Until wait() has returned, only wait(), wait_until(),
  // is_done(), output_type() and cancel() may be called; other calls return busy, or wait. Any
  // number of sessions may have a run in progress. Bound inputs and outputs stay bound and
  // unchanged meanwhile. wait() returns the errors of the run.
  Status submit();
  Status wait();
  // Errors: busy if the run is not done at `deadline`; it continues.
  Status wait_until(std::chrono::steady_clock::time_point deadline);
  bool is_done() const;
  // The type of an output; available from submit() on, before wait(). Errors: busy if the shape is
  // known only after the run.
  Result<TensorType> output_type(std::size_t index) const;

  // Makes the plan for the bound inputs' shapes without running. Errors: as run_until().
  Status prepare(std::chrono::steady_clock::time_point deadline =
                     std::chrono::steady_clock::time_point::max());
  // May be called from any thread. A run in progress stops within milliseconds, and so does every
  // later run until clear_cancel().
  void cancel();
  void clear_cancel();

  // Valid after run(); shape and type are those of this run. Errors: not_found if the output was
  // not requested.
  Result<TensorView> output(std::size_t index) const;
  // The number of tensors in an output of sequence type; 1 for a tensor, 0 for an empty optional.
  Result<std::size_t> output_count(std::size_t index) const;
  Result<TensorView> output_element(std::size_t index, std::size_t element) const;

  // One map of an output of maps (ValueSpec::is_map()): row `row` of the values, and their keys; 0
  // for an output that is one map. Errors: invalid_argument (no map, no such row), and as output().
  struct MapView {
    TensorView keys, values;  // [n] both
  };
  Result<MapView> output_map(std::size_t index, std::size_t row) const;

  // Valid after run() or prepare().
  PlanInfo plan_info() const;
  // The bytes that the session holds now: its own arena, arenas and staging of a device, and the
  // pool.
  std::size_t resident_bytes() const;
  // The bytes of tables and states of kernels that the session keeps for its plans, estimated.
  std::size_t table_bytes() const;
  // Limits what later runs may hold in bytes, as resident_bytes() counts it; the limit of the
  // executable's options holds besides. 0: no limit.
  void limit_memory(std::size_t bytes);
  // Returns memory to the system; the next run allocates again.
  void trim();

  // One execution of one kernel, in microseconds since the start of the run.
  struct Timing {
    StepInfo step;
    double begin_us, end_us;
    // The processor time of a kernel on the CPU, on all threads of the session, with half a
    // microsecond of the clocks; 0 on a device.
    double processor_us = 0;
  };
  // Runs once and times every kernel, in the order of execution; the kernels of a loop's body
  // appear once per iteration.
  Result<std::vector<Timing>> profile(std::chrono::steady_clock::time_point deadline =
                                          std::chrono::steady_clock::time_point::max());

  // The start or the end of the lifetime of one buffer of a run.
  struct MemoryEvent {
    enum class Kind : std::uint8_t { allocate, free };
    Kind kind;
    std::uint64_t buffer;
    std::size_t bytes, alignment;  // of an allocation
  };
  // Trims, runs once and returns the allocations that the run would make without a memory plan:
  // every intermediate result, output, scratch and carried value by itself, all freed at the end.
  Result<std::vector<MemoryEvent>> trace_memory();

  struct Impl;

 private:
  friend class RunGroup;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
