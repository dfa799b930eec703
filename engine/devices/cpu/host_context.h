// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/compile/program.h"
#include "engine/run/execution_context.h"
#include "engine/run/flight_gate.h"

namespace quern::cpu {

// One of several runs in an arena: its places there, and what holds its steps in order.
struct FlightSeat {
  const ArenaPlaces* places;
  FlightGate* gate;
  std::size_t run;
};

// Runs the CPU steps of a program in order; the context of another device runs the other steps.
class HostContext final : public ExecutionContext {
 public:
  static Result<std::unique_ptr<HostContext>> create(std::shared_ptr<const Program> program,
                                                     const FlightSeat* seat = nullptr);

  Status run(const Call& call) override;

  // The parts of run(): begin() once, then run_steps() for ranges [first, end), in order.
  void begin(const Call& call);
  Status run_steps(const Call& call, std::size_t first, std::size_t end);
  // The addresses of a step's operands, valid from begin() to the next begin(); null: on the
  // device.
  const std::byte* input(std::size_t step, std::size_t i) const {
    return inputs_[steps_[step].inputs + i];
  }
  std::byte* output(std::size_t step, std::size_t i) const {
    return outputs_[steps_[step].outputs + i];
  }

  std::size_t table_bytes() const override;
  MutableTensorView output(std::size_t i) const override {
    return {output_types_[i], output_data_[i]};
  }

 private:
  explicit HostContext(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  std::uint64_t output_offset(std::size_t output) const {
    return seat_ ? seat_->places->results[output] : program_->output_offsets[output];
  }
  std::uint64_t scratch_offset(std::size_t step) const {
    return seat_ ? seat_->places->scratch[step] : program_->steps[step].scratch_offset;
  }
  Status run_on_team(const Call& call, std::size_t first, std::size_t end);
  void bind(const Call& call);
  Status check_shared_memory(const Call& call) const;
  bool same_bindings(const Call& call) const;

  struct BoundStep {
    std::uint32_t inputs;   // index of its first pointer in inputs_
    std::uint32_t outputs;  // ... and in outputs_
    std::unique_ptr<KernelState> state;
  };

  std::shared_ptr<const Program> program_;
  const FlightSeat* seat_ = nullptr;  // null: the arena is this run's alone
  std::vector<BoundStep> steps_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
  std::vector<Shape> shapes_;  // of one data-dependent step
  StringPool strings_;         // of calls that bring none
  std::byte* arena_ = nullptr;
  std::vector<const std::byte*> bound_inputs_;
  std::vector<std::byte*> bound_outputs_;
  std::vector<TensorType> output_types_;
  std::vector<std::byte*> output_data_;
  bool is_bound_ = false;
};

}  // namespace quern::cpu
