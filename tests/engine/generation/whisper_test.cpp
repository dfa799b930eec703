// SPDX-License-Identifier: Apache-2.0
// WhisperBeamSearch against a plain search over a model that is a line of arithmetic. ONNX Runtime
// was asked about the same operator.
#include <random>

#include "tests/engine/generation/plain_search.h"
#include "tests/engine/one_operator.h"

namespace quern::testing {
namespace {

using onnx_test::graph;
using onnx_test::integer;
using onnx_test::Messages;

struct Speech {
  std::vector<std::vector<float>> features;  // of each prompt: [2, 3]
  std::vector<Tokens> starts;
  Rules rules;
  int processor = 1;
};

// What the last token says, the marks of all tokens and the sum of the features.
Messages speech_logits() {
  using namespace onnx_test;  // NOLINT: the words of the writer
  const Message drop = integer("keepdims", 0);
  return {node("ReduceSum", {"cross", "axes123"}, {"told"}, {drop}),
          node("Unsqueeze", {"told", "axes12"}, {"told3"}),
          node("Mul", {"told3", "by_prompt"}, {"prompt_part"}),
          node("ReduceSum", {"self", "axes123"}, {"own"}, {drop}),
          node("Unsqueeze", {"own", "axes12"}, {"own3"}),
          node("Mul", {"own3", "by_marks"}, {"own_part"}),
          node("Add", {"prompt_part", "own_part"}, {"far"}),
          node("Gather", {"next", "tokens"}, {"near"}),
          node("Add", {"near", "far"}, {"logits"})};
}

Messages speech_weights(const Toy& toy) {
  using onnx_test::ints;
  return joined(weights_of(toy), {ints("axes123", {3}, {1, 2, 3}), ints("axes12", {2}, {1, 2})});
}

onnx_test::Message speech_encoder(const Toy& toy) {
  using namespace onnx_test;  // NOLINT: the words of the writer
  return make_graph(
      {.name = "encoder",
       .nodes = joined({node("Unsqueeze", {"encoder_input_ids", "axes1"}, {"cross"}),
                        node("Identity", {"cross"}, {"cross_value"}),
                        node("Identity", {"encoder_input_ids"}, {"hidden"}),
                        node("Identity", {"decoder_input_ids"}, {"tokens"}),
                        node("Gather", {"mark", "tokens"}, {"marks"}),
                        node("Unsqueeze", {"marks", "axes13"}, {"self"}),
                        node("Identity", {"self"}, {"self_value"})},
                       speech_logits()),
       .inputs = {value("encoder_input_ids", f32, {"b", "f", 3}),
                  value("decoder_input_ids", i32, {"b", "s"})},
       .outputs = {value("logits", f32, {"b", "s", vocabulary}),
                   value("hidden", f32, {"b", "f", 3}), value("self", f32, {"b", 1, "s", 1}),
                   value("self_value", f32, {"b", 1, "s", 1}),
                   value("cross", f32, {"b", 1, "f", 3}),
                   value("cross_value", f32, {"b", 1, "f", 3})},
       .initializers = speech_weights(toy)});
}

onnx_test::Message speech_decoder(const Toy& toy) {
  using namespace onnx_test;  // NOLINT: the words of the writer
  return make_graph(
      {.name = "decoder",
       .nodes = joined(grown_past(), speech_logits()),
       .inputs = {value("input_ids", i32, {"b", 1}),
                  value("encoder_hidden_states", f32, {"b", "f", 3}),
                  value("past_key", f32, {"b", 1, "p", 1}),
                  value("past_value", f32, {"b", 1, "p", 1}), value("cross", f32, {"b", 1, "f", 3}),
                  value("cross_value", f32, {"b", 1, "f", 3})},
       .outputs = {value("logits", f32, {"b", 1, vocabulary}), value("self", f32, {"b", 1, "q", 1}),
                   value("self_value", f32, {"b", 1, "q", 1})},
       .initializers = speech_weights(toy)});
}

Logits speech_logits_of(const Toy& toy, const Speech& s) {
  return [&toy, &s](std::size_t b, const Tokens& tokens) {
    float told = 0;
    for (float f : s.features[b]) told += f;
    const float own = toy.sum_of_marks(tokens, 0);
    const auto last = static_cast<std::size_t>(tokens.back());
    Scores x;
    for (std::size_t t = 0; t < vocabulary; ++t)
      x.push_back(toy.next[last * vocabulary + t] + told * toy.by_prompt[t] +
                  own * toy.by_marks[t]);
    return x;
  };
}

// Tokens 6 to 10 are times, so that they are as likely as text.
Speech drawn_speech(std::uint32_t seed) {
  std::mt19937 rng(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(rng() % n); };
  Speech s;
  const std::int64_t prompts = 1 + below(2), length = 1 + below(3);
  for (std::int64_t b = 0; b < prompts; ++b) {
    s.features.push_back(weights(6, 100 + 7 * seed + static_cast<std::uint32_t>(b)));
    Tokens start = {1};
    while (static_cast<std::int64_t>(start.size()) < length) start.push_back(below(8));
    s.starts.push_back(start);
  }
  Rules& r = s.rules;
  r.eos = 0;
  r.pad = 0;
  r.most = length + 2 + below(8);
  r.least = below(3) == 0 ? length + below(4) : 0;
  r.ngram = below(4) == 0 ? 3 : 0;
  r.beams = static_cast<std::size_t>(1 + below(4));
  r.returned = 1 + static_cast<std::size_t>(below(static_cast<std::uint32_t>(r.beams)));
  r.early = prompts > 1 || below(2) == 0;
  r.temperature = below(2) == 0 ? 1.0F : 0.5F + 0.5F * static_cast<float>(below(4));
  if (below(4) > 0)
    r.times = {.start = 1,
               .translate = 2,
               .transcribe = 3,
               .language_model = 4,
               .no_times = 5,
               .first = 6};
  s.processor = r.times ? 1 : static_cast<int>(2 * below(2));
  return s;
}

Fed whole(std::int64_t value, bool constant) {
  return {tensor<std::int32_t>({1}, {static_cast<std::int32_t>(value)}), onnx_test::i32, constant};
}

OneOperator whisper_model(const Toy& toy, const Speech& s, bool known) {
  const Rules& r = s.rules;
  OneOperator op{
      .op = "WhisperBeamSearch",
      .attributes = {graph("encoder", speech_encoder(toy)), graph("decoder", speech_decoder(toy)),
                     integer("eos_token_id", r.eos), integer("pad_token_id", r.pad),
                     integer("no_repeat_ngram_size", r.ngram), integer("early_stopping", r.early),
                     integer("decoder_start_token_id", 1), integer("translate_token_id", 2),
                     integer("transcribe_token_id", 3), integer("start_of_lm_token_id", 4),
                     integer("no_timestamps_token_id", 5),
                     integer("beginning_timestamp_token_id", 6)},
      .outputs = 2,
      .dims = Declared::last};
  const auto prompts = static_cast<std::int64_t>(s.features.size());
  std::vector<float> features;
  std::vector<std::int32_t> starts;
  for (const auto& f : s.features) features.insert(features.end(), f.begin(), f.end());
  for (const Tokens& t : s.starts) starts.insert(starts.end(), t.begin(), t.end());
  const auto length = static_cast<std::int64_t>(s.starts[0].size());
  op.fed = {{Tensor::from_values<float>(DType::f32, Shape{prompts, 2, 3}, features)},
            whole(r.most, known),
            whole(r.least, known),
            whole(static_cast<std::int64_t>(r.beams), known),
            whole(static_cast<std::int64_t>(r.returned), known)};
  op.fed.resize(15);
  if (length > 1) op.fed[10] = integers({prompts, length}, starts);
  op.fed[11] = whole(s.processor, known);
  if (r.temperature != 1) op.fed[14] = {tensor<float>({1}, {r.temperature}), onnx_test::f32, known};
  return op;
}

TEST(WhisperBeamSearch, KeepsTheBestBeamsByTheRulesOfTimes) {
  const Toy toy;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Speech s = drawn_speech(seed);
    const OneOperator op = whisper_model(toy, s, seed % 2 == 0);
    const Tensors found = must(run_onnx(model_of(op), inputs_of(op), ways()[seed % ways().size()]));
    std::vector<std::int32_t> tokens;
    std::vector<float> scores;
    for (std::size_t b = 0; b < s.starts.size(); ++b)
      for (const Hypothesis& h : plain_beams(s.rules, s.starts[b], b, speech_logits_of(toy, s))) {
        tokens.insert(tokens.end(), h.tokens.begin(), h.tokens.end());
        scores.push_back(h.score);
      }
    EXPECT_THAT(found[0].span<std::int32_t>(), ::testing::ElementsAreArray(tokens));
    EXPECT_THAT(found[1].span<float>(), ::testing::Pointwise(::testing::FloatNear(1e-4F), scores));
  }
}

// Its share of the softmax of the first scores.
TEST(WhisperBeamSearch, SaysHowLikelyThereIsNoSpeech) {
  const Toy toy;
  const Speech s = drawn_speech(3);
  OneOperator op = whisper_model(toy, s, true);
  op.outputs = 5;
  op.attributes.push_back(integer("no_speech_token_id", 4));
  EXPECT_THAT(answer(model_of(op), inputs_of(op), ways()[0]),
              ::testing::HasSubstr("scores of cross attention (output 3) are not supported"));
  op.skipped = {1, 2, 3};
  for (const Way& way : ways()) {
    const Tensors found = must(run_onnx(model_of(op), inputs_of(op), way));
    for (std::size_t b = 0; b < s.starts.size(); ++b) {
      const Scores x = speech_logits_of(toy, s)(b, s.starts[b]);
      EXPECT_NEAR(found[1].span<float>()[b], std::exp(x[4] - log_sum(x)), 1e-5);
    }
  }
}

TEST(WhisperBeamSearch, WhatDoesNotFitIsAnErrorInWords) {
  const Toy toy;
  const auto error = [&](const onnx_test::Message& attribute, std::size_t input = 0) {
    OneOperator op = whisper_model(toy, drawn_speech(2), true);
    std::erase_if(op.attributes, [&](const onnx_test::Message& m) {
      return m.bytes().substr(0, 12) == attribute.bytes().substr(0, 12);
    });
    op.attributes.push_back(attribute);
    op.fed[11] = whole(1, true);
    if (input > 0) op.fed[input] = whole(1, true);
    return answer(model_of(op), inputs_of(op), ways()[0]);
  };
  EXPECT_THAT(error(integer("beginning_timestamp_token_id", 0)),
              ::testing::HasSubstr("'beginning_timestamp_token_id' is 0, wants a token"));
  EXPECT_THAT(error(integer("beginning_timestamp_token_id", 11)),
              ::testing::HasSubstr("'beginning_timestamp_token_id' is behind the last token"));
  EXPECT_THAT(error(integer("model_type", 1)),
              ::testing::HasSubstr("'model_type' is 1, wants 2 (Whisper)"));
  EXPECT_THAT(error(integer("decoder_output_cross_qk", 1)),
              ::testing::HasSubstr("scores of cross attention"));
  EXPECT_THAT(error(integer("model_type", 2), 13),
              ::testing::HasSubstr("tokens that continue the prompt (input 13)"));
}

}  // namespace
}  // namespace quern::testing
