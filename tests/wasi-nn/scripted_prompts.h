// SPDX-License-Identifier: Apache-2.0
// A language model without a model: a token is a byte, and the answer to every prompt is a script.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "frontends/wasi-nn/instance.h"

namespace quern::wasi_nn_test {

struct Script {
  std::string answer = "one two";  // a byte a token, and then the end
  bool ends = true;                // false: it begins again, until the context is full
  std::int64_t context = 64;
  // A step that fails, with what; ok: none.
  std::size_t failing_step = 0;
  Code failure = Code::ok;
};

class ScriptedSequence final : public wasi_nn::PromptSequence {
 public:
  ScriptedSequence(const Script& script, std::int64_t capacity)
      : script_(script), capacity_(capacity) {}

  std::int64_t capacity() const override { return capacity_; }
  Memory memory() const override {
    Memory m;
    m.own[wasi_nn::Kind::tensors] = 100 * static_cast<std::uint64_t>(capacity_);
    m.own[wasi_nn::Kind::arenas] = 1000;
    m.compiled[wasi_nn::Kind::weights] = 10;
    return m;
  }
  std::chrono::nanoseconds processor_time() const override { return {}; }
  void set_deadline(std::chrono::steady_clock::time_point deadline) override {
    deadline_ = deadline;
  }
  Status set_prompt(std::span<const wasi_nn::PromptToken> prompt,
                    const wasi_nn::PromptOptions& options, Form form) override {
    most_ = form == Form::whole ? options.most_tokens.value_or(-1) : -1;
    stop_ = form == Form::whole ? options.reverse_prompt : "";
    length_ = static_cast<std::int64_t>(prompt.size());
    end_ = wasi_nn::PromptEnd::none;
    tokens_ = 0;
    return {};
  }
  Status compute_prompt() override { return check_deadline(); }
  Result<std::string> step() override;
  wasi_nn::PromptEnd end() const override { return end_; }
  std::size_t tokens() const override { return tokens_; }

 private:
  Status check_deadline() const {
    if (std::chrono::steady_clock::now() < deadline_) return {};
    return {Code::timed_out, "the deadline passed"};
  }

  const Script& script_;
  const std::int64_t capacity_;
  std::chrono::steady_clock::time_point deadline_;
  std::int64_t most_ = -1, length_ = 0;
  std::string stop_;
  wasi_nn::PromptEnd end_ = wasi_nn::PromptEnd::none;
  std::size_t tokens_ = 0;
};

inline Result<std::string> ScriptedSequence::step() {
  using wasi_nn::PromptEnd;
  if (script_.failure != Code::ok && tokens_ == script_.failing_step)
    return Status(script_.failure, "as it stands in the script");
  if (Status passed = check_deadline(); !passed.ok()) return passed;
  if (length_ + static_cast<std::int64_t>(tokens_) >= capacity_) {
    end_ = PromptEnd::context;
    return std::string();
  }
  const bool is_over = script_.ends && tokens_ >= script_.answer.size();
  const char byte = is_over ? 0 : script_.answer[tokens_ % script_.answer.size()];
  ++tokens_;
  if (is_over || (!stop_.empty() && stop_[0] == byte)) {
    end_ = PromptEnd::sequence;
    return std::string();
  }
  if (static_cast<std::int64_t>(tokens_) == most_) end_ = PromptEnd::length;
  return std::string(1, byte);
}

class ScriptedModel final : public wasi_nn::PromptModel {
 public:
  explicit ScriptedModel(Script script) : script_(std::move(script)) {}

  std::int64_t context_length() const override { return script_.context; }
  wasi_nn::KindBytes held_bytes() const override { return {wasi_nn::Kind::models, 7}; }
  Result<wasi_nn::PromptTokens> tokens_of(std::string_view prompt) const override {
    return wasi_nn::PromptTokens(prompt.begin(), prompt.end());
  }
  std::uint64_t cache_bytes(std::int64_t capacity) const override {
    return 100 * static_cast<std::uint64_t>(capacity);
  }
  Result<std::unique_ptr<wasi_nn::PromptSequence>> open(std::int64_t capacity,
                                                        const SessionOptions&) const override {
    return std::unique_ptr<wasi_nn::PromptSequence>(
        std::make_unique<ScriptedSequence>(script_, capacity));
  }

 private:
  const Script script_;
};

// Adds it to a tenant as the model `name`, over a decoder of these bytes that nobody runs.
inline wasi_nn::Error add_script(wasi_nn::Tenant& tenant, const std::string& name,
                                 wasi_nn::Bytes decoder, Script script) {
  auto graph = wasi_nn::SharedGraph::load({&decoder, 1});
  if (!graph) return wasi_nn::Error(graph.error());
  return tenant.add(name, std::move(*graph), std::make_shared<ScriptedModel>(std::move(script)));
}

}  // namespace quern::wasi_nn_test
