// SPDX-License-Identifier: Apache-2.0
// Decoding: a language model that is given tokens and gives the logits of the next one, with the
// keys and values of all tokens so far in a cache of its own. docs/decoding.md has the forms of
// models that there are.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <quern/device.h>
#include <quern/executable.h>
#include <quern/model.h>
#include <quern/session.h>
#include <quern/status.h>
#include <quern/tensor.h>

namespace quern {

// The names of inputs and outputs that a Decoder fills and reads. '%' stands for the number of a
// layer, from 0 on. The defaults are those of onnxruntime-genai and transformers.js. Those of
// `mask` to `use_cache` may be missing in a model.
struct DecoderNames {
  std::string tokens = "input_ids";                // i64 or i32 [1, new tokens]
  std::string logits = "logits";                   // floats [1, new tokens or 1, vocabulary]
  std::string mask = "attention_mask";             // integers [1, tokens]: 1 for each that counts
  std::string positions = "position_ids";          // integers [1, new tokens]
  std::string last_key = "seqlens_k";              // integers [1]: the last token's position
  std::string total = "total_sequence_length";     // integers [] or [1]: the number of tokens
  std::string before = "past_sequence_length";     // integers [] or [1]: of tokens before the new
  std::string use_cache = "use_cache_branch";      // bool [1]: false for the first tokens
  std::string past_key = "past_key_values.%.key";  // floats [1, heads, tokens, width]
  std::string past_value = "past_key_values.%.value";
  std::string present_key = "present.%.key";  // the same with the new tokens
  std::string present_value = "present.%.value";

  // The name with the number of a layer.
  static std::string of_layer(std::string_view pattern, std::size_t layer);
};

struct DecoderOptions {
  // The most tokens of a sequence. 0: as many as the model's inputs have, if that is a number, else
  // 2048.
  std::int64_t capacity = 0;
  DecoderNames names;
  CompileOptions compile;  // of open()
  SessionOptions session;
};

// What a Decoder holds, in bytes.
struct DecoderMemory {
  // Of the session with the plans so far: weights, which forks share, and arena.
  MemoryNeed session;
  std::size_t cache = 0;  // keys and values of this sequence; does not grow

  std::size_t total() const { return session.total() + cache; }
};

// One sequence of tokens and what a model has computed of it. One thread at a time may use it,
// except for cancel(); forks are independent of it.
class Decoder {
 public:
  // How the cache gets new rows.
  enum class Growth : std::uint8_t {
    // In its place: a token more makes no plan, copies nothing and allocates nothing.
    in_place,
    // The model returns all rows anew, in tensors that are longer each time: each number of tokens
    // has a plan of its own.
    copied,
  };

  // Compiles the model and takes the memory of the cache. A null device is the CPU. A cache that
  // the model joins with the new rows (Concat) is made to grow in place, if three tokens then
  // have the logits that they had before. Errors: those of Executable::compile(); not_found (a name
  // that the model must have); invalid_model (inputs or outputs of other types than those above, or
  // others that nothing sets); out_of_memory.
  static Result<std::unique_ptr<Decoder>> open(Model model, const DecoderOptions& options = {},
                                               std::shared_ptr<Device> device = nullptr);
  // The same over a model that is compiled already, whose weights it shares.
  static Result<std::unique_ptr<Decoder>> open(std::shared_ptr<const Executable> executable,
                                               const DecoderOptions& options = {});
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Another sequence over the same weights, which begins with a copy of this one's tokens.
  Result<std::unique_ptr<Decoder>> fork() const;

  // Sets an input that no name above has, for all that follows: the states of an encoder, say.
  // Errors: not_found; invalid_argument, also for an input that the decoder itself fills.
  Status set_input(std::string_view name, Tensor tensor);

  // Computes the logits behind these tokens, which follow those so far. After an error the
  // sequence is as before. Errors: invalid_argument (no token, more than there is room for, a token
  // that the model refuses), busy (cancelled), timed_out, out_of_memory.
  Status append(std::span<const std::int64_t> tokens,
                std::chrono::steady_clock::time_point deadline =
                    std::chrono::steady_clock::time_point::max());
  // One number for each token of the vocabulary, of the last append(); empty before it. Valid until
  // the next one.
  std::span<const float> logits() const;

  // Makes the plan for as many new tokens ahead, which memory() then counts.
  Status prepare(std::int64_t tokens);

  std::int64_t length() const;    // tokens so far
  std::int64_t capacity() const;  // at most
  std::size_t row_bytes() const;  // of the keys and values of one token
  // Forgets all but the first `length` tokens; logits() stays. Errors: invalid_argument.
  Status rewind(std::int64_t length);
  void reset();  // to no token and no logits, as it was opened

  // May be called from any thread. append() ends within milliseconds with `busy`, and so does each
  // later one until clear_cancel().
  void cancel();
  void clear_cancel();

  Growth growth() const;
  DecoderMemory memory() const;
  const Executable& executable() const;
  const Session& session() const;  // for plans and figures

  struct Impl;

 private:
  explicit Decoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
