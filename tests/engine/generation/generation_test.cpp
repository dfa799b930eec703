// SPDX-License-Identifier: Apache-2.0
// Operators that generate text, from the file to the tokens, against plain searches over models
// that are a line of arithmetic. ONNX Runtime was asked about the same operators with real bodies.
#include <random>

#include "tests/engine/generation/plain_search.h"
#include "tests/engine/one_operator.h"

namespace quern::testing {
namespace {

using onnx_test::graph;
using onnx_test::integer;
using onnx_test::number;

Tensor i32s(const Shape& shape, const std::vector<std::int32_t>& values) {
  return Tensor::from_values<std::int32_t>(DType::i32, shape, values);
}

Fed integers(const Shape& shape, const std::vector<std::int32_t>& values, bool constant = false) {
  return {i32s(shape, values), onnx_test::i32, constant};
}
Fed one(std::int64_t value, bool constant = false) {
  return integers({1}, {static_cast<std::int32_t>(value)}, constant);
}
Fed one(float value, bool constant = false) {
  return {tensor<float>({1}, {value}), onnx_test::f32, constant};
}

Fed rows_of(const std::vector<Tokens>& rows) {
  std::vector<std::int32_t> all;
  for (const Tokens& row : rows)
    for (std::int64_t t : row) all.push_back(static_cast<std::int32_t>(t));
  return integers(
      {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows.front().size())},
      all);
}

Fed mask_of(const std::vector<std::vector<int>>& rows) {
  std::vector<std::int32_t> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  if (rows.size() == 1) return integers({vocabulary}, all, true);
  return integers({static_cast<std::int64_t>(rows.size()), vocabulary}, all);
}

// ---- draws of cases

struct Case {
  std::vector<Tokens> prompts;
  Rules rules;
};

std::vector<int> drawn_mask(std::mt19937& rng) {
  std::vector<int> mask;
  for (std::int64_t t = 0; t < vocabulary; ++t) mask.push_back(rng() % 4 != 0);
  return mask;
}

// Prompts of two to five tokens, some with padding in front.
Case drawn_case(std::uint32_t seed, bool has_prompt_tokens) {
  std::mt19937 rng(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(rng() % n); };
  Case c;
  const std::int64_t length = 2 + below(4);
  for (std::int64_t b = 1 + below(3); b-- > 0;) {
    Tokens tokens;
    for (std::int64_t i = 0; i < length; ++i) tokens.push_back(2 + below(vocabulary - 2));
    if (below(3) == 0) tokens[0] = c.rules.pad;
    c.prompts.push_back(tokens);
  }
  Rules& r = c.rules;
  const std::int64_t from = has_prompt_tokens ? length : 1;
  r.eos = 2 + below(vocabulary - 2);
  r.most = from + 2 + below(8);
  r.least = below(3) == 0 ? from + below(4) : 0;
  r.ngram = below(4);
  r.repetition = below(2) == 0 ? 1.0F : 0.5F + static_cast<float>(below(4)) / 2;
  if (below(3) == 0) r.allowed = drawn_mask(rng);
  if (below(3) == 0 && c.prompts.size() > 1)
    for (std::size_t b = 0; b < c.prompts.size(); ++b) r.first.push_back(drawn_mask(rng));
  r.beams = static_cast<std::size_t>(1 + below(4));
  r.returned = 1 + static_cast<std::size_t>(below(static_cast<std::uint32_t>(r.beams)));
  r.length = 0.5F * static_cast<float>(below(5)) - 0.5F;
  // Without early stopping, ONNX Runtime's CPU kernel lets prompts disturb each other
  // (generation.cpp).
  r.early = c.prompts.size() > 1 || below(2) == 0;
  return c;
}

onnx_test::Messages attributes_of(const Rules& r) {
  onnx_test::Messages all = {integer("eos_token_id", r.eos), integer("pad_token_id", r.pad),
                             integer("no_repeat_ngram_size", r.ngram)};
  return all;
}

// ---- models

// The toy says its logits by the tokens that are no padding.
Logits gpt_logits(const Toy& toy, const Rules& r, std::size_t prompt_length) {
  return [&toy, &r, prompt_length](std::size_t, const Tokens& tokens) {
    Tokens shown;
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (i >= prompt_length || tokens[i] != r.pad) shown.push_back(tokens[i]);
    const auto last = static_cast<std::size_t>(tokens.back());
    const float sum = toy.sum_of_marks(shown, 0);
    Scores x;
    for (std::size_t t = 0; t < vocabulary; ++t)
      x.push_back(toy.next[last * vocabulary + t] + toy.place[(shown.size() - 1) * vocabulary + t] +
                  sum * toy.by_marks[t]);
    return x;
  };
}

Logits text_logits_of(const Toy& toy, const Case& c) {
  return [&toy, &c](std::size_t b, const Tokens& tokens) {
    const Tokens& prompt = c.prompts[b];
    const float told = toy.sum_of_marks(prompt, prompt[0] == c.rules.pad ? 1 : 0);
    const float own = toy.sum_of_marks(tokens, 0);
    const auto last = static_cast<std::size_t>(tokens.back());
    Scores x;
    for (std::size_t t = 0; t < vocabulary; ++t)
      x.push_back(toy.next[last * vocabulary + t] + told * toy.by_prompt[t] +
                  own * toy.by_marks[t]);
    return x;
  };
}

OneOperator greedy_model(const Toy& toy, const Case& c) {
  const Rules& r = c.rules;
  OneOperator op{.op = "GreedySearch", .attributes = attributes_of(r), .dims = Declared::last};
  op.attributes.push_back(graph("decoder", gpt_body(toy)));
  op.fed = {rows_of(c.prompts), one(r.most, r.early), one(r.least), one(r.repetition, r.early)};
  op.fed.resize(6);
  if (!r.allowed.empty()) op.fed[4] = mask_of({r.allowed});
  if (!r.first.empty()) op.fed[5] = mask_of(r.first);
  return op;
}

OneOperator beam_model(const Case& c, onnx_test::Messages bodies) {
  const Rules& r = c.rules;
  OneOperator op{.op = "BeamSearch",
                 .attributes = joined(attributes_of(r), bodies),
                 .outputs = 2,
                 .dims = Declared::last};
  op.attributes.push_back(integer("early_stopping", r.early));
  const bool known = r.ngram > 1;
  op.fed = {rows_of(c.prompts),
            one(r.most, known),
            one(r.least, known),
            one(static_cast<std::int64_t>(r.beams), known),
            one(static_cast<std::int64_t>(r.returned)),
            one(r.length, known),
            one(r.repetition)};
  op.fed.resize(9);
  if (!r.allowed.empty()) op.fed[7] = mask_of({r.allowed});
  if (!r.first.empty()) op.fed[8] = mask_of(r.first);
  return op;
}

void expect_beams(const OneOperator& op, const Rules& r, const std::vector<Tokens>& prompts,
                  const Logits& logits, const Way& way) {
  const Tensors found = must(run_onnx(model_of(op), inputs_of(op), way));
  std::vector<std::int32_t> tokens;
  std::vector<float> scores;
  for (std::size_t b = 0; b < prompts.size(); ++b)
    for (const Hypothesis& h : plain_beams(r, prompts[b], b, logits)) {
      tokens.insert(tokens.end(), h.tokens.begin(), h.tokens.end());
      scores.push_back(h.score);
    }
  EXPECT_THAT(found[0].span<std::int32_t>(), ::testing::ElementsAreArray(tokens));
  EXPECT_THAT(found[1].span<float>(), ::testing::Pointwise(::testing::FloatNear(1e-4F), scores));
}

// ---- tests

constexpr std::uint32_t cases = 40;

TEST(GreedySearch, TakesTheLikeliestTokens) {
  const Toy toy;
  for (std::uint32_t seed = 0; seed < cases; ++seed) {
    const Case c = drawn_case(seed, true);
    std::vector<std::int32_t> wanted;
    for (const Tokens& row :
         plain_greedy(c.rules, c.prompts, gpt_logits(toy, c.rules, c.prompts[0].size())))
      wanted.insert(wanted.end(), row.begin(), row.end());
    const OneOperator op = greedy_model(toy, c);
    const Way& way = ways()[seed % ways().size()];
    const Tensors found = must(run_onnx(model_of(op), inputs_of(op), way));
    EXPECT_THAT(found[0].span<std::int32_t>(), ::testing::ElementsAreArray(wanted)) << seed;
  }
}

TEST(BeamSearch, KeepsTheBestBeamsOfGpt2) {
  const Toy toy;
  for (std::uint32_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(seed);
    const Case c = drawn_case(seed, true);
    const Logits logits = gpt_logits(toy, c.rules, c.prompts[0].size());
    onnx_test::Messages bodies = {graph("decoder", gpt_body(toy))};
    if (seed % 3 == 0) bodies.push_back(graph("init_decoder", gpt_body(toy)));
    expect_beams(beam_model(c, bodies), c.rules, c.prompts, logits, ways()[seed % ways().size()]);
  }
}

TEST(BeamSearch, KeepsTheBestBeamsOfAnEncoderWithADecoder) {
  const Toy toy;
  for (std::uint32_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(seed);
    const Case c = drawn_case(seed, false);
    const std::vector<Tokens> starts(c.prompts.size(), Tokens{3});
    const onnx_test::Messages bodies = {graph("encoder", encoder_body(toy, seed % 2 == 0)),
                                        graph("decoder", text_decoder_body(toy)),
                                        integer("model_type", 1),
                                        integer("decoder_start_token_id", 3)};
    expect_beams(beam_model(c, bodies), c.rules, starts, text_logits_of(toy, c),
                 ways()[seed % ways().size()]);
  }
}

// The likeliest token is the one that is left.
TEST(Sampling, IsGreedyWhereOneTokenIsLeft) {
  const Toy toy;
  for (std::uint32_t seed = 0; seed < cases / 4; ++seed) {
    const Case c = drawn_case(seed, true);
    OneOperator op = greedy_model(toy, c);
    const Tensors wanted = must(run_onnx(model_of(op), inputs_of(op), ways()[0]));
    op.op = "Sampling";
    op.attributes.push_back(number("top_p", 1e-6F));
    op.attributes.push_back(integer("custom", seed % 2));
    op.attributes.push_back(integer("min_tokens_to_keep", 1));
    op.fed.resize(9);
    op.fed[8] = one(std::int64_t{seed}, seed % 4 < 2);
    const Tensors found = must(run_onnx(model_of(op), inputs_of(op), ways()[seed % 3]));
    EXPECT_THAT(found[0].span<std::int32_t>(),
                ::testing::ElementsAreArray(wanted[0].span<std::int32_t>()))
        << seed;
  }
}

// The first token of many prompts comes as often as its share of the softmax says.
TEST(Sampling, DrawsByTheSoftmax) {
  const Toy toy;
  constexpr std::size_t prompts = 2000;
  Case c{.prompts = std::vector<Tokens>(prompts, Tokens{4, 7})};
  c.rules.most = 3;
  c.rules.eos = vocabulary + 1;
  OneOperator op = greedy_model(toy, c);
  op.op = "Sampling";
  op.attributes.push_back(number("top_p", 1));
  op.attributes.push_back(number("temperature", 2));
  op.fed.resize(9);
  op.fed[8] = one(std::int64_t{5});
  const Tensors found = must(run_onnx(model_of(op), inputs_of(op), ways()[0]));
  Scores x = gpt_logits(toy, c.rules, 2)(0, c.prompts[0]);
  for (float& v : x) v /= 2;
  const float whole = log_sum(x);
  std::vector<double> times(vocabulary, 0);
  for (std::size_t b = 0; b < prompts; ++b)
    ++times[static_cast<std::size_t>(found[0].span<std::int32_t>()[3 * b + 2])];
  for (std::size_t t = 0; t < vocabulary; ++t) {
    const double share = std::exp(x[t] - whole);
    const double deviation = std::sqrt(prompts * share * (1 - share));
    EXPECT_NEAR(times[t], prompts * share, 5 * deviation) << t;
  }
}

TEST(Generation, LengthsAndBeamsOutOfRangeAreErrorsInWords) {
  const Toy toy;
  Case c = drawn_case(1, true);
  const auto length = static_cast<std::int64_t>(c.prompts[0].size());
  const onnx_test::Messages bodies = {graph("decoder", gpt_body(toy))};
  const auto error_with = [&](std::size_t input, std::int64_t value, bool constant) {
    OneOperator op = beam_model(c, bodies);
    op.fed[input] = one(value, constant);
    return answer(model_of(op), inputs_of(op), ways()[0]);
  };
  for (const bool constant : {false, true}) {
    EXPECT_THAT(error_with(1, 2'000'000'000, constant),
                ::testing::HasSubstr("max_length is 2000000000, wants " +
                                     std::to_string(length + 1) + " to 4096"));
    EXPECT_THAT(error_with(1, length, constant), ::testing::HasSubstr("max_length is "));
    EXPECT_THAT(error_with(3, 1'000'000'000, constant),
                ::testing::HasSubstr("num_beams is 1000000000, wants 1 to 128"));
    EXPECT_THAT(error_with(3, 0, constant), ::testing::HasSubstr("num_beams is 0, wants 1 to 128"));
    EXPECT_THAT(error_with(4, 100, constant),
                ::testing::HasSubstr("num_return_sequences is 100, wants 1 to "));
  }
}

// The answer of a model with these bodies.
std::string answer_with(const onnx_test::Messages& attributes) {
  const OneOperator op = beam_model(drawn_case(1, true), attributes);
  return answer(model_of(op), inputs_of(op), ways()[0]);
}

TEST(Generation, BodiesThatDoNotFitAreErrorsInWords) {
  const Toy toy;
  const auto decoder = [&](const onnx_test::Messages& inputs, const onnx_test::Messages& outputs) {
    return graph("decoder", onnx_test::make_graph({.inputs = inputs, .outputs = outputs}));
  };
  const auto named = [](std::string_view name) {
    return onnx_test::value(name, onnx_test::i32, {"b", "s"});
  };
  const onnx_test::Messages three = {named("input_ids"), named("position_ids"),
                                     named("attention_mask")};
  EXPECT_THAT(answer_with({decoder({named("ids")}, {})}),
              ::testing::HasSubstr("input 0 of its decoder is 'ids', wants 'input_ids'"));
  EXPECT_THAT(answer_with({decoder(three, {named("input_ids")})}),
              ::testing::HasSubstr("has 3 inputs and 1 outputs, wants a past for each present"));
  EXPECT_THAT(answer_with({decoder(joined(three, {named("past_0"), named("past_sequence_length")}),
                                   {named("input_ids"), named("past_0")})}),
              ::testing::HasSubstr("5 inputs and 2 outputs: a past in a buffer is not supported"));
  EXPECT_THAT(answer_with({decoder(joined(three, {named("past_0")}),
                                   {named("input_ids"), named("past_0")})}),
              ::testing::HasSubstr("input 'past_0' of its decoder wants rank 5 with known"));
  EXPECT_THAT(answer_with({graph("decoder", gpt_body(toy)), integer("vocab_size", 12)}),
              ::testing::HasSubstr("'vocab_size' is more than its decoder has scores"));
  EXPECT_THAT(answer_with({graph("decoder", gpt_body(toy)), integer("model_type", 3)}),
              ::testing::HasSubstr("'model_type' is 3, wants 0 (GPT-2), 1 (T5) or 2 (Whisper)"));
  const auto with_encoder = [&](const onnx_test::Message& body) {
    return onnx_test::Messages{graph("encoder", body), graph("decoder", text_decoder_body(toy)),
                               integer("model_type", 1), integer("decoder_start_token_id", 3)};
  };
  EXPECT_THAT(answer_with(with_encoder(gpt_body(toy))),
              ::testing::HasSubstr("its encoder has an input 'input_ids' that is not known"));
  EXPECT_THAT(answer_with(with_encoder(onnx_test::make_graph({}))),
              ::testing::HasSubstr("its encoder gives 0 keys and values"));
}

}  // namespace
}  // namespace quern::testing
