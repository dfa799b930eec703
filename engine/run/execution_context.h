// SPDX-License-Identifier: Apache-2.0
// The state that a session keeps for one program, on any device.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include <quern/status.h>
#include <quern/tensor.h>
#include <quern/thread_pool.h>

#include "engine/vocabulary/stop.h"
#include "graph/reference.h"

namespace quern {

struct Step;

// Receives the times of every step; for profiling.
class StepListener {
 public:
  virtual ~StepListener() = default;
  virtual void on_step(const Step& step, std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) = 0;
};

class TensorMemory;

// run() allocates nothing, except when it is called with device tensors that it has not seen
// before, or where memory of its DeviceArena was moved and settle() has not succeeded since.
class ExecutionContext {
 public:
  struct Call {
    std::byte* arena;                          // program.arena_bytes, aligned to 64
    std::span<const std::byte* const> inputs;  // the program's inputs, in order
    std::span<std::byte* const> outputs;       // null: the output stays in the arena
    // The device tensors that inputs and outputs are bound to; null or missing entries: on the
    // host. For a bound tensor, the pointer in `inputs` or `outputs` is its copy on the host.
    std::span<TensorMemory* const> device_inputs;
    std::span<TensorMemory* const> device_outputs;
    const Stop* stop = nullptr;  // null: nothing ends the run early
    StepListener* listener = nullptr;
    ThreadPool* pool = nullptr;  // null: the threads are OpenMP's
    // Strings that kernels make stay there. Null: in the context, until its next call.
    StringPool* strings = nullptr;
  };

  virtual ~ExecutionContext() = default;
  // Called when plans are made, after the DeviceArena has moved: what names its memory is made
  // anew. Errors leave the context as good as before; its next run tries again. `stop` may be null.
  virtual Status settle(const Stop* stop) {
    (void)stop;
    return {};
  }
  // Errors: those of kernels; those of Stop::check(), also where the last step ended too late.
  virtual Status run(const Call& call) = 0;
  // Returns true if the device runs the whole program without the host: then start() submits it and
  // finish() waits for it. The data that the Call points at must stay valid until then.
  virtual bool can_start() const { return false; }
  // Returns true if this output, bound to a tensor of the device, is written there without the
  // host.
  virtual bool writes_on_device(std::size_t) const { return false; }
  virtual Status start(const Call&) { return {Code::internal, "the host is needed"}; }
  // Returns true once finish() would return at once; waits at most the given time for that.
  virtual bool is_done_within(std::chrono::nanoseconds) { return true; }
  virtual Status finish(const Call&) { return {Code::internal, "nothing was started"}; }
  // Valid after run(), until the arena is used for something else.
  virtual MutableTensorView output(std::size_t i) const = 0;
  // Bytes of tables, pointers and the states of kernels, estimated.
  virtual std::size_t table_bytes() const = 0;
};

}  // namespace quern
