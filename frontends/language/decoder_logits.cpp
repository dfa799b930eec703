// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <string>
#include <utility>

#include <quern/decoder.h>
#include <quern/processor_time.h>

#include "frontends/language/next_logits.h"

namespace quern::language {
namespace {

// "past.%.key" of "past.%d.key", as genai_config.json writes it.
std::string with_percent(std::string name) {
  if (const std::size_t place = name.find("%d"); place != std::string::npos)
    name.erase(place + 1, 1);
  return name;
}

class DecoderLogits final : public NextLogits {
 public:
  explicit DecoderLogits(std::unique_ptr<Decoder> decoder) : decoder_(std::move(decoder)) {}

  Status append(std::span<const std::int64_t> tokens) override {
    return decoder_->append(tokens, deadline_);
  }
  std::span<const float> logits() const override { return decoder_->logits(); }
  Status rewind(std::int64_t length) override { return decoder_->rewind(length); }
  std::int64_t length() const override { return decoder_->length(); }
  std::int64_t capacity() const override { return decoder_->capacity(); }
  std::size_t bytes_read() const override {
    return decoder_->session().plan_info().weight_bytes +
           decoder_->row_bytes() * static_cast<std::size_t>(decoder_->length());
  }
  DecoderMemory memory() const override { return decoder_->memory(); }
  Status prepare(std::int64_t tokens) override { return decoder_->prepare(tokens); }
  std::chrono::nanoseconds processor_time() const override {
    return quern::processor_time(decoder_->session());
  }
  void set_deadline(std::chrono::steady_clock::time_point deadline) override {
    deadline_ = deadline;
  }
  void cancel() override { decoder_->cancel(); }
  void clear_cancel() override { decoder_->clear_cancel(); }

 private:
  std::unique_ptr<Decoder> decoder_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
};

}  // namespace

Result<std::unique_ptr<NextLogits>> open_decoder(std::shared_ptr<const Executable> executable,
                                                 const DecoderInputs& names, std::int64_t capacity,
                                                 const SessionOptions& options) {
  DecoderOptions o;
  o.capacity = capacity;
  o.session = options;
  o.names.tokens = names.tokens;
  o.names.mask = names.mask;
  o.names.positions = names.positions;
  o.names.logits = names.logits;
  o.names.past_key = with_percent(names.past_key);
  o.names.past_value = with_percent(names.past_value);
  o.names.present_key = with_percent(names.present_key);
  o.names.present_value = with_percent(names.present_value);
  QUERN_ASSIGN(auto decoder, Decoder::open(std::move(executable), o));
  return std::unique_ptr<NextLogits>(std::make_unique<DecoderLogits>(std::move(decoder)));
}

}  // namespace quern::language
