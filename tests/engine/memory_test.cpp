// SPDX-License-Identifier: Apache-2.0
// A session takes the memory that was predicted, from the pool that was chosen, within its limit.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "graph/memory/pools/pool.h"
#include "tests/engine/engine_models.h"
#include "tests/engine/test_models.h"
#include "tests/expect.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace quern {
namespace {

using quern::testing::compile;
using quern::testing::must;
using quern::testing::pattern;
using quern::testing::session_of;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

std::size_t held(const Session& session) {
  return session.resident_bytes() + session.plan_info().weight_bytes;
}

// The memory predicted before a run suffices for it, and at least 90 % of it is held afterwards.
void expect_contract(Session& session, const std::string& what) {
  must(session.prepare(), what.c_str());
  const MemoryNeed need = session.plan_info().memory;
  EXPECT_TRUE(need.is_complete) << what;
  for (int run = 0; run < 3; ++run) {
    must(session.run(), what.c_str());
    EXPECT_LE(held(session), need.total()) << what;
    EXPECT_GE(static_cast<double>(held(session)), 0.9 * static_cast<double>(need.total())) << what;
  }
  EXPECT_EQ(session.plan_info().memory.total(), need.total()) << what << ", after runs";
  EXPECT_LE(need.scratch, need.arena) << what;
}

void expect_contract(Model model, const Shape& input, const std::string& what,
                     const CompileOptions& options = {}) {
  const auto session = session_of(compile(std::move(model), "cpu", options));
  const Tensor x = pattern(input);
  must(session->set_input(0, x.view()));
  expect_contract(*session, what);
}

Model passing_model() {
  GraphBuilder g("passing");
  const Operand x = g.input("x", DType::f32, {"n"});
  g.output("same", x);
  g.output("twice", g.add(x, x));
  return must(g.build());
}

TEST(MemoryContract, OfStaticGraphs) {
  expect_contract(must(load_onnx(QUERN_SOURCE_DIR "/examples/digits/digits.onnx")), {1, 1, 28, 28},
                  "digits");
  expect_contract(testing::conv_model(), {2, 3, 96, 96}, "convolutions");
  expect_contract(testing::conv_model(), {1, 3, 8, 8}, "small convolutions");
  expect_contract(testing::transformer_model(), {48, 32}, "transformer");
  expect_contract(testing::lstm_model(), {20, 1, 16}, "lstm");
}

// An output that is an input as it came is copied to the pool, whose rules are known.
TEST(MemoryContract, OfCopiedOutputsWithEveryPool) {
  for (const MemoryPoolKind& pool : pools()) {
    CompileOptions options;
    options.pool = pool.name;
    for (const std::int64_t n : {1, 1000, 300'000})
      expect_contract(passing_model(), {n}, std::string(pool.name), options);
  }
}

TEST(MemoryContract, IsKnownWhenAModelIsCompiled) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {16, 64});
  g.output("y", g.softmax(g.matmul(x, testing::weights(g, {64, 512}, 1))));
  const auto executable = compile(must(g.build()));
  const auto need = executable->memory_need();
  ASSERT_TRUE(need);
  const auto session = session_of(executable);
  const Tensor in = pattern({16, 64});
  must(session->set_input(0, in.view()));
  must(session->run());
  EXPECT_EQ(need->total(), session->plan_info().memory.total());
  EXPECT_EQ(need->arena, session->resident_bytes());
  EXPECT_GE(need->weights, 64U * 512 * 4);
  EXPECT_EQ(need->staging, 0U);
  EXPECT_FALSE(compile(testing::conv_model())->memory_need()) << "its dimensions are open";
}

TEST(MemoryContract, CountsWhatEarlierShapesNeeded) {
  const auto session = session_of(compile(testing::conv_model()));
  const Tensor large = pattern({4, 3, 64, 64});
  const Tensor small = pattern({1, 3, 16, 16});
  must(session->set_input(0, large.view()));
  must(session->run());
  must(session->set_input(0, small.view()));
  must(session->run());
  EXPECT_LE(held(*session), session->plan_info().memory.total());
  const std::size_t before = session->plan_info().memory.total();
  session->trim();
  EXPECT_LT(session->plan_info().memory.total(), before);
  must(session->run());
  EXPECT_LE(held(*session), session->plan_info().memory.total());
}

// Loops and shapes of data say that they are not all known, and are afterwards.
TEST(MemoryContract, OfWhatDependsOnDataHoldsAfterARun) {
  const Tensor x = pattern({64, 64});
  const Tensor keep = testing::first_rows(64, 33);
  const auto chosen = session_of(compile(testing::chosen_rows_model()));
  must(chosen->set_input(0, x.view()));
  must(chosen->set_input(1, keep.view()));
  const Tensor places = pattern({5, 8});
  const auto loop = session_of(compile(testing::loop_model()));
  must(loop->set_input(0, places.view()));
  for (Session* session : {chosen.get(), loop.get()}) {
    must(session->prepare());
    EXPECT_FALSE(session->plan_info().memory.is_complete);
    must(session->run());
    const MemoryNeed need = session->plan_info().memory;
    EXPECT_FALSE(need.is_complete);
    EXPECT_GT(need.pool, 0U);
    for (int run = 0; run < 3; ++run) {
      must(session->run());
      EXPECT_LE(held(*session), need.total());
      EXPECT_GE(static_cast<double>(held(*session)), 0.9 * static_cast<double>(need.total()));
    }
  }
}

TEST(MemoryContract, OfTheTestData) {
  const auto folders = testing::model_folders();
  if (folders.empty()) GTEST_SKIP() << "no models in " << testing::models_folder();
  int complete = 0;
  for (const auto& folder : folders) {
    quern::testing::OpenedModel opened = testing::open_test_model(folder);
    must(opened.session->prepare());
    if (!opened.session->plan_info().memory.is_complete) continue;
    ++complete;
    expect_contract(*opened.session, folder.filename().string());
  }
  EXPECT_GE(complete, static_cast<int>(folders.size()) / 2);
}

// Beside the arena a session takes little: seen from the heap.
#if defined(__GLIBC__)
TEST(MemoryContract, HoldsForTheHeap) {
  if (testing::sanitized) GTEST_SKIP() << "malloc belongs to somebody else here";
  const auto heap = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const auto executable = compile(testing::conv_model());
  const Tensor x = pattern({4, 3, 256, 256});
  {
    const auto first = session_of(executable);  // plans, and warms what is the process'
    must(first->set_input(0, x.view()));
    must(first->run());
  }
  const std::size_t before = heap();
  const auto session = session_of(executable);
  must(session->set_input(0, x.view()));
  must(session->run());
  const std::size_t took = heap() - before;
  const std::size_t arena = session->plan_info().memory.arena;
  EXPECT_GT(arena, std::size_t{4} << 20);
  EXPECT_GE(took, arena);
  EXPECT_LE(took, arena + (std::size_t{64} << 10));
}
#endif

// ---- pools -------------------------------------------------------------------------------------

std::vector<float> answer_of(Session& session, const Tensor& x, const Tensor& keep) {
  must(session.set_input(0, x.view()));
  must(session.set_input(1, keep.view()));
  must(session.run());
  return testing::values(must(session.output(0)));
}

TEST(SessionPool, AnswersAreTheSameWithEveryPool) {
  const Tensor x = pattern({200, 64});
  std::vector<std::vector<float>> wanted;
  for (const MemoryPoolKind& pool : pools()) {
    CompileOptions options;
    options.pool = pool.name;
    const auto session = session_of(compile(testing::chosen_rows_model(), "cpu", options));
    for (int round = 0; round < 2; ++round) {
      std::size_t i = 0;
      for (const std::int64_t n : {200, 3, 0, 77, 150, 1}) {
        auto answer = answer_of(*session, x, testing::first_rows(200, n));
        if (wanted.size() <= i) wanted.push_back(answer);
        EXPECT_EQ(answer, wanted[i++]) << pool.name << ", " << n << " rows";
      }
    }
    EXPECT_GT(session->resident_bytes(), 0U);
    session->trim();
    EXPECT_EQ(session->resident_bytes(), 0U) << pool.name;
    answer_of(*session, x, testing::first_rows(200, 5));
  }
}

TEST(SessionPool, ThatIsUnknownIsNamed) {
  CompileOptions options;
  options.pool = "swimming";
  const auto compiled = Executable::compile(testing::conv_model(), nullptr, options);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code(), Code::not_found);
  EXPECT_THAT(std::string(compiled.error().message()),
              AllOf(HasSubstr("no pool 'swimming'"),
                    HasSubstr("best-fit-arena, best-fit-arena-kept, bfc")));
}

// The limit is met by what depends on data, too, and a smaller run goes on.
TEST(SessionPool, KeepsTheMemoryLimit) {
  const Tensor x = pattern({2000, 64});
  CompileOptions options;
  options.memory_limit = 4 << 20;
  const auto session = session_of(compile(testing::chosen_rows_model(), "cpu", options));
  const auto few = answer_of(*session, x, testing::first_rows(2000, 10));
  // The plan alone would fit beside the weights, the first segment's arena is too much.
  const Tensor most = testing::first_rows(2000, 1850);
  must(session->set_input(1, most.view()));
  const Status status = session->run();
  ASSERT_EQ(status.code(), Code::out_of_memory) << status.message();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("pool best-fit-arena: no"), HasSubstr("limit")));
  EXPECT_EQ(answer_of(*session, x, testing::first_rows(2000, 10)), few);
  EXPECT_LE(held(*session), options.memory_limit);
}

// A later segment's arena is not kept beside larger ones that other runs needed.
TEST(SessionPool, HoldsTheLargestRunOnly) {
  const Tensor x = pattern({1000, 64});
  const auto session = session_of(compile(testing::chosen_rows_model()));
  answer_of(*session, x, testing::first_rows(1000, 1000));
  const std::size_t largest = session->resident_bytes();
  for (const std::int64_t n : {1, 999, 500, 750, 1000, 20})
    answer_of(*session, x, testing::first_rows(1000, n));
  EXPECT_EQ(session->resident_bytes(), largest);
}

// ---- scratch -----------------------------------------------------------------------------------

// Convolutions that work in memory of their own on many CPUs: 3x3 over many channels, of which one
// adds its residual, and 1x1 with strides.
Model three_by_three() {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {1, 64, 28, 28});
  const auto conv = [&](Operand from, int seed) {
    return g.conv(from, g.constant(pattern({64, 64, 3, 3}, seed)), {}, {.pads = {1, 1, 1, 1}});
  };
  g.output("y", g.relu(g.add(conv(g.relu(conv(x, 1)), 2), x)));
  return must(g.build());
}

Model with_strides() {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {1, 64, 28, 28});
  g.output("y", g.conv(x, g.constant(pattern({128, 64, 1, 1})), {}, {.strides = {2, 2}}));
  return must(g.build());
}

struct Measured {
  std::size_t arena = 0;
  std::size_t scratch = 0;
  std::size_t limited = 0;  // what counts against the limit
  std::vector<float> result;
};

Measured measure(Model model, const CompileOptions& options) {
  const auto session = session_of(compile(std::move(model), "cpu", options));
  const Tensor x = pattern({1, 64, 28, 28});
  must(session->set_input(0, x.view()));
  must(session->run());
  const PlanInfo info = session->plan_info();
  return {info.arena_bytes, info.memory.scratch, info.weight_bytes + info.arena_bytes,
          testing::values(must(session->output(0)))};
}

TEST(Scratch, IsNotTakenWhereItIsOff) {
  for (const auto& model : {three_by_three, with_strides}) {
    const Measured on = measure(model(), {});
    const Measured off = measure(model(), {.scratch = false});
    EXPECT_EQ(off.scratch, 0U);
    EXPECT_LE(off.arena, on.arena);
    float largest = 0;
    for (const float f : on.result) largest = std::max(largest, std::abs(f));
    EXPECT_THAT(off.result, Pointwise(FloatNear(1e-5F * largest), on.result));
  }
}

// A model that fits the memory limit only without scratch is compiled without scratch.
TEST(Scratch, GivesWayToTheMemoryLimit) {
  int different = 0;
  for (const auto& model : {three_by_three, with_strides}) {
    const Measured on = measure(model(), {});
    const Measured off = measure(model(), {.scratch = false});
    if (on.limited == off.limited) continue;
    ++different;
    const std::size_t limit = (off.limited + on.limited) / 2;
    const Measured between = measure(model(), {.memory_limit = limit});
    EXPECT_LE(between.limited, limit);
    EXPECT_EQ(between.result, off.result);
  }
  if (!different) GTEST_SKIP() << "no kernel here wants scratch";
}

// The error says what it takes at least, whether scratch was wanted or not. A product of one row
// has no stripes.
TEST(Scratch, IsNotInTheErrorOfTheMemoryLimit) {
  const auto product = [] {
    GraphBuilder g("product");
    const Operand x = g.input("x", DType::f32, {1, 256});
    g.output("y", g.softmax(g.matmul(x, g.constant(pattern({256, 4096})))));
    return must(g.build());
  };
  const auto session = session_of(compile(product(), "cpu", {.scratch = false}));
  const Tensor x = pattern({1, 256});
  must(session->set_input(0, x.view()));
  must(session->prepare());
  const PlanInfo off = session->plan_info();
  const std::size_t limit = off.weight_bytes + off.arena_bytes - 1;
  for (const bool scratch : {true, false}) {
    const auto refused =
        Executable::compile(product(), nullptr, {.memory_limit = limit, .scratch = scratch});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::out_of_memory);
    EXPECT_CONTAINS(std::string(refused.error().message()),
                    " and " + std::to_string(off.arena_bytes) + " of arena, the limit is " +
                        std::to_string(limit));
  }
}

// ---- traces ------------------------------------------------------------------------------------

using Kind = Session::MemoryEvent::Kind;

// Every buffer is allocated once and freed once; bytes alive at the peak.
std::size_t checked_peak(const std::vector<Session::MemoryEvent>& events) {
  std::map<std::uint64_t, std::size_t> live;
  std::set<std::uint64_t> seen;
  std::size_t now = 0;
  std::size_t peak = 0;
  for (const Session::MemoryEvent& e : events) {
    if (e.kind == Kind::allocate) {
      EXPECT_TRUE(seen.insert(e.buffer).second);
      EXPECT_GE(e.alignment, 1U);
      live[e.buffer] = e.bytes;
      now += e.bytes;
    } else {
      EXPECT_TRUE(live.contains(e.buffer));
      now -= live[e.buffer];
      live.erase(e.buffer);
    }
    peak = std::max(peak, now);
  }
  EXPECT_TRUE(live.empty());
  return peak;
}

TEST(MemoryTrace, HasEveryBufferOfAPlan) {
  const auto session = session_of(compile(testing::conv_model()));
  const Tensor x = pattern({1, 3, 32, 32});
  must(session->set_input(0, x.view()));
  const auto events = must(session->trace_memory());
  const PlanInfo plan = session->plan_info();
  EXPECT_EQ(events.size(), 2 * plan.buffers.size());
  const std::size_t peak = checked_peak(events);
  EXPECT_LE(peak, plan.arena_bytes);
  EXPECT_GE(peak + 64 * plan.buffers.size(), plan.arena_lower_bound);
  must(session->output(0).status());
}

TEST(MemoryTrace, HasWhatLoopsAndDataTake) {
  const auto loop = session_of(compile(testing::loop_model()));
  const Tensor places = pattern({5, 8});
  must(loop->set_input(0, places.view()));
  const auto of_loop = must(loop->trace_memory());
  EXPECT_GT(of_loop.size(), 2 * loop->plan_info().buffers.size());
  checked_peak(of_loop);

  const auto chosen = session_of(compile(testing::chosen_rows_model()));
  const Tensor x = pattern({64, 64});
  const Tensor keep = testing::first_rows(64, 20);
  answer_of(*chosen, x, keep);
  const auto first = must(chosen->trace_memory());
  EXPECT_EQ(first.size(), 2 * chosen->plan_info().buffers.size());
  EXPECT_EQ(checked_peak(first), checked_peak(must(chosen->trace_memory())));
}

}  // namespace
}  // namespace quern
