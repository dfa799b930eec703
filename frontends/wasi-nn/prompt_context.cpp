// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/prompt_context.h"

#include <algorithm>
#include <utility>

#include <quern/processor_time.h>

#include "frontends/wasi-nn/prompt_options.h"

namespace quern::wasi_nn {
namespace {

constexpr std::int64_t usual_context = 4096;
// Room that a prompt leaves for its answer, as guests know it from other hosts.
constexpr std::int64_t room_for_answer = 4;
constexpr std::size_t text_step = 4096;  // of the charge for text

// Errors of the model become runtime_error: arguments of a guest were looked at before.
Error model_error(const Status& status) {
  Error error(status);
  if (error.code != Errno::timed_out && error.code != Errno::too_large)
    error.code = Errno::runtime_error;
  return error;
}

TensorView view_of(std::string_view text) {
  return {{DType::u8, Shape{static_cast<std::int64_t>(text.size())}},
          reinterpret_cast<const std::byte*>(text.data())};
}

Error no_output(std::size_t index) {
  return {Errno::invalid_argument,
          sentence("output ", index, ": a prompt has text as output 0 and metadata as output 1")};
}

}  // namespace

PromptContext::PromptContext(Host host, PromptOptions options)
    : host_(std::move(host)),
      options_(std::move(options)),
      tensor_bytes_(host_.account, &Counts::tensor_bytes),
      resident_(host_.account) {}

// ---- inputs ------------------------------------------------------------------------------------

Error PromptContext::set_input(std::size_t index, DType dtype, Bytes bytes) {
  if (index > 1)
    return {Errno::invalid_argument,
            sentence("input ", index, ": there is the prompt, 0, and options, 1")};
  if (dtype != DType::u8 || (!bytes.data() && !bytes.empty()))
    return {Errno::invalid_argument,
            sentence("input ", index, " is of type ", name_of(dtype), ", wanted: bytes, u8")};
  if (index == 0) return set_prompt(bytes);
  const std::string json(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  QUERN_NN_TRY(read_prompt_options(json, host_.log, &options_));
  is_single_ = false;
  return {};
}

Error PromptContext::set_prompt(Bytes bytes) {
  // No token of a text that anybody means has more bytes on average.
  const auto most = std::uint64_t{1 << 20} + 64 * std::uint64_t(host_.model->context_length());
  if (bytes.size() > most)
    return {Errno::too_large,
            sentence("a prompt of ", bytes.size(), " bytes, at most ", most, " are taken")};
  forget_prompt();
  QUERN_NN_TRY(tensor_bytes_.set(bytes.size()));
  // The guest's memory may change meanwhile.
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto tokens = host_.model->tokens_of(text);
  if (!tokens) return model_error(tokens.error());
  prompt_ = std::move(*tokens);
  has_prompt_ = true;
  Error error = charge_sequence();
  if (!error.ok()) forget_prompt();
  return error;
}

void PromptContext::forget_prompt() {
  forget_answer();
  prompt_ = {};
  has_prompt_ = false;
  (void)tensor_bytes_.set(0);
  (void)charge_sequence();
}

void PromptContext::forget_answer() {
  text_.clear();
  last_.clear();
  tokens_ = 0;
  is_single_ = false;
}

Error PromptContext::context_full() const {
  return {Errno::context_full,
          sentence("the context of ", sequence_->capacity(), " tokens is full")};
}

// ---- the sequence ------------------------------------------------------------------------------

std::int64_t PromptContext::wanted_capacity() const {
  return std::min(options_.context_size.value_or(usual_context), host_.model->context_length());
}

Error PromptContext::charge_sequence() {
  KindBytes bytes = sequence_bytes_;
  const std::size_t text = (text_.size() + text_step - 1) / text_step * text_step;
  bytes[Kind::tensors] += prompt_.size() * sizeof(PromptToken) + text;
  return resident_.set(bytes);
}

// The cache is charged before it is taken: a guest chooses its size.
Error PromptContext::open_sequence(std::int64_t capacity) {
  if (sequence_ && sequence_->capacity() == capacity) return {};
  sequence_.reset();
  sequence_bytes_ = KindBytes(Kind::tensors, host_.model->cache_bytes(capacity));
  Error error = charge_sequence();
  if (error.ok()) {
    auto opened = host_.model->open(capacity, host_.session);
    if (opened)
      sequence_ = std::move(*opened);
    else
      error = model_error(opened.error());
  }
  if (error.ok()) return {};
  sequence_bytes_ = {};
  (void)charge_sequence();
  return error;
}

// A prompt that fits, and a sequence for it.
Error PromptContext::make_ready(std::chrono::nanoseconds* time) {
  forget_answer();
  if (prompt_.empty())
    return {Errno::invalid_argument,
            has_prompt_ ? "the prompt has no token" : "there is no prompt"};
  const std::int64_t capacity = wanted_capacity();
  const auto length = static_cast<std::int64_t>(prompt_.size());
  if (length > capacity - room_for_answer)
    return {Errno::prompt_too_long,
            sentence("the prompt has ", length, " tokens, a context of ", capacity, " takes ",
                     std::max<std::int64_t>(capacity - room_for_answer, 0))};
  const auto began = processor_time();
  Error error = open_sequence(capacity);
  *time += processor_time() - began;
  return error;
}

Error PromptContext::start(PromptSequence::Form form, Deadline deadline) {
  sequence_->set_deadline(deadline);
  const Status planned = sequence_->set_prompt(prompt_, options_, form);
  if (!planned.ok()) return model_error(planned);
  const auto memory = sequence_->memory();
  sequence_bytes_ = memory.own;
  QUERN_NN_TRY(charge_sequence());
  QUERN_NN_TRY(host_.charge_compiled(memory.compiled));
  const Status status = sequence_->compute_prompt();
  return status.ok() ? Error() : model_error(status);
}

Error PromptContext::step() {
  auto bytes = sequence_->step();
  if (!bytes) return model_error(bytes.error());
  tokens_ = sequence_->tokens();
  last_ = std::move(*bytes);
  const std::size_t before = text_.size() / text_step;
  text_ += last_;
  if (text_.size() / text_step != before || tokens_ == 1) return charge_sequence();
  return {};
}

// ---- computing ---------------------------------------------------------------------------------

// Of the calling thread, and of those that work for the sequence.
template <class F>
Error PromptContext::timed(std::chrono::nanoseconds* time, const F& run) {
  const auto began = sequence_->processor_time();
  Error error = run();
  *time += sequence_->processor_time() - began;
  return error;
}

Error PromptContext::compute(Deadline deadline, std::chrono::nanoseconds* time) {
  QUERN_NN_TRY(make_ready(time));
  return timed(time, [&]() -> Error {
    QUERN_NN_TRY(start(PromptSequence::Form::whole, deadline));
    const bool is_silent = options_.most_tokens == 0;
    while (!is_silent && sequence_->end() == PromptEnd::none) QUERN_NN_TRY(step());
    return sequence_->end() == PromptEnd::context ? context_full() : Error();
  });
}

Error PromptContext::compute_single(Deadline deadline, std::chrono::nanoseconds* time) {
  if (!is_single_) QUERN_NN_TRY(make_ready(time));
  last_.clear();
  return timed(time, [&]() -> Error {
    if (!is_single_) QUERN_NN_TRY(start(PromptSequence::Form::tokens, deadline));
    is_single_ = true;
    sequence_->set_deadline(deadline);
    if (sequence_->end() == PromptEnd::none) QUERN_NN_TRY(step());
    if (sequence_->end() == PromptEnd::none) return {};
    if (sequence_->end() == PromptEnd::context) return context_full();
    return {Errno::end_of_sequence, "the answer has ended"};
  });
}

void PromptContext::fini_single() {
  forget_answer();
}

// ---- outputs -----------------------------------------------------------------------------------

Error PromptContext::metadata(TensorView* view) {
  metadata_ =
      sentence("{\"input_tokens\": ", prompt_.size(), ", \"output_tokens\": ", tokens_,
               ", \"llama_build_number\": 0, \"llama_commit\": \"quern " QUERN_VERSION "\"}");
  *view = view_of(metadata_);
  return {};
}

Error PromptContext::output(std::size_t index, TensorView* view) {
  if (index == 1) return metadata(view);
  if (index > 1) return no_output(index);
  *view = view_of(text_);
  return {};
}

Error PromptContext::output_single(std::size_t index, TensorView* view) {
  if (index == 1) return metadata(view);
  if (index > 1) return no_output(index);
  *view = view_of(last_);
  return {};
}

}  // namespace quern::wasi_nn
