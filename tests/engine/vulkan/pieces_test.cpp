// SPDX-License-Identifier: Apache-2.0
// Runs with a deadline go out in pieces of a bounded work, also within a dispatch: the numbers are
// those of one submission, and the run ends soon after the deadline.
#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/all_families.h"
#include "tests/engine/engine_models.h"
#include "tests/engine/vulkan/vulkan_test.h"
#include "tests/process_time.h"

namespace quern::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Programs of which nearly each dispatch is cut, with and without the kernels of hardware: every
// family, or one in so many.
struct Kernels {
  const char* options;
  std::size_t one_in;
};
void PrintTo(const Kernels& kernels, std::ostream* to) {
  *to << kernels.options;
}
class Pieces : public VulkanTest, public ::testing::WithParamInterface<Kernels> {};

TEST_P(Pieces, GiveTheNumbersOfOneSubmission) {
  const auto [options, one_in] = GetParam();
  const std::vector<Family> families = all_families();
  std::size_t cut = 0;
  for (std::size_t i = 0; i < families.size(); i += one_in) {
    const Family& f = families[i];
    SCOPED_TRACE(f.name);
    const auto whole = compile(f.make(), device_name() + options);
    const auto inputs = inputs_of(*whole);
    const auto wanted = run(*session_of(whole), inputs);
    const auto pieces = compile(f.make(), device_name() + options + ",piece=1000");
    const auto session = session_of(pieces);
    EXPECT_EQ(run(*session, inputs), wanted);
    const auto submissions = [&] { return pieces->device().counters().submissions; };
    const std::uint64_t before = submissions();
    EXPECT_EQ(run(*session, inputs, Clock::now() + 1h), wanted);
    cut += submissions() > before + 1;
  }
  EXPECT_GT(2 * cut * one_in, families.size());
}

INSTANTIATE_TEST_SUITE_P(Each, Pieces,
                         ::testing::Values(Kernels{"", 2}, Kernels{",as-hardware", 4}));

// What both cuttings need is made by the plan and by the first run of each.
TEST_F(VulkanTest, ALaterRunInPiecesMakesNothing) {
  const auto executable = compile(transformer_model(), device_name() + ",piece=100000");
  const auto session = session_of(executable);
  const auto inputs = inputs_of(*executable);
  run(*session, inputs);
  const DeviceCounters whole = executable->device().counters();
  run(*session, inputs, Clock::now() + 1h);
  const DeviceCounters first = executable->device().counters();
  EXPECT_EQ(first.pipelines, whole.pipelines) << "both cuttings share pipelines";
  run(*session, inputs, Clock::now() + 1h);
  const DeviceCounters second = executable->device().counters();
  EXPECT_EQ(second.pipelines, first.pipelines);
  EXPECT_EQ(second.allocations, first.allocations);
  EXPECT_GT(second.submissions, first.submissions + 1);
  const std::uint64_t before = second.submissions;
  run(*session, inputs);
  EXPECT_EQ(executable->device().counters().submissions, before + 1) << "without a deadline";
}

// A row that reads large weights once is no long work: its tokens come one submission each.
TEST_F(VulkanTest, WeightsThatOneRowReadsGoOutWhole) {
  const auto executable = compile(
      [] {
        GraphBuilder g("row");
        const Operand x = floats(g, "x", {1, 1000});
        g.output("y",
                 g.matmul(g.matmul(x, weights(g, {1000, 5000}, 1)), weights(g, {5000, 2000}, 2)));
        return must(g.build());
      }(),
      device_name());
  const auto session = session_of(executable);
  const auto inputs = inputs_of(*executable);
  run(*session, inputs);
  const std::uint64_t before = executable->device().counters().submissions;
  run(*session, inputs);
  EXPECT_EQ(executable->device().counters().submissions, before + 1);
}

// A model whose only kernel takes seconds on a processor.
struct LongWork {
  const char* name;
  std::function<Operand(GraphBuilder&)> build;
};
void PrintTo(const LongWork& work, std::ostream* to) {
  *to << work.name;
}

const LongWork long_works[] = {
    {"matmul",
     [](GraphBuilder& g) {
       return g.matmul(floats(g, "a", {3000, 3000}), floats(g, "b", {3000, 3000}));
     }},
    {"batches",
     [](GraphBuilder& g) {
       return g.matmul(floats(g, "a", {2, 12, 900, 900}), floats(g, "b", {2, 12, 900, 900}));
     }},
    {"convolution",
     [](GraphBuilder& g) {
       return g.conv(floats(g, "x", {1, 128, 256, 256}), weights(g, {128, 128, 5, 5}, 1));
     }},
    {"batch_of_convolutions",
     [](GraphBuilder& g) {
       return g.conv(floats(g, "x", {64, 64, 56, 56}), weights(g, {64, 64, 5, 5}, 1));
     }},
    {"transposed_convolution",
     [](GraphBuilder& g) {
       return g.conv_transpose(floats(g, "x", {1, 256, 144, 144}), weights(g, {256, 256, 5, 5}, 1));
     }},
    {"chain",
     [](GraphBuilder& g) {
       Operand x = floats(g, "x", {4'000'000});
       for (int i = 0; i < 40; ++i) x = g.softmax(x, 0);
       return x;
     }},
};

// The milliseconds that a run of `device` has taken since `began`: of the clock, or for a driver in
// software of each processor of this machine, which others load, too.
struct Began {
  Clock::time_point clock = Clock::now();
  double process = process_ms();
};
double milliseconds_since(const Began& began, const Device& device) {
  if (device.info().build == DeviceInfo::Build::software)
    return (process_ms() - began.process) / std::thread::hardware_concurrency();
  return std::chrono::duration<double, std::milli>(Clock::now() - began.clock).count();
}

class StopOnDevice : public VulkanTest, public ::testing::WithParamInterface<LongWork> {
 protected:
  static constexpr auto time = 100ms;  // of a run until it must end
  static constexpr double most_ms = 200;

  void SetUp() override {
    VulkanTest::SetUp();
    if (IsSkipped()) return;
    GraphBuilder g(GetParam().name);
    g.output("y", GetParam().build(g));
    const auto executable = compile(must(g.build()), "vulkan,strict");
    session = session_of(executable);
    inputs = inputs_of(*executable);
    for (std::size_t i = 0; i < inputs.size(); ++i) must(session->set_input(i, inputs[i].view()));
    must(session->prepare());
  }

  // The least of some runs: others on the machine take some of the time.
  void expect_end(const std::function<Status(Clock::time_point began)>& run, Code code) {
    double least = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 4; ++round) {
      const Began began;
      const Status status = run(began.clock);
      least = std::min(least, milliseconds_since(began, session->executable().device()));
      EXPECT_EQ(status.code(), code) << status.message();
    }
    EXPECT_LT(least, most_ms);
    RecordProperty("ms", std::to_string(least));
  }
  // What run() gives where another thread cancels it.
  Status cancelled(const std::function<Status()>& run) {
    std::thread canceller([&] {
      std::this_thread::sleep_for(time);
      session->cancel();
    });
    Status status = run();
    canceller.join();
    session->clear_cancel();
    return status;
  }

  std::unique_ptr<Session> session;
  std::vector<Tensor> inputs;
};

TEST_P(StopOnDevice, AtADeadline) {
  expect_end([&](auto began) { return session->run_until(began + time); }, Code::timed_out);
}

TEST_P(StopOnDevice, ByCancel) {
  expect_end([&](auto) { return cancelled([&] { return session->run(); }); }, Code::busy);
}

// A submitted run of such a length is the session's thread's.
TEST_P(StopOnDevice, ByCancelAfterSubmit) {
  const auto run = [&] {
    must(session->submit());
    return session->wait();
  };
  expect_end([&](auto) { return cancelled(run); }, Code::busy);
}

INSTANTIATE_TEST_SUITE_P(Each, StopOnDevice, ::testing::ValuesIn(long_works),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quern::testing
