// SPDX-License-Identifier: Apache-2.0
// The time that compiling takes grows with the size of the graph, and no faster: chains, fans and
// lists of up to 100,000 nodes. Measured in processor time; the limit has slack for shared
// machines.
#include <chrono>
#include <string>
#include <thread>

#include "tests/limits/bombs.h"
#include "tests/process_time.h"

namespace quern::testing {
namespace {

using G = GraphBuilder;

class CompileTime : public ::testing::TestWithParam<Bomb> {};

TEST_P(CompileTime, GrowsWithTheGraph) {
  constexpr double seconds_a_node = 50e-6;
  constexpr double slack = 3;  // of a machine that others use
  for (const int nodes : {500, 4000, sanitized ? 8000 : 100'000}) {
    const int rounds = nodes / GetParam().nodes_each;
    const double limit = slack * (sanitized ? 20 : 1) * (0.02 + seconds_a_node * nodes);
    const double seconds = least_of(limit, [&] {
      return 1e-3 * process_ms_of([&] {
               const auto compiled = Executable::compile(GetParam().make(rounds), nullptr);
               ASSERT_TRUE(compiled) << compiled.error().message();
             });
    });
    EXPECT_LT(seconds, limit) << nodes << " nodes";
    RecordProperty("us_a_node_of_" + std::to_string(nodes), std::to_string(1e6 * seconds / nodes));
  }
}

// Judged by processor time: where others use the machine the deadline comes sooner, and what is
// left to do takes longer (beside a build, each ended 20 to 700 ms late by the clock, 20 to 120 ms
// idle).
TEST_P(CompileTime, EndsAtItsDeadline) {
  using Clock = std::chrono::steady_clock;
  constexpr auto allowed = std::chrono::milliseconds(100);
  constexpr double most_ms = 100 + (sanitized ? 10'000 : 400);
  const double taken = least_of(most_ms, [&] {
    Model model = GetParam().make((sanitized ? 8000 : 100'000) / GetParam().nodes_each);
    const auto begin = Clock::now();
    const double ms = process_ms_of([&] {
      const auto compiled =
          Executable::compile(std::move(model), nullptr, {.deadline = begin + allowed});
      ASSERT_FALSE(compiled);
      EXPECT_EQ(compiled.error().code(), Code::timed_out) << compiled.error().message();
    });
    const std::chrono::duration<double, std::milli> by_clock = Clock::now() - begin;
    EXPECT_LT(by_clock.count(), 10 * most_ms) << "by the clock";
    return ms;
  });
  EXPECT_LT(taken, most_ms);
  RecordProperty("ms", std::to_string(taken));
}

INSTANTIATE_TEST_SUITE_P(Bombs, CompileTime, ::testing::ValuesIn(bombs),
                         [](const auto& info) { return std::string(info.param.name); });

// Shapes that only a run knows are planned within its deadline, or until it is cancelled.
TEST(Planning, EndsAtADeadlineAndByACancel) {
  constexpr auto allowed = std::chrono::milliseconds(100);
  constexpr double most_ms = 100 + (sanitized ? 10'000 : 400);
  G g("chain");
  Operand x = g.input("x", DType::f32, {1, -1});
  for (int i = 0; i < (sanitized ? 8000 : 100'000); ++i) x = g.softmax(x);
  g.output("y", x);
  const auto session = session_of(must(Executable::compile(must(g.build()), nullptr)));
  const Tensor in = pattern({1, 8});
  must(session->set_input(0, in.view()));
  const auto planned_late = [&] {
    return process_ms_of([&] {
      const Status status = session->run_until(std::chrono::steady_clock::now() + allowed);
      EXPECT_EQ(status.code(), Code::timed_out) << status.message();
    });
  };
  EXPECT_LT(least_of(most_ms, planned_late), most_ms);
  const auto cancelled = [&] {
    std::thread canceller([&] {
      std::this_thread::sleep_for(allowed);
      session->cancel();
    });
    const double ms = process_ms_of([&] {
      const Status status = session->prepare();
      EXPECT_EQ(status.code(), Code::busy) << status.message();
    });
    canceller.join();
    session->clear_cancel();
    return ms;
  };
  EXPECT_LT(least_of(most_ms, cancelled), most_ms);
  must(session->prepare(), "the plan that was given up");
}

// A weight that is a chain of powers, each of some 100 ms.
TEST(Compiling, EndsWithinAConstantExpression) {
  constexpr double most_ms = sanitized ? 5000 : 200;
  const double taken = least_of(most_ms, [] {
    G g("powers");
    Operand c = g.cast(g.constant(pattern({1 << 21})), DType::f64);
    for (int i = 0; i < 10; ++i) c = g.pow(g.abs(c), g.scalar(1.01 + i, DType::f64));
    g.output("y", g.add(g.input("x", DType::f64, {1}), c));
    Model model = must(g.build());
    return process_ms_of([&] {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
      const auto compiled = Executable::compile(std::move(model), nullptr, {.deadline = deadline});
      ASSERT_FALSE(compiled);
      EXPECT_EQ(compiled.error().code(), Code::timed_out) << compiled.error().message();
    });
  });
  EXPECT_LT(taken, most_ms);
  RecordProperty("ms", std::to_string(taken));
}

// Constants that are too large to be folded early, each read twice by the next: their expressions
// double with each node, and so would keys and work.
struct FarWindow {
  const char* name;
  Shape x, kernel;
  std::vector<std::int64_t> pads, dilations;
};

const FarWindow far_windows[] = {
    {"padding", {1, 16, 5}, {3}, {1 << 22, 0}, {}},
    {"padding_past_all", {1, 16, 5}, {3}, {1 << 30, 1 << 30}, {}},
    {"dilation", {1, 16, 1 << 22}, {3}, {}, {1 << 20}},
    {"a_wide_picture", {1, 16, 5, 1 << 20}, {3, 3}, {}, {}},
    {"a_wide_volume", {1, 3, 5, 5, 1 << 16}, {3, 3, 3}, {}, {}},
    {"a_line_past_all", {1, 16, 5, std::int64_t{1} << 31}, {1, 1}, {}, {}},
    {"many_taps", {1, 16, 1 << 13}, {1 << 12}, {}, {}},
};

class FarWindows : public ::testing::TestWithParam<FarWindow> {};

// The library of kernels makes code for each element that some windows reach: seconds and
// gigabytes.
TEST_P(FarWindows, TakeLittleCode) {
  constexpr double most_ms = sanitized ? 5000 : 300;
  const FarWindow& c = GetParam();
  for (const bool is_transposed : {false, true}) {
    const double taken = least_of(most_ms, [&] {
      G g("far");
      Shape w{16, 16};
      w[is_transposed ? 0 : 1] = c.x[1];
      for (const std::int64_t n : c.kernel) w.push_back(n);
      const Operand x = g.input("x", DType::f32, {c.x.begin(), c.x.end()});
      const Operand weights = g.constant(pattern(w));
      g.output("y",
               is_transposed
                   ? g.conv_transpose(x, weights, {}, {.pads = c.pads, .dilations = c.dilations})
                   : g.conv(x, weights, {}, {.pads = c.pads, .dilations = c.dilations}));
      auto graph = g.build();
      EXPECT_TRUE(graph || is_transposed);
      if (!graph) return 0.0;  // padding that leaves a transposed result of no size
      return process_ms_of([&] {
        const auto compiled =
            Executable::compile(std::move(*graph), nullptr, {.memory_limit = std::size_t{1} << 30});
        EXPECT_TRUE(compiled || compiled.error().code() == Code::out_of_memory)
            << compiled.error().message();
      });
    });
    EXPECT_LT(taken, most_ms) << (is_transposed ? "transposed" : "plain");
  }
}

INSTANTIATE_TEST_SUITE_P(All, FarWindows, ::testing::ValuesIn(far_windows),
                         [](const auto& info) { return std::string(info.param.name); });

// Tables with an entry for each element of a line took 2 GB and 5 s, whatever the limits.
TEST(Compiling, ListsNoLongLines) {
  constexpr std::int64_t large = 1 << 27;
  constexpr double most_ms = sanitized ? 5000 : 300;
  const auto compile = [](G g) {
    const auto graph = std::make_shared<Model>(must(g.build()));
    return process_ms_of([&] {
      const auto compiled =
          Executable::compile(std::move(*graph), nullptr, {.memory_limit = std::size_t{256} << 20});
      EXPECT_TRUE(compiled || compiled.error().code() == Code::out_of_memory)
          << compiled.error().message();
    });
  };
  for (const char* mode : {"reflect", "edge", "wrap"})
    EXPECT_LT(least_of(most_ms,
                       [&] {
                         G g("pad");
                         const Operand x = g.input("x", DType::f32, {2, 3});
                         g.output("y", g.pad(x, Integers{0, large, 0, large}, {.mode = mode}));
                         return compile(std::move(g));
                       }),
              most_ms)
        << mode;
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const bool shrinks : {false, true})
      EXPECT_LT(
          least_of(most_ms,
                   [&] {
                     G g("resize");
                     const Operand x = g.input("x", DType::f32, {1, 3, 4, shrinks ? large : 4});
                     g.output("y", g.resize(x, {.sizes = {1, 3, 4, shrinks ? 4 : large},
                                                .mode = mode,
                                                .antialias = shrinks}));
                     return compile(std::move(g));
                   }),
          most_ms)
          << mode;
}

TEST(SharedConstants, AreComputedOnce) {
  G g("shared");
  Operand c = g.constant(pattern({1, 1 << 20}));
  const Operand x = g.input("x", DType::f32, {1, 1 << 20});
  Operand y = x;
  for (int i = 0; i < 200; ++i) {
    c = g.add(g.tanh(c), c);
    if (i % 10 == 0) y = g.add(y, c);
  }
  g.output("y", g.add(y, c));
  const double begin = process_ms();
  must(Executable::compile(must(g.build()), nullptr));
  EXPECT_LT(1e-3 * (process_ms() - begin), sanitized ? 200 : 20);
}

// The planner places huge graphs by lists, without a search, and the plan says so.
TEST(HugeGraphs, AreSaidToBePlacedByLists) {
  const auto session = session_of(must(Executable::compile(bombs[3].make(6000), nullptr)));
  run(*session, {pattern({1, 8})});
  EXPECT_FALSE(session->plan_info().is_searched);
  const auto small = session_of(must(Executable::compile(bombs[3].make(20), nullptr)));
  run(*small, {pattern({1, 8})});
  EXPECT_TRUE(small->plan_info().is_searched);
}

}  // namespace
}  // namespace quern::testing
