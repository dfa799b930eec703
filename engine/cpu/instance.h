// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "engine/cpu/program.h"

namespace quern::cpu {

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

// What one session keeps for one program. run() allocates nothing.
class Instance {
 public:
  static Result<std::unique_ptr<Instance>> create(std::shared_ptr<const Program> program);

  struct Call {
    std::byte* arena;                          // program.arena_bytes, aligned to 64
    std::span<const std::byte* const> inputs;  // of the program, in order
    std::span<std::byte* const> outputs;       // null: in the arena
    StopSignals stop;
    StepListener* listener = nullptr;
  };
  Status run(const Call& call);
  // Valid after run(), until the arena is used for something else.
  MutableTensorView output(std::size_t i) const { return {output_types_[i], output_data_[i]}; }

 private:
  explicit Instance(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  void bind(const Call& call);
  bool same_bindings(const Call& call) const;

  struct BoundStep {
    std::uint32_t inputs;   // where its pointers begin in inputs_
    std::uint32_t outputs;  // ... and in outputs_
    std::unique_ptr<KernelState> state;
  };

  std::shared_ptr<const Program> program_;
  std::vector<BoundStep> steps_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
  std::vector<Shape> shapes_;  // of one data-dependent step
  StringPool strings_;
  std::byte* arena_ = nullptr;
  std::vector<const std::byte*> bound_inputs_;
  std::vector<std::byte*> bound_outputs_;
  std::vector<TensorType> output_types_;
  std::vector<std::byte*> output_data_;
  bool is_bound_ = false;
};

}  // namespace quern::cpu
