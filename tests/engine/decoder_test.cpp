// SPDX-License-Identifier: Apache-2.0
// Decoder: what it computes token by token against all tokens at once, and what a token costs.
#include <algorithm>
#include <cmath>
#include <vector>

#include <quern/artefact.h>
#include <quern/decoder.h>

#include "tests/engine/decoder_models.h"
#include "tests/expect.h"

namespace quern {
namespace {

using quern::testing::after;
using quern::testing::decoder_model;
using quern::testing::DecoderForm;
using quern::testing::Logits;
using quern::testing::must;
using quern::testing::story;
using quern::testing::Tokens;

constexpr auto buffer = DecoderForm::Cache::buffer;
constexpr auto joined = DecoderForm::Cache::joined;
constexpr auto counted = DecoderForm::Cache::counted;

std::unique_ptr<Decoder> open(const DecoderForm& form, std::int64_t capacity = 16,
                              int threads = 1) {
  return must(
      Decoder::open(decoder_model(form), {.capacity = capacity, .session = {.threads = threads}}));
}

// Of all tokens at once, by the model with a cache that is joined.
Logits wanted(std::span<const std::int64_t> tokens, DecoderForm::Cache cache = joined) {
  const DecoderForm form{.cache = cache == counted ? counted : joined};
  const auto d = must(Decoder::open(testing::compile(decoder_model(form)), {.capacity = 16}));
  EXPECT_EQ(d->growth(), Decoder::Growth::copied);
  return after(*d, tokens);
}

void expect_near(const Logits& got, const Logits& wanted, float most = 1e-5F) {
  ASSERT_EQ(got.size(), wanted.size());
  ASSERT_EQ(got.size(), static_cast<std::size_t>(testing::decoder_vocabulary));
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], most) << i;
}

std::span<const std::int64_t> first(std::size_t n) {
  return std::span(story).first(n);
}

class DecoderTest : public ::testing::TestWithParam<DecoderForm::Cache> {};
INSTANTIATE_TEST_SUITE_P(Caches, DecoderTest, ::testing::Values(buffer, joined, counted));

TEST_P(DecoderTest, TokenByTokenIsAllAtOnce) {
  for (const int threads : {1, 2})
    for (const std::size_t prompt : {1, 4, 9}) {
      const auto d = open({.cache = GetParam()}, 16, threads);
      expect_near(after(*d, first(prompt)), wanted(first(prompt), GetParam()));
      for (std::size_t n = prompt + 1; n <= story.size(); ++n)
        expect_near(after(*d, first(n).last(1)), wanted(first(n), GetParam()));
      EXPECT_EQ(d->length(), static_cast<std::int64_t>(story.size()));
    }
}

TEST_P(DecoderTest, PartsOfAnyLengthFollowEachOther) {
  const auto d = open({.cache = GetParam()});
  (void)after(*d, first(3));
  (void)after(*d, first(8).last(5));
  expect_near(after(*d, first(10).last(2)), wanted(story, GetParam()));
}

double flops_of_products(const Decoder& d) {
  double flops = 0;
  for (const StepInfo& step : d.session().plan_info().steps)
    if (step.op == "MatMul") flops += step.flops;
  return flops;
}

// The product with the vocabulary has one row, where the model alone has as many as tokens.
TEST_P(DecoderTest, ComputesTheLogitsOfTheLastTokenAlone) {
  const DecoderForm form{.cache = GetParam()};
  const auto whole = must(Decoder::open(testing::compile(decoder_model(form)), {.capacity = 16}));
  const auto last = open(form);
  expect_near(after(*last, first(9)), after(*whole, first(9)));
  constexpr double saved = 2.0 * 8 * 32 * testing::decoder_vocabulary;  // 8 rows of 32 numbers
  EXPECT_LE(flops_of_products(*last), flops_of_products(*whole) - saved);
}

TEST_P(DecoderTest, GoesBackToALength) {
  const auto d = open({.cache = GetParam()});
  (void)after(*d, first(4));
  (void)after(*d, Tokens{9, 9, 9});
  must(d->rewind(4));
  EXPECT_EQ(d->length(), 4);
  expect_near(after(*d, first(6).last(2)), wanted(first(6), GetParam()));
  d->reset();
  expect_near(after(*d, first(2)), wanted(first(2), GetParam()));
  EXPECT_CONTAINS(d->rewind(3).message(), "to go back to 3 of 2 tokens");
  EXPECT_CONTAINS(d->rewind(-1).message(), "to go back to -1 of 2 tokens");
}

TEST_P(DecoderTest, ForksGoTheirOwnWays) {
  const auto d = open({.cache = GetParam()});
  (void)after(*d, first(5));
  const auto fork = must(d->fork());
  EXPECT_EQ(fork->length(), 5);
  EXPECT_EQ(fork->growth(), d->growth());
  expect_near(after(*d, Tokens{1}), wanted(Tokens{3, 1, 12, 7, 7, 1}, GetParam()));
  expect_near(after(*fork, first(6).last(1)), wanted(first(6), GetParam()));
  expect_near(after(*d, Tokens{8}), wanted(Tokens{3, 1, 12, 7, 7, 1, 8}, GetParam()));
  EXPECT_EQ(&fork->executable(), &d->executable());
}

TEST_P(DecoderTest, RefusesTokensThatItCannotTake) {
  const auto d = open({.cache = GetParam()}, 4);
  const auto refusal = [&](const Tokens& tokens) {
    return std::string(d->append(tokens).message());
  };
  EXPECT_CONTAINS(refusal({}), "no token to append");
  EXPECT_CONTAINS(refusal({0, 1, 2, 3, 4}), "5 tokens behind 0 are more than the capacity of 4");
  EXPECT_CONTAINS(refusal({-1}), "-1 is no token");
  (void)after(*d, first(3));
  EXPECT_FALSE(d->append(Tokens{13}).ok());  // of 13, none has this number
  EXPECT_EQ(d->length(), 3);
  expect_near(after(*d, first(4).last(1)), wanted(first(4), GetParam()));
  EXPECT_CONTAINS(refusal({1}), "1 tokens behind 4 are more than the capacity of 4");
}

TEST_P(DecoderTest, EndsWhereItIsCancelled) {
  const auto d = open({.cache = GetParam()});
  (void)after(*d, first(2));
  d->cancel();
  EXPECT_EQ(d->append(first(1)).code(), Code::busy);
  d->clear_cancel();
  EXPECT_EQ(d->length(), 2);
  expect_near(after(*d, first(3).last(1)), wanted(first(3), GetParam()));
}

TEST(Decoder, ACacheInABufferGrowsInPlace) {
  const auto d = open({.cache = buffer}, 64);
  EXPECT_EQ(d->growth(), Decoder::Growth::in_place);
  EXPECT_EQ(d->row_bytes(), 2U * 2 * 2 * 8 * 4);
  EXPECT_EQ(d->memory().cache, 64 * d->row_bytes());
  (void)after(*d, first(4));
  (void)after(*d, first(1));
  const std::size_t before = work_of(d->executable()).graphs;
  const std::size_t tables = d->executable().table_bytes();
  for (int i = 0; i < 40; ++i) (void)after(*d, first(1));
  EXPECT_EQ(work_of(d->executable()).graphs, before);
  EXPECT_EQ(d->executable().table_bytes(), tables);
}

// Rows that the model joins are appended in place, where it means the same by them; what counts
// positions from the length of a mask does not.
TEST(Decoder, AJoinedCacheIsMadeToGrowInPlace) {
  const auto d = open({.cache = joined}, 64);
  EXPECT_EQ(d->growth(), Decoder::Growth::in_place);
  EXPECT_TRUE(d->logits().empty());
  (void)after(*d, first(4));
  (void)after(*d, first(1));
  const std::size_t before = work_of(d->executable()).graphs;
  for (int i = 0; i < 20; ++i) (void)after(*d, first(1));
  EXPECT_EQ(work_of(d->executable()).graphs, before);
  EXPECT_EQ(open({.cache = joined}, 3)->growth(), Decoder::Growth::copied);
  EXPECT_EQ(open({.cache = counted})->growth(), Decoder::Growth::copied);
}

TEST(Decoder, ACacheOfHalvesStaysSo) {
  for (const auto cache : {buffer, joined}) {
    const auto d = open({.cache = cache, .dtype = DType::f16}, 16);
    EXPECT_EQ(d->growth(), Decoder::Growth::in_place);
    EXPECT_EQ(d->row_bytes(), 2U * 2 * 2 * 8 * 2);
    Logits last = after(*d, first(6));
    for (std::size_t n = 7; n <= story.size(); ++n) last = after(*d, first(n).last(1));
    expect_near(last, wanted(story), 2e-3F);
  }
}

TEST(Decoder, APlanAhead) {
  const auto d = open({.cache = buffer});
  must(d->prepare(7));
  const std::size_t before = work_of(d->executable()).graphs;
  (void)after(*d, first(7));
  EXPECT_EQ(work_of(d->executable()).graphs, before);
  EXPECT_CONTAINS(d->prepare(10).message(), "a plan for 10 tokens behind 7 of 16");
}

TEST(Decoder, NamesMustBeThere) {
  const auto refusal = [](const DecoderNames& names) {
    const auto d = Decoder::open(decoder_model(), {.capacity = 8, .names = names});
    return d ? std::string("none") : std::string(d.error().message());
  };
  EXPECT_EQ(refusal({}), "none");
  EXPECT_CONTAINS(refusal({.tokens = "ids"}), "the model has no input 'ids'");
  EXPECT_CONTAINS(refusal({.logits = "scores"}), "the model has no output 'scores'");
  EXPECT_CONTAINS(refusal({.past_key = "k%"}), "the model has no input 'k0', a cache of keys");
  EXPECT_CONTAINS(refusal({.past_value = "v%"}), "the model has no input 'v0'");
  EXPECT_CONTAINS(refusal({.present_key = "p%"}),
                  "input 'past_key_values.0.key' has no output 'p0' that it becomes");
  EXPECT_CONTAINS(refusal({.tokens = "past_key_values.0.key"}), "a decoder wants integers");
  EXPECT_CONTAINS(refusal({.logits = "present.0.key"}), "a decoder wants floats [1, tokens");
  EXPECT_FALSE(Decoder::open(decoder_model(), {.capacity = -1}));
  EXPECT_EQ(Decoder::open(decoder_model(), {.capacity = std::int64_t{1} << 60}).error().code(),
            Code::out_of_memory);
}

TEST(Decoder, InputsThatItDoesNotFillAreTheUsers) {
  const auto d = must(Decoder::open(decoder_model(), {.capacity = 8, .names = {.mask = "none"}}));
  EXPECT_CONTAINS(d->append(first(1)).message(), "'attention_mask' is not set");
  EXPECT_CONTAINS(d->set_input("input_ids", Tensor::scalar<std::int64_t>(DType::i64, 1)).message(),
                  "is filled by the decoder itself");
  EXPECT_EQ(d->set_input("other", {}).code(), Code::not_found);
  must(d->set_input("attention_mask", testing::tensor<std::int64_t>({1, 2}, {1, 1})));
  expect_near(after(*d, first(2)), wanted(first(2)));
}

// ---- sessions: one memory for an input and an output

TEST(SharedMemory, OnlyWhereThePlanMakesTheOutputInPlace) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {4});
  g.output("y", g.relu(x));
  const auto session = testing::session_of(testing::compile(must(g.build())));
  std::vector<float> data = {1, -1, 2, -2, 3};
  const auto* bytes = reinterpret_cast<std::byte*>(data.data());
  for (const std::size_t skipped : {0, 4}) {
    must(session->set_input(0, {{DType::f32, {4}}, bytes}));
    must(session->bind_output(0, const_cast<std::byte*>(bytes) + skipped, 16));
    const Status status = session->run();
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_CONTAINS(status.message(),
                    "an output of f32[4] is bound to memory of an input of f32[4]");
  }
  EXPECT_EQ(data, (std::vector<float>{1, -1, 2, -2, 3}));
}

// A second reader of the past would see what the step has written.
TEST(SharedMemory, NotOfAnInputThatOthersRead) {
  for (const bool is_read : {false, true}) {
    GraphBuilder g;
    const Operand past = g.input("past", DType::f32, {1, 1, 3, 2});
    const Operand rows = g.input("rows", DType::f32, {1, 1, 1, 2});
    const Operand before = g.input("before", DType::i64, {1});
    g.output("present", g.op(CacheAppend{}, {past, rows, before, g.integers({3})}));
    if (is_read) g.output("copy", g.neg(past));
    const auto session = testing::session_of(testing::compile(must(g.build())));
    std::vector<float> cache = {1, 2, 3, 4, 5, 6};
    const Tensor row = testing::tensor<float>({1, 1, 1, 2}, {8, 9});
    const Tensor at = testing::tensor<std::int64_t>({1}, {1});
    auto* bytes = reinterpret_cast<std::byte*>(cache.data());
    must(session->set_input(0, {{DType::f32, {1, 1, 3, 2}}, bytes}));
    must(session->set_input(1, row.view()));
    must(session->set_input(2, at.view()));
    must(session->bind_output(0, bytes, 24));
    EXPECT_EQ(session->run().ok(), !is_read);
    EXPECT_EQ(cache, is_read ? (std::vector<float>{1, 2, 3, 4, 5, 6})
                             : (std::vector<float>{1, 2, 8, 9, 5, 6}));
    must(session->bind_output(0, nullptr, 0));
    must(session->run());
    EXPECT_EQ(testing::values<float>(must(session->output(0))),
              (std::vector<float>{1, 2, 8, 9, 0, 0}));
  }
}

}  // namespace
}  // namespace quern
