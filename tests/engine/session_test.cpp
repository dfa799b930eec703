// SPDX-License-Identifier: Apache-2.0
// These tests cover sessions: bindings, outputs, requests, errors, stopping, sharing, memory.
#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>
#include <unistd.h>

#include <quern/onnx.h>
#include <quern/session.h>

#include "tests/engine/engine_models.h"
#include "tests/expect.h"

namespace quern {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using quern::testing::compile;
using quern::testing::must;
using quern::testing::pattern;
using quern::testing::session_of;
using quern::testing::tensor;
using quern::testing::values;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::vector<std::byte> bytes_of(const TensorView& t) {
  return {t.data, t.data + t.type.bytes()};
}

void expect_error(const Status& status, Code code, const char* sentence) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_CONTAINS(std::string(status.message()), sentence);
}

// Kernels compute in f32: a model of halves is widened before anything else is done with it.
TEST(Sessions, HalvesAreWidenedBeforeTheyArePlanned) {
  GraphBuilder g("halves");
  const Operand x = g.input("x", DType::f32, {4, 64});
  const Tensor weights = pattern({64, 64});
  const Operand w =
      g.cast(g.constant(must(Tensor::copy_of(weights.type(), {weights.data(), weights.bytes()}))),
             DType::f16);
  g.output("y", g.cast(g.relu(g.matmul(g.cast(x, DType::f16), w)), DType::f32));
  const auto session = session_of(compile(must(g.build()), "cpu"));
  const Tensor rows = pattern({4, 64});
  must(session->set_input(0, rows.view()));
  must(session->prepare());
  for (const StepInfo& step : session->plan_info().steps)
    EXPECT_THAT(step.implementation, Not(HasSubstr("reference"))) << step.node;
}

// ---- shared arenas -----------------------------------------------------------------------------

TEST(SharedArenas, HoldTheLargestOfTheirSessions) {
  const auto conv = compile(testing::conv_model());
  const auto arena = SharedArena::create();
  const auto first = must(Session::create(conv, {.threads = 0, .arena = arena}));
  const auto second = must(Session::create(conv, {.threads = 0, .arena = arena}));
  const auto alone = session_of(conv);
  const Tensor one = pattern({2, 3, 8, 8}, 1);
  const Tensor two = pattern({2, 3, 8, 8}, 2);
  must(alone->set_input(0, one.view()));
  must(alone->run());
  const auto wanted_one = values(must(alone->output(0)));
  const std::size_t bytes = alone->resident_bytes();
  must(alone->set_input(0, two.view()));
  must(alone->run());
  const auto wanted_two = values(must(alone->output(0)));
  must(first->set_input(0, one.view()));
  must(second->set_input(0, two.view()));
  for (int round = 0; round < 3; ++round) {
    must(first->run());
    EXPECT_EQ(values(must(first->output(0))), wanted_one);
    must(second->run());
    EXPECT_EQ(values(must(second->output(0))), wanted_two);
    expect_error(first->output(0).status(), Code::busy, "has run in the shared arena");
  }
  EXPECT_EQ(arena->bytes(), bytes);
  EXPECT_EQ(first->resident_bytes(), 0U);
  EXPECT_TRUE(arena->trim());
  EXPECT_EQ(arena->bytes(), 0U);
  expect_error(second->output(0).status(), Code::busy, "has run in the shared arena");
  must(second->run());
  EXPECT_EQ(values(must(second->output(0))), wanted_two);
}

// Two threads: each run is right or refused, and a refused one leaves nothing behind.
TEST(SharedArenas, RefuseTwoRunsAtOnce) {
  const auto conv = compile(testing::conv_model());
  const auto arena = SharedArena::create();
  std::atomic<int> refused = 0;
  std::atomic<int> done = 0;
  std::atomic<bool> stop = false;
  const auto work = [&](int seed) {
    const auto session = must(Session::create(conv, {.threads = 1, .arena = arena}));
    const auto alone = session_of(conv, 1);
    const Tensor image = pattern({2, 3, 8, 8}, seed);
    std::vector<float> place(20);
    for (Session* s : {session.get(), alone.get()}) must(s->set_input(0, image.view()));
    must(alone->run());
    const auto wanted = values(must(alone->output(1)));
    must(session->bind_output(1, reinterpret_cast<std::byte*>(place.data()), 80));
    while (!stop) {
      std::ranges::fill(place, 0.0F);
      const Status status = session->run();
      if (status.ok()) {
        EXPECT_EQ(place, wanted);
        ++done;
      } else {
        EXPECT_EQ(status.code(), Code::busy) << status.message();
        ++refused;
      }
      if (refused > 0 && done > 100) stop = true;
    }
  };
  std::thread other(work, 1);
  const auto deadline = Clock::now() + 60s;
  std::thread clock([&] {
    while (!stop && Clock::now() < deadline) std::this_thread::sleep_for(1ms);
    stop = true;
  });
  work(2);
  other.join();
  clock.join();
  EXPECT_GT(refused, 0);
  EXPECT_GT(done, 0);
}

// ---- order and aliasing ------------------------------------------------------------------------

// Two branches that end in a Concat: made in their places, in another order or not, the bits are
// the same.
TEST(OrderAndAlias, ChangeNoBit) {
  const auto model = [] { return testing::branches_model(); };
  const Tensor image = pattern({1, 3, 16, 16});
  std::vector<float> plain;
  std::size_t plain_bound = 0;
  std::size_t plain_arena = 0;
  for (const bool order : {false, true})
    for (const bool alias : {false, true}) {
      CompileOptions options;
      options.order = order;
      options.alias = alias;
      const auto session = session_of(compile(model(), "cpu", options), 1);
      must(session->set_input(0, image.view()));
      must(session->run());
      const PlanInfo info = session->plan_info();
      const auto result = values(must(session->output(0)));
      if (plain.empty()) {
        plain = result;
        plain_bound = info.arena_lower_bound;
        plain_arena = info.arena_bytes;
        EXPECT_EQ(info.plain_lower_bound, plain_bound);
      }
      EXPECT_EQ(result, plain);
      EXPECT_EQ(info.plain_lower_bound, plain_bound);
      EXPECT_LE(info.arena_lower_bound, plain_bound);
      if (order) {
        EXPECT_LT(info.arena_lower_bound, plain_bound);
      }
      EXPECT_LE(info.arena_bytes, plain_arena);
      const auto concats = std::ranges::count(info.steps, "Concat", &StepInfo::op);
      if (!alias) {
        EXPECT_EQ(concats, 1);
      } else if (order) {
        EXPECT_EQ(concats, 0);
      }
    }
}

// A strategy that the caller names places every buffer, of large programs too.
TEST(Plans, OfManyBuffersAreThoseOfTheNamedStrategy) {
  GraphBuilder g("chain");
  Operand x = g.input("x", DType::f32, {8, 8});
  const Operand y = x;
  for (int i = 0; i < 300; ++i) x = g.matmul(x, y);
  g.output("y", x);
  const auto session = session_of(compile(must(g.build()), "cpu", {.strategy = "none"}));
  const Tensor input = pattern({8, 8});
  must(session->set_input(0, input.view()));
  must(session->run());
  const PlanInfo info = session->plan_info();
  EXPECT_GE(info.arena_bytes, 290U * 256);
  EXPECT_LE(info.arena_lower_bound, 2048U);
}

// An input that is left out does not count among the bytes that a step reads.
TEST(Plans, CountTheBytesOfWhatIsThere) {
  GraphBuilder g("pad");
  const Operand x = g.input("x", DType::f32, {2, 3});
  const Operand axes = g.constant(tensor<std::int64_t>({1}, {1}));
  g.output("y", g.op("Pad", {x, g.integers({1, 1}), {}, axes}));
  const auto session = session_of(compile(must(g.build()), "reference"));
  const Tensor input = pattern({2, 3});
  must(session->set_input(0, input.view()));
  must(session->run());
  const PlanInfo info = session->plan_info();
  ASSERT_EQ(info.steps.size(), 1U);
  EXPECT_EQ(info.steps[0].bytes, 4 * 6 + 8 * 2 + 8 + 4 * 10);
}

// ---- outputs -----------------------------------------------------------------------------------

TEST(SessionOutputs, AreWrittenWhereTheyAreBound) {
  const auto session = session_of(compile(testing::conv_model()));
  const Tensor image = pattern({2, 3, 8, 8});
  must(session->set_input(0, image.view()));
  must(session->run());
  const auto features = values(must(session->output(0)));
  const auto probabilities = values(must(session->output(1)));

  std::vector<float> place(20);
  auto* data = reinterpret_cast<std::byte*>(place.data());
  must(session->bind_output(1, data, 80));
  must(session->run());
  EXPECT_EQ(must(session->output(1)).data, data);
  EXPECT_EQ(place, probabilities);
  EXPECT_EQ(values(must(session->output(0))), features);

  must(session->bind_output(1, nullptr, 0));
  std::ranges::fill(place, 0.0F);
  must(session->run());
  EXPECT_EQ(place, std::vector<float>(20));
  EXPECT_EQ(values(must(session->output(1))), probabilities);
}

// A result is also a part of a larger one, directly or by way of a view: each has its own bytes.
TEST(SessionOutputs, ThatArePartsOfOthers) {
  GraphBuilder g("parts");
  const Operand x = g.input("x", DType::f32, {1, 16});
  const Operand a = g.exp(x);
  const Operand b = g.tanh(x);
  const Operand all = g.concat({a, b}, 0);
  g.output("all", g.relu(all));
  g.output("part", g.reshape(b, {4, 4}));
  g.output("other", a);
  const auto session = session_of(compile(must(g.build())));
  const Tensor given = pattern({1, 16}, 1);
  const auto in = values(given.view());
  must(session->set_input(0, given.view()));
  std::vector<float> bound(16);
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round == 0 ? "in the arena" : "bound elsewhere");
    must(session->run());
    const auto wanted = values(must(session->output(0)));
    const auto part = values(must(session->output(1)));
    const auto other = round == 0 ? values(must(session->output(2))) : bound;
    for (std::size_t i = 0; i < in.size(); ++i) {
      EXPECT_NEAR(other[i], std::exp(in[i]), 1e-6F);
      EXPECT_NEAR(part[i], std::tanh(in[i]), 1e-6F);
      EXPECT_EQ(wanted[i], other[i]);
      EXPECT_EQ(wanted[16 + i], std::max(part[i], 0.0F));
    }
    must(session->bind_output(2, reinterpret_cast<std::byte*>(bound.data()), 64));
  }
}

TEST(SessionOutputs, ShapesAreKnownAfterTheRun) {
  const auto session = session_of(compile(testing::conv_model()));
  for (const std::int64_t n : {1, 5, 2}) {
    const Tensor image = pattern({n, 3, 6 + n, 10});
    must(session->set_input(0, image.view()));
    must(session->run());
    EXPECT_EQ(must(session->output(0)).type.shape, Shape({n, 8, (7 + n) / 2, 5}));
    EXPECT_EQ(must(session->output(1)).type.shape, Shape({n, 10}));
  }
}

TEST(SessionOutputs, BoundToTooLittleOrCrookedMemory) {
  const auto session = session_of(compile(testing::conv_model()));
  const Tensor image = pattern({1, 3, 8, 8});
  must(session->set_input(0, image.view()));
  std::vector<float> place(20);
  auto* data = reinterpret_cast<std::byte*>(place.data());
  must(session->bind_output(1, data, 39));
  expect_error(session->run(), Code::invalid_argument, "is f32[1,10], 40 bytes; its place has 39");
  EXPECT_EQ(place, std::vector<float>(20));
  expect_error(session->output(1).status(), Code::invalid_argument, "no run has given outputs");
  expect_error(session->bind_output(1, data + 1, 60), Code::invalid_argument, "not aligned");
  expect_error(session->bind_output(2, data, 60), Code::invalid_argument, "the model has 2");
}

// A shape that only the data tells: written to the place all the same.
TEST(SessionOutputs, OfDataDependentShapeGoWhereTheyAreBound) {
  GraphBuilder g;
  g.output("where", g.non_zero(g.input("x", DType::f32, {"n"})));
  const auto session = session_of(compile(must(g.build())));
  std::int64_t place[4] = {-1, -1, -1, -1};
  must(session->bind_output(0, reinterpret_cast<std::byte*>(place), sizeof place));
  const Tensor x = tensor<float>({6}, {0, 1, 0, 0, 1, 0});
  must(session->set_input(0, x.view()));
  must(session->run());
  EXPECT_EQ(must(session->output(0)).type.shape, Shape({1, 2}));
  EXPECT_THAT(place, ElementsAre(1, 4, -1, -1));
}

// Equal nodes become one, whose result is several outputs then.
TEST(SessionOutputs, OfEqualNodesHaveTheShapeThatTheDataTells) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {"n"});
  for (const char* name : {"a", "b", "c"}) g.output(name, g.non_zero(x));
  const auto session = session_of(compile(must(g.build())));
  std::int64_t place[4] = {-1, -1, -1, -1};
  must(session->bind_output(1, reinterpret_cast<std::byte*>(place), 3 * sizeof place[0]));
  const Tensor in = tensor<float>({6}, {0, 1, 0, 0, 1, 0});
  must(session->set_input(0, in.view()));
  must(session->run());
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_THAT(values<std::int64_t>(must(session->output(i))), ElementsAre(1, 4)) << i;
  EXPECT_THAT(place, ElementsAre(1, 4, -1, -1));
}

// An output that is an input, or a part of one, is no pointer into the caller's bytes.
TEST(SessionOutputs, OutliveTheInputs) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {4});
  g.output("same", g.identity(x));
  g.output("half", g.slice(x, {2}, {4}));
  g.output("again", x);
  const auto session = session_of(compile(must(g.build())));
  std::vector<float> in = {1, 2, 3, 4};
  must(session->set_input(0, {{DType::f32, {4}}, reinterpret_cast<const std::byte*>(in.data())}));
  must(session->run());
  std::ranges::fill(in, 0.0F);
  EXPECT_THAT(values(must(session->output(0))), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values(must(session->output(1))), ElementsAre(3, 4));
  EXPECT_THAT(values(must(session->output(2))), ElementsAre(1, 2, 3, 4));
}

// The session is gone, its memory with it; the executable makes another.
TEST(SessionOutputs, AreTheSameInEverySession) {
  const auto executable = compile(testing::transformer_model());
  const Tensor x = pattern({7, 32});
  std::set<std::vector<std::byte>> results;
  for (int i = 0; i < 5; ++i) {
    const auto session = session_of(executable, 1 + i % 2);
    must(session->set_input(0, x.view()));
    must(session->run());
    results.insert(bytes_of(must(session->output(0))));
  }
  EXPECT_EQ(results.size(), 1U);
}

TEST(SessionRequests, OnlyWhatIsNeededRuns) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {"n", 4});
  g.output("soft", g.named("soft_node", g.softmax(x)));
  g.output("sorted", g.named("top_node", g.top_k(x, {4})[0]));
  const auto session = session_of(compile(must(g.build())));
  const Tensor in = tensor<float>({1, 4}, {3, 1, 4, 1});
  must(session->set_input(0, in.view()));
  const auto nodes = [&] {
    std::vector<std::string> names;
    for (const auto& t : must(session->profile())) names.push_back(t.step.node);
    return names;
  };
  EXPECT_THAT(nodes(), UnorderedElementsAre("soft_node", "top_node"));

  const std::size_t sorted = must(session->output_index("sorted"));
  must(session->request_outputs({&sorted, 1}));
  EXPECT_THAT(nodes(), ElementsAre("top_node"));
  EXPECT_THAT(values(must(session->output(1))), ElementsAre(4, 3, 1, 1));
  expect_error(session->output(0).status(), Code::not_found, "output 0 was not requested");

  must(session->request_outputs({}));
  expect_error(session->output(1).status(), Code::invalid_argument, "no run has given outputs");
  EXPECT_THAT(nodes(), UnorderedElementsAre("soft_node", "top_node"));
}

// ---- errors ------------------------------------------------------------------------------------

TEST(SessionErrors, InputsThatDoNotFit) {
  const auto session = session_of(compile(testing::conv_model()));
  const Tensor image = pattern({1, 3, 8, 8});
  expect_error(session->run(), Code::invalid_argument, "input 'image' is not set");
  expect_error(session->prepare(), Code::invalid_argument, "input 'image' is not set");
  expect_error(session->set_input(0, pattern({1, 4, 8, 8}).view()), Code::invalid_argument,
               "input 'image' is f32[1,4,8,8], the model wants f32[N,3,H,W]");
  expect_error(session->set_input(0, pattern({3, 8, 8}).view()), Code::invalid_argument,
               "is f32[3,8,8]");
  TensorView wrong = image.view();
  wrong.type.dtype = DType::i32;
  expect_error(session->set_input(0, wrong), Code::invalid_argument, "is i32[1,3,8,8]");
  wrong = image.view();
  wrong.data = nullptr;
  expect_error(session->set_input(0, wrong), Code::invalid_argument, "has no data");
  wrong.data = image.data() + 2;
  expect_error(session->set_input(0, wrong), Code::invalid_argument, "not aligned");
  expect_error(session->set_input(1, image.view()), Code::invalid_argument,
               "input 1: the model has 1");
  expect_error(session->set_input_none(0), Code::invalid_argument, "is not optional");
  expect_error(session->set_input_sequence(0, {}), Code::invalid_argument, "is no sequence");
  expect_error(session->input_index("picture").status(), Code::not_found,
               "no input 'picture'; the model has: 'image'");
  expect_error(session->output_index("image").status(), Code::not_found,
               "no output 'image'; the model has: 'features', 'probabilities'");
  const std::size_t none = 2;
  expect_error(session->request_outputs({&none, 1}), Code::invalid_argument, "output 2");
  expect_error(Session::create(nullptr).status(), Code::invalid_argument, "wants an executable");
  must(session->set_input(0, image.view()));
  must(session->run());
}

// Symbols of one name must be one number; the plan's error names the node.
// An input without elements is never read, wherever it points.
TEST(SessionInputs, WithoutElementsNeedNoAlignment) {
  GraphBuilder g("empty");
  g.output("y", g.neg(g.input("x", DType::f32, {-1, 2})));
  const auto session = session_of(compile(must(g.build())));
  const std::byte bytes[8] = {};
  for (const std::byte* data : {bytes + 1, bytes + 2, static_cast<const std::byte*>(nullptr)}) {
    must(session->set_input(0, {{DType::f32, {0, 2}}, data}));
    must(session->run());
    EXPECT_EQ(must(session->output(0)).type.shape, Shape({0, 2}));
  }
}

TEST(SessionErrors, ShapesThatContradictEachOther) {
  GraphBuilder g;
  const Operand a = g.input("a", DType::f32, {"n", 2});
  const Operand b = g.input("b", DType::f32, {-1, 2});
  g.output("sum", g.named("the_sum", g.add(a, b)));
  const auto session = session_of(compile(must(g.build())));
  const Tensor input = pattern({3, 2});
  must(session->set_input(0, input.view()));
  const Tensor other = pattern({4, 2});
  must(session->set_input(1, other.view()));
  expect_error(session->run(), Code::invalid_model, "'the_sum'");
  const Tensor same = pattern({3, 2});
  must(session->set_input(0, same.view()));
  must(session->set_input(1, same.view()));
  must(session->run());
}

TEST(SessionErrors, WhatOnlyTheDataShows) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {3});
  g.output("y", g.named("pick", g.gather(x, g.input("i", DType::i64, {1}))));
  const auto session = session_of(compile(must(g.build())));
  const Tensor data = pattern({3});
  const Tensor bad = tensor<std::int64_t>({1}, {3});
  const Tensor good = tensor<std::int64_t>({1}, {-1});
  must(session->set_input(0, data.view()));
  must(session->set_input(1, bad.view()));
  expect_error(session->run(), Code::invalid_argument, "3");
  expect_error(session->output(0).status(), Code::invalid_argument, "no run has given outputs");
  must(session->set_input(1, good.view()));
  must(session->run());
  EXPECT_EQ(values(must(session->output(0)))[0], data.span<float>()[2]);
}

TEST(SessionErrors, MemoryLimit) {
  CompileOptions options;
  options.memory_limit = 200 << 10;
  const auto session = session_of(compile(testing::conv_model(), "cpu", options));
  const Tensor small = pattern({1, 3, 16, 16});
  const Tensor large = pattern({8, 3, 128, 128});
  must(session->set_input(0, small.view()));
  must(session->run());
  must(session->set_input(0, large.view()));
  expect_error(session->run(), Code::out_of_memory, "the limit is 204800");
  must(session->set_input(0, small.view()));
  must(session->run());
}

// ---- stopping ----------------------------------------------------------------------------------

TEST(SessionStop, DeadlineOfAnEndlessLoop) {
  const auto session = session_of(compile(testing::endless_model()));
  const Tensor x = pattern({4});
  must(session->set_input(0, x.view()));
  const auto begin = Clock::now();
  const Status status = session->run_until(begin + 50ms);
  const auto took = Clock::now() - begin;
  expect_error(status, Code::timed_out, "the deadline has passed");
  EXPECT_GE(took, 50ms);
  EXPECT_LT(took, 2s);
  expect_error(session->output(0).status(), Code::invalid_argument, "no run has given outputs");
  expect_error(session->run_until(Clock::now() - 1s), Code::timed_out, "the deadline has passed");
}

TEST(SessionStop, CancelFromAnotherThread) {
  const auto session = session_of(compile(testing::endless_model()));
  const Tensor x = pattern({4});
  must(session->set_input(0, x.view()));
  Status status;
  std::thread runner([&] { status = session->run(); });
  std::this_thread::sleep_for(20ms);
  session->cancel();
  runner.join();
  expect_error(status, Code::busy, "cancelled");
  expect_error(session->run(), Code::busy, "cancelled");
  session->clear_cancel();
  expect_error(session->run_until(Clock::now() + 10ms), Code::timed_out, "the deadline has passed");
}

// An endless loop that collects results stops at the memory limit, before the machine runs out.
TEST(SessionStop, EndlessResultsMeetTheMemoryLimit) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {1024});
  const auto y = g.loop({}, {}, {x}, [](GraphBuilder&, std::span<const Operand> in) -> Operands {
    return {in[1], in[2], in[2]};
  });
  g.output("all", y.at(1));
  CompileOptions options;
  options.memory_limit = 16 << 20;
  const auto session = session_of(compile(must(g.build()), "cpu", options));
  const Tensor in = pattern({1024});
  must(session->set_input(0, in.view()));
  expect_error(session->run_until(Clock::now() + 60s), Code::out_of_memory, "iterations");
  EXPECT_LT(session->resident_bytes(), std::size_t{40} << 20);
}

// ---- sharing -----------------------------------------------------------------------------------

struct SharedModel {
  const char* name;
  Model (*make)();
  std::vector<Shape> inputs;
};

void PrintTo(const SharedModel& m, std::ostream* to) {
  *to << m.name;
}

class SessionSharing : public ::testing::TestWithParam<SharedModel> {};

INSTANTIATE_TEST_SUITE_P(
    Models, SessionSharing,
    ::testing::Values(
        SharedModel{"conv", testing::conv_model, {{1, 3, 12, 16}, {2, 3, 16, 16}, {1, 3, 20, 16}}},
        SharedModel{"transformer", testing::transformer_model, {{3, 32}, {16, 32}, {40, 32}}},
        SharedModel{"lstm", testing::lstm_model, {{2, 1, 16}, {7, 1, 16}}},
        SharedModel{"loop", testing::loop_model, {{1, 8}, {4, 8}, {9, 8}}}));

// Eight threads, each with its own session, of one or two threads: the bits of a lonely session.
// Nothing is planned before, so that planning is shared as well.
TEST_P(SessionSharing, ManyThreadsOneExecutable) {
  constexpr int threads = 8;
  constexpr int rounds = 12;
  const SharedModel& model = GetParam();
  std::vector<Tensor> inputs;
  std::vector<std::vector<std::byte>> expected;
  const auto alone = session_of(compile(model.make()));
  for (const Shape& shape : model.inputs) {
    inputs.push_back(pattern(shape, static_cast<int>(inputs.size())));
    must(alone->set_input(0, inputs.back().view()));
    must(alone->run());
    expected.push_back(bytes_of(must(alone->output(1 % alone->executable().outputs().size()))));
  }
  const auto executable = compile(model.make());
  std::atomic<int> same = 0;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      const auto session = session_of(executable, 1 + t % 2);
      for (int i = 0; i < rounds; ++i) {
        const std::size_t k = static_cast<std::size_t>(t + i) % inputs.size();
        must(session->set_input(0, inputs[k].view()));
        must(session->run());
        same += bytes_of(must(session->output(1 % executable->outputs().size()))) == expected[k];
      }
    });
  for (std::thread& w : workers) w.join();
  EXPECT_EQ(same, threads * rounds);
}

// The last to let go may be any of them.
TEST(SessionThreads, OutliveTheExecutablesHandle) {
  auto executable = compile(testing::lstm_model());
  auto session = session_of(executable);
  executable.reset();
  const Tensor x = pattern({5, 1, 16});
  must(session->set_input(0, x.view()));
  must(session->run());
  EXPECT_EQ(must(session->output(0)).type.shape, Shape({5, 1, 1, 24}));
}

TEST(SessionThreads, AreCheapToMake) {
  const auto executable = compile(testing::conv_model());
  std::vector<std::unique_ptr<Session>> sessions;
  const auto begin = Clock::now();
  for (int i = 0; i < 10'000; ++i) sessions.push_back(session_of(executable));
  EXPECT_LT(Clock::now() - begin, 2s);
  EXPECT_EQ(sessions.back()->resident_bytes(), 0U);
}

// ---- memory ------------------------------------------------------------------------------------

std::size_t resident_set_bytes() {
  std::ifstream f("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  f >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// 1,000 runs over 20 shapes in turn, with caches that hold them all and with caches that do not.
class SessionMemory : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Plans, SessionMemory, ::testing::Values(4, 32));

TEST_P(SessionMemory, StaysFlatOverManyShapes) {
  CompileOptions options;
  options.max_plans = GetParam();
  const auto session = session_of(compile(testing::conv_model(), "cpu", options));
  std::vector<Tensor> images;
  for (std::int64_t i = 0; i < 20; ++i) images.push_back(pattern({1 + i % 3, 3, 16 + 2 * i, 24}));
  const auto run = [&](int count) {
    for (int i = 0; i < count; ++i) {
      must(session->set_input(0, images[static_cast<std::size_t>(i) % images.size()].view()));
      must(session->run());
    }
  };
  run(200);
  const std::size_t resident = resident_set_bytes();
  const std::size_t held = session->resident_bytes();
  run(1000);
  EXPECT_EQ(session->resident_bytes(), held);
  if (!testing::sanitized) {
    EXPECT_LT(resident_set_bytes(), resident + (std::size_t{1} << 20));
  }

  session->trim();
  EXPECT_EQ(session->resident_bytes(), 0U);
  run(20);
  EXPECT_EQ(session->resident_bytes(), held);
}

// A chain of segments whose answers are more than plans are kept, at both of its places: what is
// forgotten is planned again, and a run that holds a plan keeps it.
TEST(SessionPlans, MoreThanAreKept) {
  CompileOptions few;
  few.max_plans = 2;
  const auto session = session_of(compile(testing::chosen_rows_model(), "cpu", few));
  const auto plenty = session_of(compile(testing::chosen_rows_model()));
  for (int round = 0; round < 2; ++round)
    for (std::int64_t rows = 3; rows < 7; ++rows)
      for (std::int64_t kept = 0; kept <= rows; ++kept) {
        const Tensor x = pattern({rows, 64}, static_cast<int>(rows));
        const Tensor keep = testing::first_rows(rows, kept);
        for (Session* s : {session.get(), plenty.get()}) {
          must(s->set_input(0, x.view()));
          must(s->set_input(1, keep.view()));
          must(s->run());
        }
        EXPECT_EQ(must(session->output(0)).type.shape, Shape({kept, 256}));
        EXPECT_EQ(bytes_of(must(session->output(0))), bytes_of(must(plenty->output(0))))
            << kept << " of " << rows;
      }
}

TEST(SessionWeights, ArePackedOnceForAllShapes) {
  const auto session = session_of(compile(testing::conv_model()));
  const Tensor first = pattern({1, 3, 16, 16});
  must(session->set_input(0, first.view()));
  must(session->run());
  const std::size_t weights = session->plan_info().weight_bytes;
  for (std::int64_t i = 1; i < 20; ++i) {
    const Tensor image = pattern({1, 3, 16, 16 + i});
    must(session->set_input(0, image.view()));
    must(session->run());
  }
  EXPECT_GT(weights, 0U);
  EXPECT_LE(session->plan_info().weight_bytes, 2 * weights);
}

// ---- metadata ----------------------------------------------------------------------------------

TEST(ModelMetadataTest, OfAFile) {
  const Model model = must(load_onnx(QUERN_SOURCE_DIR "/examples/digits/digits.onnx"));
  const ModelMetadata& m = model.metadata();
  EXPECT_EQ(m.graph_name, "digits");
  EXPECT_EQ(m.producer_name, "pytorch");
  EXPECT_EQ(m.ir_version, 8);
  ASSERT_EQ(m.opsets.size(), 1U);
  EXPECT_EQ(m.opsets[0].second, 17);
  const auto labels =
      std::ranges::find(m.properties, "labels", &std::pair<std::string, std::string>::first);
  ASSERT_NE(labels, m.properties.end());
  EXPECT_EQ(labels->second, "0,1,2,3,4,5,6,7,8,9");
  const auto executable = compile(model.clone());
  EXPECT_EQ(executable->metadata().graph_name, "digits");
  EXPECT_EQ(executable->inputs()[0].symbols[0], "N");
  EXPECT_EQ(executable->device().info().name, "cpu");
}

}  // namespace
}  // namespace quern
