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

namespace quern {

struct SessionOptions {
  int threads = 0;  // 0: as the executable was compiled
  // Where intermediate results and outputs lie; null: in the session's own memory. A run while
  // another session runs in it is refused (busy), and outputs are valid until the next run of any.
  std::shared_ptr<SharedArena> arena;
};

// One line of computation over an executable: bound inputs, an arena, outputs. Cheap to make; used
// by one thread at a time (cancel() apart). Outputs are valid until the next run() or the session's
// end.
class Session {
 public:
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Executable> executable,
                                                 const SessionOptions& options = {});
  // Waits for a submitted run that is under way, which reads and writes what is bound until then.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Executable& executable() const;
  int threads() const;
  // Index of an input or output by name. Errors: not_found, with the names there are.
  Result<std::size_t> input_index(std::string_view name) const;
  Result<std::size_t> output_index(std::string_view name) const;

  // Binds an input; the bytes are borrowed until run() has returned and must not change meanwhile.
  // Errors: invalid_argument when type, rank or a fixed dimension differ from the model's.
  Status set_input(std::size_t index, const TensorView& tensor);
  // A sequence, or (without tensors) an empty one.
  Status set_input_sequence(std::size_t index, std::span<const TensorView> tensors);
  // An empty optional.
  Status set_input_none(std::size_t index);

  // A tensor of the executable's device, whose elements at the time of each run are read where they
  // lie. The session keeps it; another set_input() lets it go.
  // Errors: invalid_argument, also for a tensor of another device.
  Status set_input(std::size_t index, std::shared_ptr<DeviceTensor> tensor);

  // Where run() writes this output instead of its own memory: `capacity` bytes, aligned to the
  // element. A null `data` undoes it. run() fails when the output turns out to be larger.
  Status bind_output(std::size_t index, std::byte* data, std::size_t capacity);
  // The same for a tensor of the executable's device: nothing comes to the host, and the tensor has
  // the type of the output after the run. It cannot be an input of the same run.
  Status bind_output(std::size_t index, std::shared_ptr<DeviceTensor> tensor);
  // Only these outputs are computed; empty: all.
  Status request_outputs(std::span<const std::size_t> indices);

  // Errors: invalid_argument (an unbound input, an operand out of range), busy (cancelled,
  // deadline), unsupported, out_of_memory. After a first run with these shapes nothing is
  // allocated, but for some hundred bytes that each call of oneDNN takes for itself.
  Status run();
  Status run_until(std::chrono::steady_clock::time_point deadline);

  // A run that this thread does not wait for: on a device, when it can do all of it by itself, and
  // otherwise on a thread of the session. Until wait() has returned, only it, wait_until(),
  // is_done(), output_type() and cancel() may be called; others answer busy, or wait. Any number of
  // sessions may have a run under way. What is bound stays bound and unchanged meanwhile.
  // Errors of the run come from wait().
  Status submit();
  Status wait();
  // Errors: busy when the run is not done by then; it goes on.
  Status wait_until(std::chrono::steady_clock::time_point deadline);
  bool is_done() const;
  // Of an output after submit(), before wait(), and later. Errors: busy when only the run will
  // tell.
  Result<TensorType> output_type(std::size_t index) const;

  // Makes the plan for the bound inputs' shapes without running.
  Status prepare();
  // From any thread: a run in progress stops between two kernels; so does the next one, unless
  // clear_cancel() comes first.
  void cancel();
  void clear_cancel();

  // After run(). Shape and type are those of this run. Errors: not_found when it was not requested.
  Result<TensorView> output(std::size_t index) const;
  // How many tensors an output of sequence type holds; 1 for a tensor, 0 for an empty optional.
  Result<std::size_t> output_count(std::size_t index) const;
  Result<TensorView> output_element(std::size_t index, std::size_t element) const;

  // After run() or prepare().
  PlanInfo plan_info() const;
  // Bytes of arenas and of buffers of unplanned shapes that the session holds.
  std::size_t resident_bytes() const;
  // Gives memory back to the system; the next run allocates anew.
  void trim();

  // One execution of one kernel; microseconds since the run began.
  struct Timing {
    StepInfo step;
    double begin_us, end_us;
  };
  // Runs once and times every kernel, in the order of execution: those of a loop's body once an
  // iteration.
  Result<std::vector<Timing>> profile(std::chrono::steady_clock::time_point deadline =
                                          std::chrono::steady_clock::time_point::max());

  // A buffer of a run that begins or ends to live.
  struct MemoryEvent {
    enum class Kind : std::uint8_t { allocate, free };
    Kind kind;
    std::uint64_t buffer;
    std::size_t bytes, alignment;  // of what begins
  };
  // Trims, runs once and tells what the run would have asked a system for that knows no plan: every
  // intermediate result, output, scratch and carried value by itself, all freed in the end.
  Result<std::vector<MemoryEvent>> trace_memory();

  struct Impl;

 private:
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
