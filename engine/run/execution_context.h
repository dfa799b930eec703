// SPDX-License-Identifier: Apache-2.0
// What one session keeps for one program, whatever it runs on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>

#include <quern/status.h>
#include <quern/tensor.h>

namespace quern {

struct Step;

// When a run must stop early: looked at between two kernels.
struct StopSignals {
  const std::atomic<bool>* cancelled = nullptr;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();

  Status check() const {
    if (cancelled && cancelled->load(std::memory_order_relaxed))
      return {Code::busy, "the run was cancelled"};
    if (deadline != std::chrono::steady_clock::time_point::max() &&
        std::chrono::steady_clock::now() > deadline)
      return {Code::busy, "the run passed its deadline"};
    return {};
  }
};

// Hears of every step; for profiling.
class StepListener {
 public:
  virtual ~StepListener() = default;
  virtual void on_step(const Step& step, std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) = 0;
};

class TensorMemory;

// run() allocates nothing, once it has seen the tensors of a device that it is called with.
class ExecutionContext {
 public:
  struct Call {
    std::byte* arena;                          // program.arena_bytes, aligned to 64
    std::span<const std::byte* const> inputs;  // of the program, in order
    std::span<std::byte* const> outputs;       // null: in the arena
    // Inputs and outputs that are bound to tensors of the device; null, or no entries: to the host.
    // Their bytes above are the tensors' copies on the host.
    std::span<TensorMemory* const> device_inputs;
    std::span<TensorMemory* const> device_outputs;
    StopSignals stop;
    StepListener* listener = nullptr;
  };

  virtual ~ExecutionContext() = default;
  virtual Status run(const Call& call) = 0;
  // Whether the device runs all of it without the host: then start() hands it over and finish()
  // waits. What the call points at stays until then.
  virtual bool can_start() const { return false; }
  // Whether this output, bound to a tensor of the device, is written there without the host.
  virtual bool writes_on_device(std::size_t) const { return false; }
  virtual Status start(const Call&) { return {Code::internal, "the host is needed"}; }
  // Whether finish() would not wait, after waiting for that at most so long.
  virtual bool is_done_within(std::chrono::nanoseconds) { return true; }
  virtual Status finish(const Call&) { return {Code::internal, "nothing was started"}; }
  // Valid after run(), until the arena is used for something else.
  virtual MutableTensorView output(std::size_t i) const = 0;
  // Bytes of device memory and of staging that it holds itself.
  virtual std::size_t resident_bytes() const { return 0; }
};

}  // namespace quern
