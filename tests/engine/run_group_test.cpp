// SPDX-License-Identifier: Apache-2.0
// Runs in flight: one arena for several runs, whose results are those of a session alone.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <quern/graph_builder.h>
#include <quern/run_group.h>

#include "engine/compile/executable_impl.h"
#include "engine/run/flight_gate.h"
#include "graph/memory/problem/in_flight.h"
#include "graph/ops/sequences.h"
#include "tests/engine/engine_test.h"
#include "tests/expect.h"

namespace quern {
namespace {

using testing::compile;
using testing::must;
using testing::pattern;

// A chain of convolutions whose maps shrink: much memory at first, little later.
Model shrinking(std::int64_t size = 48, int layers = 6) {
  GraphBuilder g;
  auto x = g.input("x", DType::f32, {1, 4, size, size});
  for (int i = 0; i < layers; ++i) {
    x = g.relu(g.conv(x, g.constant(pattern({4, 4, 3, 3}, i + 2))));
    if (i == layers / 2) x = g.max_pool(x, {2, 2}, {.strides = {2, 2}});
  }
  g.output("y", x);
  return must(std::move(g).build());
}

std::vector<float> alone(const std::shared_ptr<const Executable>& e, const Tensor& x) {
  const auto s = testing::session_of(e, 1);
  must(s->set_input(0, x.view()));
  must(s->run());
  return testing::values(must(s->output(0)));
}

std::unique_ptr<RunGroup> group_of(const std::shared_ptr<const Executable>& e, std::size_t runs) {
  return must(RunGroup::create(e, runs, {.threads = 1}), "group");
}

std::shared_ptr<const Executable> compiled(Model model) {
  return compile(std::move(model), "cpu", {.threads = 1});
}

TEST(RunGroup, ResultsFromManyThreadsAreThoseOfOneSession) {
  const auto e = compiled(shrinking());
  for (const std::size_t runs : {1, 2, 3}) {
    const auto group = group_of(e, runs);
    std::vector<std::thread> threads;
    std::vector<std::size_t> wrong(runs);
    for (std::size_t r = 0; r < runs; ++r) {
      threads.emplace_back([&, r] {
        const Tensor x = pattern({1, 4, 48, 48}, static_cast<int>(r) + 1);
        const std::vector<float> wanted = alone(e, x);
        Session& s = group->session(r);
        must(s.set_input(0, x.view()));
        // Uneven numbers of runs.
        for (std::size_t i = 0; i < 20 * (r + 1); ++i) {
          must(s.run());
          wrong[r] += testing::values(must(s.output(0))) != wanted;
        }
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, std::vector<std::size_t>(runs));
  }
}

// A pool of a host that runs its tasks one after the other, on the caller.
class InOrder final : public ThreadPool {
 public:
  int threads() const noexcept override { return 3; }
  void run(int count, Task task, void* data) noexcept override {
    for (int i = 0; i < count; ++i) task(data, i);
  }
};

struct GroupThreads {
  int threads;
  std::shared_ptr<ThreadPool> pool;
  std::string name;
};

std::vector<GroupThreads> kinds_of_threads() {
  return {{2, nullptr, "OpenMP"},
          {3, must(make_thread_pool(3), "pool"), "a pool of one more than runs"},
          {2, must(make_thread_pool(2), "pool"), "a pool of as many as runs"},
          {0, std::make_shared<InOrder>(), "a host's"}};
}

TEST(RunGroup, RunsHaveSeveralThreadsOfTheirOwnOrOfOnePool) {
  const auto e = compile(shrinking(), "cpu", {.threads = 2});
  for (const GroupThreads& kind : kinds_of_threads()) {
    SCOPED_TRACE(kind.name);
    const auto group =
        must(RunGroup::create(e, 2, {.threads = kind.threads, .thread_pool = kind.pool}), "group");
    const Tensor x[] = {pattern({1, 4, 48, 48}, 1), pattern({1, 4, 48, 48}, 2)};
    for (std::size_t r = 0; r < 2; ++r) must(group->session(r).set_input(0, x[r].view()));
    for (int i = 0; i < 30; ++i) {
      must(group->run());
      for (std::size_t r = 0; r < 2; ++r)
        ASSERT_EQ(testing::values(must(group->session(r).output(0))), alone(e, x[r]));
    }
    const RunGroupCounters c = group->counters();
    EXPECT_EQ(c.runs, 60U);
    EXPECT_LE(c.most_at_once, 2U);
  }
}

TEST(RunGroup, OneErrorEndsNoOtherRun) {
  const auto e = compiled(shrinking());
  const auto group = group_of(e, 3);
  const Tensor x = pattern({1, 4, 48, 48}, 1);
  EXPECT_EQ(group->run().code(), Code::invalid_argument);  // no input is set
  EXPECT_EQ(group->counters().runs, 0U);
  for (std::size_t r = 0; r < 3; ++r) must(group->session(r).set_input(0, x.view()));
  group->session(1).cancel();
  EXPECT_EQ(group->run().code(), Code::busy);
  for (const std::size_t r : {0, 2})
    EXPECT_EQ(testing::values(must(group->session(r).output(0))), alone(e, x));
  group->session(1).clear_cancel();
  must(group->run());
}

TEST(RunGroup, OutputsStayWhileOthersRun) {
  const auto e = compiled(shrinking());
  const auto group = group_of(e, 2);
  const Tensor x = pattern({1, 4, 48, 48}, 1);
  const Tensor other = pattern({1, 4, 48, 48}, 2);
  must(group->session(0).set_input(0, x.view()));
  must(group->session(1).set_input(0, other.view()));
  must(group->session(0).run());
  must(group->session(1).run());
  EXPECT_EQ(testing::values(must(group->session(0).output(0))), alone(e, x));
  EXPECT_EQ(testing::values(must(group->session(1).output(0))), alone(e, other));
}

TEST(RunGroup, TheArenaIsThatOfThePlanAndSmallerThanTwo) {
  const auto e = compiled(shrinking());
  const Program& program = *e->impl().first_plan->program;
  const auto group = group_of(e, 2);
  const InFlight planned = in_flight(program.memory_problem, 2);
  EXPECT_EQ(group->arena_bytes(), default_strategy().plan(planned.problem, {}).plan.size);
  EXPECT_LT(group->arena_bytes(), 2 * program.arena_bytes);
  EXPECT_GE(group->resident_bytes(), group->arena_bytes());
  const Tensor x = pattern({1, 4, 48, 48}, 1);
  must(group->session(0).set_input(0, x.view()));
  must(group->session(0).prepare());
  EXPECT_GE(group->session(0).plan_info().memory.arena, group->arena_bytes());
}

TEST(RunGroup, ARunThatIsCancelledKeepsNobodyWaiting) {
  const auto e = compiled(shrinking());
  const auto group = group_of(e, 2);
  const Tensor x = pattern({1, 4, 48, 48}, 1);
  const std::vector<float> wanted = alone(e, x);
  for (std::size_t r = 0; r < 2; ++r) must(group->session(r).set_input(0, x.view()));
  std::thread cancelled([&] {
    for (int i = 0; i < 50; ++i) {
      if (i % 2) group->session(0).cancel();
      const Status status = group->session(0).run();
      EXPECT_EQ(status.ok(), i % 2 == 0) << status.message();
      group->session(0).clear_cancel();
      const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
      EXPECT_EQ(group->session(0).run_until(past).code(), Code::timed_out);
    }
  });
  for (int i = 0; i < 50; ++i) {
    must(group->session(1).run());
    EXPECT_EQ(testing::values(must(group->session(1).output(0))), wanted);
  }
  cancelled.join();
  must(group->session(0).run());
  EXPECT_EQ(testing::values(must(group->session(0).output(0))), wanted);
}

TEST(RunGroup, OtherShapesAndNumbersAreRefused) {
  const auto e = compiled(shrinking());
  EXPECT_EQ(RunGroup::create(e, 0).error().code(), Code::invalid_argument);
  EXPECT_EQ(RunGroup::create(e, RunGroup::most_runs + 1).error().code(), Code::invalid_argument);
  EXPECT_EQ(RunGroup::create(nullptr, 2).error().code(), Code::invalid_argument);
  EXPECT_EQ(RunGroup::create(e, 2, {.threads = -1}).error().code(), Code::invalid_argument);
  const auto wrong = RunGroup::create(e, 2, {.inputs = {{DType::f32, {1, 4, 8, 8}}}});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("input 'x' cannot be"), std::string::npos);
}

TEST(RunGroup, ShapesThatAreNotDeclaredAreNamed) {
  GraphBuilder g;
  g.output("y", g.relu(g.input("x", DType::f32, {-1, 8})));
  const auto e = compiled(must(std::move(g).build()));
  const auto refused = RunGroup::create(e, 2);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("no declared shape"), std::string::npos);
  const auto group = must(RunGroup::create(e, 2, {.inputs = {{DType::f32, {3, 8}}}}), "group");
  const Tensor other = pattern({4, 8});
  must(group->session(1).set_input(0, other.view()));
  EXPECT_EQ(group->session(1).run().code(), Code::invalid_argument);
  const Tensor x = pattern({3, 8});
  must(group->session(1).set_input(0, x.view()));
  must(group->session(1).run());
  EXPECT_EQ(testing::values(must(group->session(1).output(0))).size(), 24U);
}

TEST(RunGroup, ShapesOfDataAreRefused) {
  GraphBuilder g;
  g.output("y", g.non_zero(g.input("x", DType::f32, {4, 8})));
  const auto refused = RunGroup::create(compiled(must(std::move(g).build())), 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
}

// The elements of a sequence would lie in the arena that other runs write.
TEST(RunGroup, OutputsThatAreSequencesAreRefused) {
  GraphBuilder g;
  const Operand x = g.relu(g.input("x", DType::f32, {4, 8}));
  g.output("y", g.op(Sequence{.kind = SequenceKind::construct}, {x, x}));
  const auto refused = RunGroup::create(compiled(must(std::move(g).build())), 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_CONTAINS(refused.error().message(), "output 'y' is a sequence");
}

TEST(RunGroup, DevicesOtherThanTheCpuAreRefused) {
  const auto device = open_device("vulkan");
  if (!device) GTEST_SKIP() << "no Vulkan device";
  const auto elsewhere = must(Executable::compile(shrinking(), *device));
  EXPECT_EQ(RunGroup::create(elsewhere, 2).error().code(), Code::unsupported);
}

TEST(RunGroup, LimitsHoldForTheArenaOfAllRuns) {
  const std::size_t one = compiled(shrinking())->impl().first_plan->program->arena_bytes;
  const auto e = compile(shrinking(), "cpu", {.threads = 1, .arena_limit = one});
  must(RunGroup::create(e, 1, {.threads = 1}), "one run");
  const auto two = RunGroup::create(e, 2, {.threads = 1});
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code(), Code::out_of_memory) << two.error().message();
}

// Two runs of two steps in turns 0, 2 and 1, 3. Each step waits for the one before it.
FlightPlan in_strict_turns() {
  FlightPlan plan;
  plan.circle = 4;
  plan.runs.resize(2);
  for (std::int64_t run = 0; run < 2; ++run) {
    plan.runs[static_cast<std::size_t>(run)].turns = {0, 2};
    plan.runs[static_cast<std::size_t>(run)].start = run;
  }
  plan.waits = {0, 1, 0, 1, 1, 0, 1, 0};  // by run, step, other
  return plan;
}

TEST(FlightGate, AStepWaitsForTheOtherRunsStepAndNotForOnesNotBegun) {
  const FlightPlan plan = in_strict_turns();
  FlightGate gate(plan);
  const StopSignals soon{nullptr, std::chrono::steady_clock::now() + std::chrono::milliseconds(20)};
  const Stop stop(soon);
  FlightGate::Passage second(&gate, 1);
  must(second.step(0, nullptr));  // run 0 has not begun
  // Run 0 begins in a later round, behind both steps of run 1.
  FlightGate::Passage first(&gate, 0);
  EXPECT_EQ(first.step(0, &stop).code(), Code::timed_out);
  must(second.step(1, nullptr));
}

TEST(FlightGate, TheEndOfARunLetsOthersGoOn) {
  const FlightPlan plan = in_strict_turns();
  FlightGate gate(plan);
  for (int i = 0; i < 100; ++i) {
    std::thread other([&] {
      FlightGate::Passage second(&gate, 1);
      must(second.step(0, nullptr));
      if (i % 2) must(second.step(1, nullptr));
    });
    {
      FlightGate::Passage first(&gate, 0);
      must(first.step(0, nullptr));
      must(first.step(1, nullptr));
    }
    other.join();
  }
}

}  // namespace
}  // namespace quern
