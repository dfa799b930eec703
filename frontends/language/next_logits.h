// SPDX-License-Identifier: Apache-2.0
// A sequence of tokens, and what a model computes of the next one: what generating needs of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <quern/decoder.h>
#include <quern/executable.h>
#include <quern/session.h>
#include <quern/status.h>

namespace quern::language {

class NextLogits {
 public:
  virtual ~NextLogits() = default;
  NextLogits(const NextLogits&) = delete;
  NextLogits& operator=(const NextLogits&) = delete;

  // Computes the logits behind these tokens, which follow those so far. Errors: invalid_argument
  // (no token, or more than there is room for), busy (cancelled), timed_out, those of a run.
  virtual Status append(std::span<const std::int64_t> tokens) = 0;
  // One for each token of the vocabulary, of the last append(); valid until the next one.
  virtual std::span<const float> logits() const = 0;
  // Forgets all but the first `length` tokens. Errors: invalid_argument.
  virtual Status rewind(std::int64_t length) = 0;
  virtual std::int64_t length() const = 0;    // tokens so far
  virtual std::int64_t capacity() const = 0;  // at most
  // The bytes that the next token reads at least: weights, and keys and values so far.
  virtual std::size_t bytes_read() const = 0;
  // What is held now, and what the plan for as many tokens at once takes: made ahead, and counted.
  virtual DecoderMemory memory() const = 0;
  virtual Status prepare(std::int64_t tokens) = 0;
  // As quern::processor_time() of its session.
  virtual std::chrono::nanoseconds processor_time() const = 0;
  // When each append() from now on ends with timed_out, if it is not done; max(): never.
  virtual void set_deadline(std::chrono::steady_clock::time_point deadline) = 0;
  // May be called from any thread, and in a signal handler. append() ends with `busy`, and so does
  // each later one until clear_cancel().
  virtual void cancel() = 0;
  virtual void clear_cancel() = 0;

 protected:
  NextLogits() = default;
};

// The names of a decoder's inputs and outputs; '%' or "%d" stands for the number of a layer.
// Inputs that the model does not have are not filled.
struct DecoderInputs {
  std::string tokens = "input_ids";
  std::string mask = "attention_mask";
  std::string positions = "position_ids";
  std::string past_key = "past_key_values.%.key";
  std::string past_value = "past_key_values.%.value";
  std::string present_key = "present.%.key";
  std::string present_value = "present.%.value";
  std::string logits = "logits";
};

// Over a quern::Decoder, whose cache has room for `capacity` tokens. Errors: those of its open().
Result<std::unique_ptr<NextLogits>> open_decoder(std::shared_ptr<const Executable> executable,
                                                 const DecoderInputs& names, std::int64_t capacity,
                                                 const SessionOptions& options = {});

}  // namespace quern::language
