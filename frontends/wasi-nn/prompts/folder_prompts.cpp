// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/prompts/folder_prompts.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include "engine/vocabulary/guarded.h"
#include "frontends/language/generator.h"
#include "frontends/language/model_folder.h"

namespace quern::wasi_nn {
namespace {

using language::Generator;
using language::ModelFolder;
using language::NextLogits;

// What guests of other hosts know as the most of an answer: as many as there is room for.
constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();

std::uint64_t random_seed() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

// A guest that sets one of a draw's options wants draws.
language::SamplingOptions sampling_of(const ModelFolder& folder, const PromptOptions& options) {
  language::SamplingOptions s = folder.sampling;
  bool samples = folder.samples;
  const auto set = [&samples](auto& option, const auto& value) {
    if (!value) return;
    option = *value;
    samples = true;
  };
  set(s.top_k, options.top_k);
  set(s.top_p, options.top_p);
  set(s.min_p, options.min_p);
  set(s.temperature, options.temperature);
  if (!samples) s.temperature = 0;
  s.repetition_penalty = options.repeat_penalty.value_or(s.repetition_penalty);
  s.presence_penalty = options.presence_penalty;
  s.frequency_penalty = options.frequency_penalty;
  s.seed = options.seed ? *options.seed : s.temperature > 0 ? random_seed() : 0;
  return s;
}

language::GenerateOptions options_of(const ModelFolder& folder, const PromptOptions& options,
                                     PromptSequence::Form form) {
  language::GenerateOptions o{.sampling = sampling_of(folder, options),
                              .max_new_tokens = no_end,
                              .end_ids = folder.end_ids,
                              .unit = language::TextUnit::bytes,
                              .prompt_batch = options.batch_size};
  if (form == PromptSequence::Form::tokens) return o;
  const std::int64_t most = options.most_tokens.value_or(folder.max_new_tokens.value_or(-1));
  if (most > 0) o.max_new_tokens = most;
  if (options.reverse_prompt.empty()) return o;
  // A special token is no part of the text.
  const auto token = folder.tokenizer->id_of(options.reverse_prompt);
  if (token && folder.tokenizer->is_special(*token))
    o.end_ids.push_back(*token);
  else
    o.stop_texts.push_back(options.reverse_prompt);
  return o;
}

PromptSequence::Memory memory_of(const DecoderMemory& memory) {
  PromptSequence::Memory m;
  m.own[Kind::arenas] = memory.session.total() - memory.session.weights;
  m.own[Kind::tensors] = memory.cache;
  m.compiled[Kind::weights] = memory.session.weights;
  return m;
}

class FolderSequence final : public PromptSequence {
 public:
  FolderSequence(std::shared_ptr<const ModelFolder> folder,
                 std::shared_ptr<const Executable> executable, std::unique_ptr<NextLogits> decoder)
      : folder_(std::move(folder)),
        executable_(std::move(executable)),
        decoder_(std::move(decoder)) {}

  std::int64_t capacity() const override { return decoder_->capacity(); }
  Memory memory() const override { return memory_; }
  std::chrono::nanoseconds processor_time() const override { return decoder_->processor_time(); }
  void set_deadline(std::chrono::steady_clock::time_point deadline) override {
    decoder_->set_deadline(deadline);
  }
  Status set_prompt(std::span<const PromptToken> prompt, const PromptOptions& options,
                    Form form) override;
  Status compute_prompt() override;
  Result<std::string> step() override;
  PromptEnd end() const override;
  std::size_t tokens() const override { return generator_ ? generator_->tokens().size() : 0; }

 private:
  const std::shared_ptr<const ModelFolder> folder_;
  const std::shared_ptr<const Executable> executable_;
  void note_memory();
  void keep_beginning_of(std::span<const PromptToken> prompt);

  const std::unique_ptr<NextLogits> decoder_;
  std::optional<Generator> generator_;
  PromptTokens prompt_;
  std::size_t held_ = 0;  // of the prompt, by the decoder
  Memory memory_;         // the most of each that there was
};

void FolderSequence::note_memory() {
  const Memory now = memory_of(decoder_->memory());
  for (const Kind kind : {Kind::arenas, Kind::tensors})
    memory_.own[kind] = std::max(memory_.own[kind], now.own[kind]);
  memory_.compiled[Kind::weights] =
      std::max(memory_.compiled[Kind::weights], now.compiled[Kind::weights]);
  memory_.compiled[Kind::tables] = executable_->table_bytes();
}

// A conversation comes as a prompt that begins with all that was said: what the decoder holds of it
// is not computed again.
void FolderSequence::keep_beginning_of(std::span<const PromptToken> prompt) {
  if (generator_)
    prompt_.insert(prompt_.end(), generator_->tokens().begin(), generator_->tokens().end());
  generator_.reset();
  prompt_.resize(std::min(prompt_.size(), static_cast<std::size_t>(decoder_->length())));
  held_ = 0;
  while (held_ < prompt_.size() && held_ + 1 < prompt.size() && prompt_[held_] == prompt[held_])
    ++held_;
}

Status FolderSequence::set_prompt(std::span<const PromptToken> prompt, const PromptOptions& options,
                                  Form form) {
  return guarded([&]() -> Status {
    keep_beginning_of(prompt);
    QUERN_TRY(decoder_->rewind(static_cast<std::int64_t>(held_)));
    prompt_.assign(prompt.begin(), prompt.end());
    QUERN_ASSIGN(Generator made, Generator::create(*decoder_, folder_->tokenizer,
                                                   options_of(*folder_, options, form)));
    QUERN_TRY(decoder_->prepare(1));
    note_memory();
    const std::size_t batch = std::min(options.batch_size, prompt_.size() - held_);
    QUERN_TRY(decoder_->prepare(static_cast<std::int64_t>(batch)));
    note_memory();
    generator_.emplace(std::move(made));
    return {};
  });
}

Status FolderSequence::compute_prompt() {
  if (!generator_) return {Code::invalid_argument, "there is no prompt"};
  return guarded([&] { return generator_->begin(prompt_, held_); });
}

Result<std::string> FolderSequence::step() {
  if (!generator_) return Status(Code::invalid_argument, "there is no prompt");
  return generator_->step();
}

PromptEnd FolderSequence::end() const {
  switch (generator_ ? generator_->end() : Generator::End::none) {
    case Generator::End::none: return PromptEnd::none;
    case Generator::End::end_token:
    case Generator::End::stop_text: return PromptEnd::sequence;
    case Generator::End::length: return PromptEnd::length;
    case Generator::End::context: break;
  }
  return PromptEnd::context;
}

class FolderModel final : public PromptModel {
 public:
  static Result<std::shared_ptr<const PromptModel>> read(const std::string& path,
                                                         const DecoderCompiler& compile);

  std::int64_t context_length() const override { return context_length_; }
  KindBytes held_bytes() const override { return held_bytes_; }
  Result<PromptTokens> tokens_of(std::string_view prompt) const override {
    return folder_->tokenizer->encode(prompt, language::Specials::kept);
  }
  std::uint64_t cache_bytes(std::int64_t capacity) const override {
    return bytes_a_token_ * static_cast<std::uint64_t>(capacity);
  }
  Result<std::unique_ptr<PromptSequence>> open(std::int64_t capacity,
                                               const SessionOptions& options) const override {
    QUERN_ASSIGN(auto decoder,
                 language::open_decoder(executable_, folder_->names, capacity, options));
    return std::unique_ptr<PromptSequence>(
        std::make_unique<FolderSequence>(folder_, executable_, std::move(decoder)));
  }

 private:
  FolderModel() = default;
  Status measure();

  std::shared_ptr<const ModelFolder> folder_;
  std::shared_ptr<const Executable> executable_;
  std::int64_t context_length_ = 0;
  std::uint64_t bytes_a_token_ = 0;
  KindBytes held_bytes_;
};

Result<std::shared_ptr<const PromptModel>> FolderModel::read(const std::string& path,
                                                             const DecoderCompiler& compile) {
  const std::shared_ptr<FolderModel> model(new FolderModel);
  QUERN_ASSIGN(ModelFolder folder, ModelFolder::read(path));
  model->context_length_ = folder.context_length;
  model->folder_ = std::make_shared<const ModelFolder>(std::move(folder));
  QUERN_ASSIGN(model->executable_, compile(model->folder_->decoder_file));
  QUERN_TRY(model->measure());
  return std::shared_ptr<const PromptModel>(model);
}

// A model whose inputs have a fixed number of tokens gives that as its context.
Status FolderModel::measure() {
  constexpr std::int64_t few = 8;
  auto decoder = language::open_decoder(executable_, folder_->names, few);
  if (!decoder) {
    QUERN_ASSIGN(decoder, language::open_decoder(executable_, folder_->names, 0));
    context_length_ = std::min(context_length_, (*decoder)->capacity());
  }
  const DecoderMemory memory = (*decoder)->memory();
  const auto capacity = static_cast<std::uint64_t>((*decoder)->capacity());
  bytes_a_token_ = (memory.cache + capacity - 1) / capacity;
  held_bytes_ = memory_of(memory).compiled;
  held_bytes_[Kind::models] = folder_->tokenizer_bytes;
  return {};
}

}  // namespace

Result<std::shared_ptr<const PromptModel>> read_prompt_folder(const std::string& folder,
                                                              const DecoderCompiler& compile) {
  return guarded([&] { return FolderModel::read(folder, compile); });
}

}  // namespace quern::wasi_nn
