// SPDX-License-Identifier: Apache-2.0
// One line of computation over a graph: stored inputs, a run, outputs to read. One thread at a
// time.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <quern/session.h>

#include "frontends/wasi-nn/tensor.h"

namespace quern::wasi_nn {

using Clock = std::chrono::steady_clock;

class Context {
 public:
  // Errors: too_large, and those of a session.
  static Error create(std::shared_ptr<const Executable> executable,
                      const std::shared_ptr<Account>& account, std::unique_ptr<Context>* context);

  const Executable& executable() const { return session_->executable(); }

  // Returns in `place` the memory, aligned to 64 bytes, for the `type.bytes()` bytes of this input,
  // and marks the input as set; the caller must write all bytes immediately. On an error the input
  // is unchanged. Errors: invalid_argument if index, type or shape do not match the model;
  // too_large.
  Error place_input(std::size_t index, TensorType type, std::byte** place);
  // Uses a tensor as the input without a copy, until forget_inputs(). Errors: invalid_argument as
  // above.
  Error adopt_input(std::size_t index, std::shared_ptr<const HeldTensor> tensor);
  // Unsets all inputs and drops the outputs of the last compute.
  void forget_inputs();
  bool has_input(std::size_t index) const { return inputs_[index].is_set; }
  // Makes the plan for the shapes of the current inputs and charges its memory, if that is not done
  // yet.
  // Errors: invalid_argument (an input is not set), too_large, unsupported_operation,
  // runtime_error.
  Error plan();
  // The bytes of packed weights and plans that belong to the graph, after plan() or run().
  std::uint64_t compiled_bytes() const { return compiled_bytes_; }
  // Call plan() first. Errors: timed_out, too_large, runtime_error.
  Error run(Clock::time_point deadline);
  // Valid after a compute, until the next one. Errors: runtime_error before the first;
  // invalid_argument; unsupported_operation if the output is not a tensor of numbers.
  Error output(std::size_t index, TensorView* view) const;

 private:
  struct Input {
    Place place;
    std::size_t capacity = 0;
    std::shared_ptr<const HeldTensor> adopted;  // in place of `place`
    TensorType type;
    bool is_set = false;
  };

  Context(std::unique_ptr<Session> session, const std::shared_ptr<Account>& account);
  Error exchange(Input& input, std::size_t index, const TensorType& type);
  void take_over(Input& input, const TensorType& type);
  Error charge_memory(std::uint64_t arena_bytes);
  Error settle_optional_inputs();

  std::uint64_t own_bytes() const;

  std::unique_ptr<Session> session_;
  const std::shared_ptr<Account> account_;
  std::vector<Input> inputs_;
  std::uint64_t input_capacity_ = 0;  // of all inputs together
  Charge tensor_bytes_, resident_bytes_;
  std::uint64_t arena_bytes_ = 0;  // as charged
  std::uint64_t compiled_bytes_ = 0;
  bool has_one_plan_ = false;  // otherwise runs make plans, too
  bool is_planned_ = false;    // for the current shapes of the inputs
  bool is_computed_ = false;
};

}  // namespace quern::wasi_nn
