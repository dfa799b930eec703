// SPDX-License-Identifier: Apache-2.0
// What a host serves guests with that send a prompt and get text: a language model, as far as the
// calls need it. The front end knows this interface alone; prompts/folder_prompts.h is one over
// folders of models.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/executable.h>
#include <quern/session.h>
#include <quern/status.h>

#include "frontends/wasi-nn/account.h"

namespace quern::wasi_nn {

using PromptToken = std::int32_t;
using PromptTokens = std::vector<PromptToken>;

// How an answer is made. What is not set is as the model's files have it.
struct PromptOptions {
  std::optional<std::int64_t> context_size;  // tokens of prompt and answer; at most the model's
  std::optional<std::int64_t> most_tokens;   // of an answer; below 0: as many as there is room for
  std::size_t batch_size = 512;              // tokens of a prompt that are computed at a time
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<std::int64_t> top_k;
  std::optional<double> repeat_penalty;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::optional<std::uint64_t> seed;  // none: another for each answer
  std::string reverse_prompt;         // ends a whole answer; not part of its text
};

enum class PromptEnd : std::uint8_t {
  none,      // it goes on
  sequence,  // the model ended it, or the reverse prompt did
  length,    // most_tokens
  context,   // there is no room for more
};

// One line of tokens with its keys and values. One thread at a time.
class PromptSequence {
 public:
  enum class Form : std::uint8_t {
    whole,   // the reverse prompt and most_tokens end it
    tokens,  // neither does, and no byte is held back: the guest looks at each token
  };
  struct Memory {
    KindBytes own;       // arenas, keys and values
    KindBytes compiled;  // weights and tables, which the model's other sequences share
  };

  virtual ~PromptSequence() = default;
  PromptSequence(const PromptSequence&) = delete;
  PromptSequence& operator=(const PromptSequence&) = delete;

  virtual std::int64_t capacity() const = 0;  // tokens
  virtual Memory memory() const = 0;
  // As quern::processor_time() of its session.
  virtual std::chrono::nanoseconds processor_time() const = 0;
  // Each of the next calls ends with timed_out then.
  virtual void set_deadline(std::chrono::steady_clock::time_point deadline) = 0;
  // Forgets what there was, and makes the plans for this prompt, of one token or more that fit, and
  // for its answer; memory() then counts them.
  virtual Status set_prompt(std::span<const PromptToken> prompt, const PromptOptions& options,
                            Form form) = 0;
  // Once. Errors: timed_out, those of a run.
  virtual Status compute_prompt() = 0;
  // Chooses the next token and gives its bytes of text. After an error it may be called again.
  virtual Result<std::string> step() = 0;
  virtual PromptEnd end() const = 0;
  virtual std::size_t tokens() const = 0;  // of the answer, that of its end too

 protected:
  PromptSequence() = default;
};

// Immutable: any thread.
class PromptModel {
 public:
  virtual ~PromptModel() = default;
  PromptModel(const PromptModel&) = delete;
  PromptModel& operator=(const PromptModel&) = delete;

  // The most tokens that a sequence has room for.
  virtual std::int64_t context_length() const = 0;
  // The tokenizer, and weights and tables of the decoder so far.
  virtual KindBytes held_bytes() const = 0;
  // The tokens of a prompt, with those that begin a text; special tokens in it are recognised.
  virtual Result<PromptTokens> tokens_of(std::string_view prompt) const = 0;
  // What open() takes for keys and values.
  virtual std::uint64_t cache_bytes(std::int64_t capacity) const = 0;
  virtual Result<std::unique_ptr<PromptSequence>> open(std::int64_t capacity,
                                                       const SessionOptions& options) const = 0;

 protected:
  PromptModel() = default;
};

// Reads the folder of a language model. `compile` opens its decoder's file for the tenant and
// charges it. Errors: those of the files, with their names, and of `compile`.
using DecoderCompiler =
    std::function<Result<std::shared_ptr<const Executable>>(const std::string& file)>;
using FolderReader = std::function<Result<std::shared_ptr<const PromptModel>>(
    const std::string& folder, const DecoderCompiler& compile)>;

}  // namespace quern::wasi_nn
