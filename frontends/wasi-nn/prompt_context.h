// SPDX-License-Identifier: Apache-2.0
// One conversation of a guest with a language model: its options and prompt in, text out, whole or
// token by token. docs/wasi-nn.md has the calls. One thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <quern/tensor.h>

#include "frontends/wasi-nn/account.h"
#include "frontends/wasi-nn/graph.h"
#include "frontends/wasi-nn/prompt_model.h"

namespace quern::wasi_nn {

class PromptContext {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  // What the context needs of those that hold the model.
  struct Host {
    std::shared_ptr<const PromptModel> model;
    std::shared_ptr<Account> account;
    SessionOptions session;
    // Charges weights and tables to whoever loaded the model.
    std::function<Error(const KindBytes& bytes)> charge_compiled;
    std::function<void(std::string_view)> log;
  };

  PromptContext(Host host, PromptOptions options);

  // Input 0 is a prompt, input 1 options as JSON; the dimensions are not looked at. Errors:
  // invalid_argument, another input or elements that are no u8; invalid_encoding, no JSON;
  // too_large. A prompt that is refused leaves none.
  Error set_input(std::size_t index, DType dtype, Bytes bytes);
  // Answers the prompt as a whole, and adds to `time` what the processors took. Errors:
  // invalid_argument (there is no prompt), prompt_too_long, context_full (the text so far stays),
  // timed_out, too_large, runtime_error.
  Error compute(Deadline deadline, std::chrono::nanoseconds* time);
  // One token more; the first call computes the prompt. Errors: the same, and end_of_sequence, for
  // good until the next prompt or fini_single().
  Error compute_single(Deadline deadline, std::chrono::nanoseconds* time);
  void fini_single();

  // Output 0 is the text of this answer, or that of its last token, output 1 the numbers of tokens
  // as JSON. The view is of bytes and is borrowed until the next call. Errors: invalid_argument.
  Error output(std::size_t index, TensorView* view);
  Error output_single(std::size_t index, TensorView* view);

 private:
  Error set_prompt(Bytes bytes);
  void forget_prompt();
  void forget_answer();
  std::int64_t wanted_capacity() const;
  Error open_sequence(std::int64_t capacity);
  Error charge_sequence();
  Error start(PromptSequence::Form form, Deadline deadline);
  Error step();
  Error make_ready(std::chrono::nanoseconds* time);
  Error context_full() const;
  template <class F>
  Error timed(std::chrono::nanoseconds* time, const F& run);
  Error metadata(TensorView* view);

  const Host host_;
  PromptOptions options_;
  PromptTokens prompt_;
  bool has_prompt_ = false;
  std::unique_ptr<PromptSequence> sequence_;
  std::string text_, last_, metadata_;
  std::size_t tokens_ = 0;   // of the answer
  bool is_single_ = false;   // compute_single() goes on
  Charge tensor_bytes_;      // the prompt
  ResidentCharge resident_;  // prompt, text, cache and arenas
  KindBytes sequence_bytes_;
};

}  // namespace quern::wasi_nn
