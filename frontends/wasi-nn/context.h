// SPDX-License-Identifier: Apache-2.0
// One line of computation over a graph: stored inputs, a run in a borrowed session, stored outputs.
// One thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <quern/session.h>

#include "frontends/wasi-nn/sessions.h"
#include "frontends/wasi-nn/tensor.h"

namespace quern::wasi_nn {

using Clock = std::chrono::steady_clock;

class Context {
 public:
  // Errors: too_large.
  static Error create(std::shared_ptr<const Executable> executable,
                      const std::shared_ptr<Account>& account, std::unique_ptr<Context>* context);

  const Executable& executable() const { return *executable_; }

  // Returns in `place` the memory, aligned to 64 bytes, for the `type.bytes()` bytes of this input,
  // and marks the input as set; the caller must write all bytes immediately. On an error the input
  // is unchanged. Errors: invalid_argument if index, type or shape do not match the model;
  // too_large.
  Error place_input(std::size_t index, TensorType type, std::byte** place);
  // Uses a tensor as the input, which the context must not have yet, without a copy, until
  // forget_inputs(). Errors: invalid_argument as above.
  Error adopt_input(std::size_t index, std::shared_ptr<const HeldTensor> tensor);
  // Unsets all inputs and drops the outputs of the last compute.
  void forget_inputs();
  bool has_input(std::size_t index) const { return inputs_[index].is_set; }
  // Runs in a session of `sessions`. `charge_compiled` is told the bytes of weights and tables that
  // belong to the graph: before the run, and again where the run has made more. Adds to `time` what
  // the processors took.
  // Errors: its own; invalid_argument (an input is not set), timed_out, too_large,
  // unsupported_operation, runtime_error.
  Error compute(SessionPool& sessions, Clock::time_point deadline,
                const std::function<Error(const KindBytes& bytes)>& charge_compiled,
                std::chrono::nanoseconds* time);
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

  struct Output {
    Place place;
    std::size_t capacity = 0;
    TensorType type;
    bool is_numbers = false;  // otherwise a sequence, nothing, or text
  };

  Context(std::shared_ptr<const Executable> executable, const std::shared_ptr<Account>& account);
  Error make_room(Place& place, std::size_t& capacity, std::size_t bytes);
  Error bind(Session& session) const;
  InputTypes input_types() const;
  Error keep_outputs(const Session& session);

  const std::shared_ptr<const Executable> executable_;
  const std::shared_ptr<Account> account_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  Charge tensor_bytes_;
  ResidentCharge resident_bytes_;
  bool is_computed_ = false;
};

}  // namespace quern::wasi_nn
